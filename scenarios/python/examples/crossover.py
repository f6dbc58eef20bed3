"""From how many tokens on does overlap pay? The down projection of an MLP (8192 x 28672) over 4 H200s.

Every chunk count and async TP at every size is one list of cases: weft answers it on all cores at once.
"""

import weft

GPUS, HIDDEN, INTERMEDIATE = 4, 8192, 28672
TOKENS = [512, 1024, 2048, 4096, 8192, 16384]
SCHEDULES = {
    "serial": {"family": "serial"},
    "2 chunks": {"family": "decomposition", "chunks": 2},
    "4 chunks": {"family": "decomposition", "chunks": 4},
    "async TP": {"family": "async_tp"},
}


def case(tokens, schedule):
    workload = {"op": "gemm+reduce_scatter", "m": tokens, "n": HIDDEN, "k": INTERMEDIATE // GPUS}
    return {"gpus": GPUS, "workload": workload, "schedule": schedule}


machine = weft.machine("h200x8-nvswitch")
answers = iter(weft.predict([case(m, s) for m in TOKENS for s in SCHEDULES.values()], machine))
print("tokens   " + "".join(f"{name:>12}" for name in SCHEDULES) + "   fastest")
for tokens in TOKENS:
    times_us = {name: next(answers)["time_us"] for name in SCHEDULES}
    fastest = min(times_us, key=times_us.get)
    print(f"{tokens:6d}   " + "".join(f"{time:9.1f} us" for time in times_us.values()) + f"   {fastest}")
