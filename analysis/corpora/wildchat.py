"""WildChat's records, as JSONL or Parquet."""

from typing import Any

from analysis.corpora.records import Record, read_messages, read_time, storable


def read_wildchat(record: Any) -> Record:
    messages = read_messages(record, "conversation", "role", "content")
    first = record["conversation"][0] if messages else {}
    return Record(
        messages,
        source_id=storable(record.get("conversation_hash"))[:200],
        user=storable(record.get("hashed_ip") or first.get("hashed_ip"))[:100],
        language=storable(record.get("language"))[:30],
        began_at=read_time(first.get("timestamp")) or read_time(record.get("timestamp")),
    )
