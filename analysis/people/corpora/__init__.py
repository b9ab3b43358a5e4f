"""Corpora of real conversations, their vectors, and personas: what simulated users are made of.

In: corpus files as streams, in the formats of IMPORTERS, and persona files. Out: conversations known by the hash of
their content, embeddings, the conversations nearest to a text, and draws that are the same on any machine.
"""

from collections.abc import Callable
from typing import Any

from analysis.people.corpora.records import (
    Record,
    read_cupid,
    read_lmsys,
    read_personalens,
    read_prefeval,
    read_sharegpt,
    read_wildchat,
)

# Each turns a record into one conversation or several.
IMPORTERS: dict[str, Callable[[Any], Record | list[Record]]] = {
    "wildchat": read_wildchat,
    "sharegpt": read_sharegpt,
    "lmsys": read_lmsys,
    "cupid": read_cupid,
    "prefeval": read_prefeval,
    "personalens": read_personalens,
}
