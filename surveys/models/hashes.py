"""What columns named `sha256` hold: by it equal contents are known again."""

import hashlib
import json
from typing import Any


def fingerprint(value: Any) -> str:
    """SHA-256 over a value's canonical JSON: equal for equal values, whatever the order of keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
