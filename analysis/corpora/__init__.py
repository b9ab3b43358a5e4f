"""Corpora of real conversations: an importer for each format."""

from collections.abc import Callable
from typing import Any

from analysis.corpora.lmsys import read_lmsys
from analysis.corpora.records import Record
from analysis.corpora.sharegpt import read_sharegpt
from analysis.corpora.wildchat import read_wildchat

IMPORTERS: dict[str, Callable[[Any], Record]] = {
    "wildchat": read_wildchat,
    "sharegpt": read_sharegpt,
    "lmsys": read_lmsys,
}
