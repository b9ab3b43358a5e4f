"""ShareGPT's records: one long JSON array of conversations with `from` and `value`."""

from typing import Any

from analysis.corpora.records import Record, read_messages, storable


def read_sharegpt(record: Any) -> Record:
    messages = read_messages(record, "conversations", "from", "value")
    return Record(messages, source_id=storable(record.get("id"))[:200])
