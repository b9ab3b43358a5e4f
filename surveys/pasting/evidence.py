"""How an answer came onto the page: the page's own notes as they are kept, and in words for a reader."""

import json
from collections.abc import Mapping
from typing import Any

from surveys.models import Response
from surveys.pasting.privacy import KINDS

NUMBERS = ("copied_at", "opened_at", "sent_at", "away_ms", "pasted", "typed", "removed", "length")
MOST_PASTES = 50


def read_evidence(raw: str) -> dict[str, Any]:
    """The page's own notes on how the text came into the box, cut to what is documented.

    {"observed": bool, "copied_at", "opened_at", "sent_at": ms since 1970 by the client's clock, "away_ms": time the
    page was in the background, "pasted", "typed": characters, "length", "edited_after": bool, "share_pasted": 0–1,
    "pastes": [{"at", "plain", "html"}] sizes in characters}. Without JavaScript: {"observed": false}.
    """
    given = read_object(raw)
    if given is None:
        return {"observed": False}
    kept: dict[str, Any] = {"observed": True}
    kept |= {name: number for name in NUMBERS if (number := read_number(given.get(name))) is not None}
    kept["edited_after"] = bool(given.get("edited_after"))
    pastes = given.get("pastes") if isinstance(given.get("pastes"), list) else []
    kept["pastes"] = [read_paste(paste) for paste in pastes[:MOST_PASTES] if isinstance(paste, dict)]
    entered = kept.get("pasted", 0) + kept.get("typed", 0)
    kept["share_pasted"] = round(kept.get("pasted", 0) / entered, 4) if entered else None
    return kept


def read_object(raw: str) -> dict[str, Any] | None:
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError):  # a hundred thousand open brackets
        return None
    return given if isinstance(given, dict) else None


def read_paste(paste: Mapping[str, Any]) -> dict[str, int]:
    return {name: number for name in ("at", "plain", "html") if (number := read_number(paste.get(name))) is not None}


def read_number(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and 0 <= value < 1e15 else None


def read_counts(raw: str) -> dict[str, int]:
    """Counts by kind of what the page removed before sending."""
    given = read_object(raw) or {}
    return {kind: number for kind in KINDS if (number := read_number(given.get(kind)))}


# --- in words ---------------------------------------------------------------

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
