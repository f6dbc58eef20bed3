#!/usr/bin/env python3
"""How our grouped GEMM does beside PyTorch's, from what grouped_gemms.py printed.

    calibration/peers/grouped_gemms_summary.py GROUPED.jsonl[.gz] > SUMMARY.json

PyTorch's time over ours, by model: of decoding (fewer than 1,024 tokens), and of prefills by whether the experts have as many
rows each.
"""
import argparse
import json
import math

from contest_summary import lines


def ratio(values):
    return {"geometric_mean": round(math.exp(sum(map(math.log, values)) / len(values)), 4), "worst": round(min(values), 4)}


def summary(products):
    rows = {}
    for product in products:
        load = "decoding" if product["tokens"] < 1024 else "even" if product["even"] else "uneven"
        rows.setdefault(f"{product['model']}, {load}", []).append(product)
    return {name: {"products": len(some),
                   **{peer: ratio([one[f"{peer}_us"] / one["weft_us"] for one in some]) for peer in ("grouped_mm", "loop")}}
            for name, some in rows.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grouped")
    [conditions, *products] = lines(parser.parse_args().grouped)
    print(json.dumps({**conditions, "over_ours": summary(products)}, indent=1))


if __name__ == "__main__":
    main()
