"""Statements labelled by readers, and what the benchmarks of rules about them share."""

import argparse
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analysis.stats.intervals import wilson_interval


def read_statements(data: Path) -> dict[str, str]:
    """Read PersonaChat's sentences and the statements of iKAT's users, by hash."""
    return {hashlib.sha256(text.encode()).hexdigest()[:16]: text for text in _statements(data)}


def _statements(data: Path) -> Iterator[str]:
    yield from (data / "personas" / "personachat_sentences.txt").read_text(encoding="utf-8").splitlines()
    for line in (data / "training" / "relevance_ikat.jsonl").read_text(encoding="utf-8").splitlines():
        yield from (entry["text"].strip() for entry in json.loads(line)["attributes"])


def share_of(hits: int, n: int) -> dict[str, Any]:
    """Return the share with Wilson's interval; only `n` if it is 0."""
    if not n:
        return {"n": 0}
    low, high = wilson_interval(hits, n)
    return {"value": round(hits / n, 3), "ci": [round(float(low), 3), round(float(high), 3)], "hits": hits, "n": n}


def make_parser(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = os.environ.get("FIELDSTUDY_SHARED") or Path(__file__).resolve().parents[2] / "shared"
    parser.add_argument("--data", type=Path, default=Path(shared) / "data")
    parser.add_argument("--json", action="store_true")
    return parser
