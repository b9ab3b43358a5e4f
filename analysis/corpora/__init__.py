"""Corpora of real conversations, their vectors, and personas: what simulated users are made of.

In: corpus files as streams, in the formats of IMPORTERS, and persona files. Out: conversations known by the hash of
their content, embeddings, the conversations nearest to a text, and draws that are the same on any machine.
"""

from collections.abc import Callable
from typing import Any

from analysis.corpora.records import Record, read_lmsys, read_sharegpt, read_wildchat

IMPORTERS: dict[str, Callable[[Any], Record]] = {
    "wildchat": read_wildchat,
    "sharegpt": read_sharegpt,
    "lmsys": read_lmsys,
}
