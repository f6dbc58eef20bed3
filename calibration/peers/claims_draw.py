#!/usr/bin/env python3
"""What FlashOverlap, TokenWeave and MagiAttention report, asked of this machine: cases for `weft measure --in-turn`.

    calibration/peers/claims_draw.py WEFT --machine NAME --gpus N > CASES.jsonl

WEFT: the program weft. Decoder layers of three models with 1,024 to 16,384 tokens: serial, without communication, in two
chunks, split by tokens with NCCL and with the fused norm by 8 CTAs; with sequence parallelism serial, without
communication, in two chunks and by async TP. FlashOverlap's shapes of its A800s and some of its other server's, serial, in
two chunks, and by signaling with sums of NCCL's and over peer memory. Attention over one sequence on all GPUs, in stages
with and without a kernel barrier and SMs left free. What is searched is written down as it was found, and weft has told its
predictions before anything runs.
"""

from contest_draw import parser_of, print_as_found

MODELS = {  # hidden, heads, heads of keys and values, size of a head, intermediate
    "Llama-3.1-8B": (4096, 32, 8, 128, 14336),
    "Qwen3-32B": (5120, 64, 8, 128, 25600),
    "Llama-3.3-70B": (8192, 64, 8, 128, 28672),
}
TOKENS = (1024, 2048, 4096, 8192, 16384)
SIGNALED = {
    "gemm+all_reduce": [(m, n, k) for m, n in ((8192, 8192), (16384, 8192), (16384, 16384)) for k in (2048, 4096, 8192)],
    "gemm+reduce_scatter": [(m, n, k) for m, n in ((8192, 8192), (16384, 8192), (16384, 16384)) for k in (2048, 4096, 8192)],
    "gemm+all_to_all": [(m, n, k) for m, n in ((4096, 4096), (8192, 4096), (8192, 8192)) for k in (8192, 16384)],
}
ATTENTION = [(tokens, heads, mask) for tokens in (8192, 16384, 32768) for heads in (16, 64) for mask in ("causal", "full")]

CHUNKS = {"family": "decomposition", "chunks": 2}
LAYER = [{"family": "serial"}, {"family": "serial", "collectives": "none"}, CHUNKS,
         {"family": "token_split", "first": "searched", "fused_norm": False},
         {"family": "token_split", "first": "searched", "fused_norm": True, "comm_ctas": 8}]
SEQUENCE_PARALLEL = [{"family": "serial"}, {"family": "serial", "collectives": "none"}, CHUNKS,
                     {"family": "async_tp", "input": "copied"}, {"family": "async_tp", "input": "symmetric"}]
SIGNALING = [{"family": "serial"}, CHUNKS, {"family": "signaling", "groups": "searched"},
             {"family": "signaling", "groups": "searched", "collectives": "two_shot", "max_ctas": 16}]
STAGED = [{"family": "serial"}] + [
    {"family": "staged", "stages": 2, "exchange": "keys_values", "kernel_barrier": barrier, "sm_margin": margin}
    for barrier in (True, False) for margin in (0, 8, 24)]


def workloads():
    for hidden, heads, kv_heads, head_dim, intermediate in MODELS.values():
        for tokens in TOKENS:
            layer = {"op": "transformer_layer", "tokens": tokens, "hidden": hidden, "heads": heads, "kv_heads": kv_heads,
                     "head_dim": head_dim, "intermediate": intermediate, "dtype": "bf16"}
            yield layer, LAYER
            yield layer | {"sequence_parallel": True}, SEQUENCE_PARALLEL
    for op, shapes in SIGNALED.items():
        for m, n, k in shapes:
            yield {"op": op, "m": m, "n": n, "k": k, "dtype": "bf16"}, SIGNALING
    for tokens, heads, mask in ATTENTION:
        yield {"op": "distributed_attention", "tokens": tokens, "heads": heads, "kv_heads": 8, "head_dim": 128,
               "mask": mask}, STAGED


def main():
    parser = parser_of(__doc__, required=True)
    arguments = parser.parse_args()
    cases = [{"id": f"{number:02}.{place}", "gpus": arguments.gpus, "workload": workload, "schedule": schedule}
             for number, (workload, schedules) in enumerate(workloads()) for place, schedule in enumerate(schedules)]
    print_as_found(arguments.weft, arguments.machine, cases)


if __name__ == "__main__":
    main()
