"""Hashes for columns named `sha256`, by which equal contents are recognised."""

import hashlib
import json
from typing import Any


def canonical(value: Any) -> bytes:
    """A value's canonical JSON: equal for equal values, whatever the order of keys."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def fingerprint(value: Any) -> str:
    """SHA-256 over a value's canonical JSON."""
    return hashlib.sha256(canonical(value)).hexdigest()


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
