"""Where does the time of a chunked schedule go? Its spans as columns of numpy, without and with a Perfetto file.

How long the GEMMs and the all-reduces of GPU 0 run at the same time, of how long each of them runs.
"""

import pathlib
import sys
import tempfile

import numpy
import weft

machine = weft.machine("h200x8-nvswitch")
schedule = weft.build(
    {
        "gpus": 4,
        "workload": {"op": "gemm+all_reduce", "m": 8192, "n": 8192, "k": 7168},
        "schedule": {"family": "decomposition", "chunks": 4},
    },
    machine,
)
folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
trace = weft.simulate(schedule, machine, perfetto=folder / "trace.json")
spans = trace["spans"]


def covered(kind):
    """One entry each microsecond of the iteration: does such an operation run on GPU 0?"""
    times_us = numpy.arange(0, trace["time_us"])[:, None]
    chosen = (spans["kind"] == kind) & (spans["gpu"] == 0)
    return ((spans["start_us"][chosen] <= times_us) & (times_us < spans["end_us"][chosen])).any(axis=1)


gemms, collectives = covered("gemm"), covered("collective")
print(f"one iteration: {trace['time_us']:.1f} us at {trace['clock_MHz']:.0f} MHz, limited by {trace['limited_by']}")
print(f"GEMMs run for {gemms.sum()} us, all-reduces for {collectives.sum()} us, both for {(gemms & collectives).sum()} us")
print(f"for ui.perfetto.dev: {(folder / 'trace.json').name}, {(folder / 'trace.json').stat().st_size} bytes")
