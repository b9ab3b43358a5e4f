"""The conversations of a corpus that are asked about, read one user's next to each other."""

from collections.abc import Iterator

from analysis.models import Conversation, Corpus
from analysis.people.funnel import conversations_to_ask, latest_settings

AT_ONCE = 50


def read_conversations(corpus: Corpus, task: str) -> Iterator[Conversation]:
    rows = conversations_to_ask(corpus, task).order_by("user", "id")
    return rows.only("sha256", "user", "corpus_id", "messages").iterator(chunk_size=AT_ONCE)


def wanted_language(corpus: Corpus) -> str:
    """Of the last filter; before the first one that of its default."""
    return latest_settings(corpus).language
