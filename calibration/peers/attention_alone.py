#!/usr/bin/env python3
"""Attention by our own kernels, alone on one GPU under load.

    calibration/peers/attention_alone.py WEFT > ATTENTION.jsonl

WEFT: the program weft. Heads of 128 columns, eight of queries to one of keys: causal by a CTA for each tile of queries,
and over all keys (`partial_attention`) by CTAs that stay, on all SMs and on fewer. Beside the time each line has the clock
and the power that were read meanwhile: {"kind": ..., "tokens": ..., "heads": ..., "sms": ..., "time_us": ...,
"sm_clock_MHz": ..., "power_W": ...}; the first line has the conditions.
"""
import argparse
import json

from fused_norms import run

TOKENS, HEADS, HEAD_DIM, QUERIES_TO_A_KEY = (1024, 2048, 4096, 8192, 16384), (8, 32), 128, 8
FEWER_SMS = 108


def schedule_of(kind, tokens, heads, sms):
    kv_heads = heads // QUERIES_TO_A_KEY
    shape = {"heads": heads, "kv_heads": kv_heads, "head_dim": HEAD_DIM, **({"max_sms": sms} if sms else {})}

    def buffer(name, columns, **more):
        return {"name": name, "rows": tokens, "columns": columns, **more}
    output = buffer("output", heads * HEAD_DIM)
    if kind == "causal":
        buffers = [buffer("qkv", (heads + 2 * kv_heads) * HEAD_DIM), output]
        work = {"attention": {"qkv": "qkv", "output": "output", **shape}}
    else:
        buffers = [buffer("queries", heads * HEAD_DIM), buffer("keys_values", 2 * kv_heads * HEAD_DIM), output,
                   buffer("sums", heads, dtype="fp32")]
        part = {"first_query": 0, "queries": tokens, "first_key": 0, "keys": tokens, "mask": "full"}
        work = {"partial_attention": {"queries": "queries", "keys_values": "keys_values", "output": "output",
                                      "log_sum_exp": "sums", **shape, "parts": [[part]]}}
    return {"format": "weft.schedule/1", "name": kind, "gpus": 1, "buffers": buffers, "streams": [{"name": "compute"}],
            "operations": [{"name": "attention", "stream": "compute", **work}]}


def shapes():
    for heads in HEADS:
        for tokens in TOKENS:
            yield "causal", tokens, heads, 0
            yield "full", tokens, heads, 0
    for tokens in (2048, 8192):
        yield "full", tokens, HEADS[-1], FEWER_SMS
        yield "causal", tokens, HEADS[-1], FEWER_SMS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    arguments = parser.parse_args()
    has_conditions = False
    for kind, tokens, heads, sms in shapes():
        result = run(arguments.weft, schedule_of(kind, tokens, heads, sms))
        if not has_conditions:
            print(json.dumps({"conditions": result["conditions"]}))
            has_conditions = True
        print(json.dumps({"kind": kind, "tokens": tokens, "heads": heads, "sms": sms,
                          **{key: result[key] for key in ("time_us", "sm_clock_MHz", "power_W")}}), flush=True)


if __name__ == "__main__":
    main()
