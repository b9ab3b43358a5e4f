"""How an answer came onto the page, in words: what the paste evidence says to a reader."""

from collections.abc import Mapping
from typing import Any

from surveys.models import Response

COUNTED = {
    "e-mail": "e-mail address",
    "phone": "phone number",
    "name": "name",
    "chat-link": "link to a chat",
}


def describe_evidence(evidence: Mapping[str, Any]) -> list[str]:
    """Sentences about how the text was entered; without observation it says so and nothing else."""
    if not evidence.get("observed"):
        return ["Not observed: the page ran without JavaScript."]
    sentences = [
        "The copy button was pressed." if evidence.get("copied_at") else "The copy button was not pressed.",
        describe_entry(evidence),
    ]
    if evidence.get("edited_after"):
        sentences.append("The text was edited after the paste.")
    if evidence.get("away_ms"):
        sentences.append(f"Away from the page for {duration(evidence['away_ms'] / 1000)}.")
    return sentences


def describe_entry(evidence: Mapping[str, Any]) -> str:
    pasted, typed, share = evidence.get("pasted", 0), evidence.get("typed", 0), evidence.get("share_pasted")
    if not pasted and not typed:
        return "No typing or pasting was seen."
    times = len(evidence.get("pastes", []))
    how_often = f" in {times} pastes" if times > 1 else ""
    percent = f" ({share:.0%} pasted)" if isinstance(share, int | float) else ""
    return f"{characters(pasted)} pasted{how_often}, {typed:,} typed{percent}."


def describe_personal(personal: Mapping[str, Mapping[str, int]]) -> list[str]:
    """What was removed before sending, and what the person chose to leave in."""
    verbs = {"removed": "Taken out before sending", "kept": "Left in by the participant"}
    return [
        f"{verbs[what]}: {', '.join(f'{n} × {COUNTED.get(kind, kind)}' for kind, n in counts.items())}."
        for what, counts in personal.items()
        if what in verbs and counts
    ]


def describe_timing(response: Response) -> str:
    """The time between sending the page and getting the form back, by the server's clock."""
    if response.shown_at is None:
        return "The time on the page is not known."
    return f"{duration((response.submitted_at - response.shown_at).total_seconds())} on the page."


def characters(n: int) -> str:
    return "1 character" if n == 1 else f"{n:,} characters"


def duration(seconds: float) -> str:
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
