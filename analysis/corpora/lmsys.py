"""LMSYS-Chat's records, as JSONL or Parquet."""

from typing import Any

from analysis.corpora.records import Record, read_messages, storable


def read_lmsys(record: Any) -> Record:
    messages = read_messages(record, "conversation", "role", "content")
    return Record(
        messages,
        source_id=storable(record.get("conversation_id"))[:200],
        language=storable(record.get("language"))[:30],
    )
