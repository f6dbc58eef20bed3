#!/usr/bin/env python3
"""How far predictions are off at the clocks that the SMs were read at, of measurements after a pause.

    calibration/peers/at_measured_clock.py WEFT MEASURED.jsonl[.gz] --machine NAME > SUMMARY.json

After a pause a run may find any clock, which is no property of a case. Where each run was measured with its own
(`repeat_clocks_MHz`), the median run's time is compared with what is predicted at the clock of that run.
"""
import json
import statistics

from contest_draw import parser_of, predicted
from contest_summary import lines


def median_run(one):
    """Its time, and its clock."""
    runs = sorted(zip(one["repeats_us"], one["repeat_clocks_MHz"]))
    return runs[len(runs) // 2]


def main():
    arguments = parser_of(__doc__, "measured").parse_args()
    measured = {one["case"]["id"]: one for one in lines(arguments.measured) if "time_us" in one}
    cases = [one["case"] | {"condition": {"clock_MHz": round(median_run(one)[1])}} for one in measured.values()]
    answers = predicted(arguments.weft, arguments.machine, cases)
    errors = [answer["time_us"] / median_run(measured[name])[0] - 1 for name, answer in answers.items()]
    sizes = sorted(map(abs, errors))
    print(json.dumps({"cases": len(errors), "mean_error": statistics.mean(sizes), "median_error": statistics.median(sizes),
                      "p90_error": sizes[9 * len(sizes) // 10], "bias": statistics.mean(errors)}, indent=2))


if __name__ == "__main__":
    main()
