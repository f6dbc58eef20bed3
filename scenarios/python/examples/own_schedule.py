"""A schedule of one's own: taken from a family, changed, checked, and compared with what it came from.

The collectives of two chunks are moved to the GEMM's stream, so that nothing overlaps any more; then an edge is taken out,
and the check names the race.
"""

import copy

import weft

machine = weft.machine("h200x8-nvswitch")
case = {
    "gpus": 2,
    "workload": {"op": "gemm+all_reduce", "m": 4096, "n": 4096, "k": 4096},
    "schedule": {"family": "decomposition", "chunks": 2},
}
chunked = weft.build(case, machine)

in_line = copy.deepcopy(chunked)
in_line["name"] = "both chunks on one stream"
gemm_stream = next(operation["stream"] for operation in in_line["operations"] if "gemm" in operation)
for operation in in_line["operations"]:
    operation["stream"] = gemm_stream

racing = copy.deepcopy(chunked)
for operation in racing["operations"]:
    operation.pop("after", None)

for schedule in (chunked, in_line):
    print(f"{schedule['name']}: {weft.simulate(schedule, machine)['time_us']:.1f} us; {weft.check(schedule)}")
try:
    weft.check(racing)
except weft.InputError as error:
    print(f"without its edges: {error}")
