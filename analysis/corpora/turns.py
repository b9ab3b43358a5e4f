"""A conversation's messages as a model gets them: user and assistant by turns."""

from collections.abc import Iterable

Message = dict[str, str]


def by_turns(messages: Iterable[Message]) -> list[Message]:
    """What of a conversation can stand in front of a prompt.

    Providers want user and assistant to alternate. So system messages, empty ones, what stands before the
    first user message, and a last message without a reply are left out; several of one side are joined.
    """
    joined: list[Message] = []
    for message in messages:
        role, content = message["role"], message["content"]
        if role == "system" or not content.strip() or (not joined and role != "user"):
            continue
        if joined and joined[-1]["role"] == role:
            joined[-1]["content"] += "\n\n" + content
        else:
            joined.append({"role": role, "content": content})
    return joined[:-1] if len(joined) % 2 else joined


def count_turns(messages: Iterable[Message]) -> int:
    """User messages that have a reply."""
    return len(by_turns(messages)) // 2
