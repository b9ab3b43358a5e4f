"""Storing pasted answers: drafts, submitted revisions, evidence of pasting, and flags of the checks."""

import re
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.core.signing import BadSignature, TimestampSigner, b62_decode
from django.db import transaction

from surveys.models import Flag, Participant, Prompt
from surveys.models.hashes import hash_text
from surveys.participation.pasting.read_back import (
    NO_READING,
    UNREACHED,
    ReadReply,
    SaidBack,
    is_read_later,
    read_prompt,
    weigh_reply,
)
from surveys.participation.places import lease_from_now, needs_place, stay, touch_participant
from surveys.participation.statements import (
    PersonState,
    read_standing,
    standing_of,
    write_draft,
    write_flags,
    write_response,
)
from surveys.reading.answers import clean_text
from surveys.reading.checks import UNREAD, Finding, OtherPrompt, Paste, find_problems
from surveys.reading.nesting import read_json
from surveys.reading.privacy import KINDS, count_personal, remove_personal
from surveys.studies.lifecycle import definition_in, definition_of, prompts_in, prompts_of

LONGEST_HTML = 2_000_000
MOST_REVISIONS = 200
UNRATED = "unrated"  # the rating of people who can't say
RATINGS = ("1", "2", "3", "4", "5", UNRATED)
# Texts shorter than this are the same by chance: "B" is not copied from a neighbour.
SHORTEST_COPY = 80
WRITTEN = "written"  # no text's hash, so that no other submission is decided by a state that is past
NUMBERS = ("copied_at", "opened_at", "sent_at", "away_ms", "pasted", "typed", "removed", "length")
HANDS = ("keys", "pointer", "presses", "scrolls", "untrusted")
MOST_PASTES = 50
# Agents and drivers that say who they are, by the names that they publish.
DECLARED = re.compile(
    r"ChatGPT[- ](?:User|Agent)|GPTBot|OAI-SearchBot|OpenAI[- ]Operator|Claude(?:-User|-Web|Bot)|anthropic-ai"
    r"|Perplexity(?:-User|Bot)|Google(?:Agent|-Agent)[-\w]{0,20}|Gemini-User|MistralAI-User|DuckAssistBot|NovaAct"
    r"|Manus-User|HeadlessChrome|PhantomJS|Playwright|Puppeteer|Selenium|Cypress",
    re.IGNORECASE,
)
LONGEST_AGENT = 60
MOST_PAGE_LINES, LONGEST_PAGE_LINE = 100, 300


class TooManyPastes(Exception):
    """One answer was changed too often."""


@dataclass
class PasteSubmission:
    """A paste page's form as the server reads it."""

    prompt: Prompt
    text: str
    html: str = ""
    language: str = ""  # in which the page showed the prompt; empty: that of the person's pages
    key: uuid.UUID = field(default_factory=uuid.uuid4)
    evidence: dict[str, Any] = field(default_factory=dict)
    shown_at: datetime | None = None
    base: int = 0
    keep: bool = False
    privacy: str = ""  # "", "remove" or "keep"
    removed: dict[str, int] = field(default_factory=dict)
    reply: ReadReply = ReadReply()
    rating: str = ""  # 1 to 5, or UNRATED; empty if nothing was chosen


@dataclass
class PasteOutcome:
    """The outcome of a submission; if there is nothing to ask, it is accepted and committed.

    At most one finding is asked about by itself. UNREAD, and the letter of a choice if none was read (`unread`), are
    asked about with the reading that the page shows.
    """

    text: str
    revision: int = 0
    personal: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    unread: bool = False
    older_page: bool = False

    @property
    def accepted(self) -> bool:
        return not self.personal and not self.findings and not self.unread


def submit_paste(participant: Participant, submission: PasteSubmission) -> PasteOutcome:
    """Store one revision, or return the question to ask first.

    Undecided personal details are asked about before anything is stored. A text with findings is stored as a revision
    that is not accepted yet, unless the person already said that this is what they got.
    """
    text = clean_text(submission.text)
    personal = count_personal(text)
    if personal and submission.privacy == "remove":
        text, removed = remove_personal(text)
        submission.removed = dict(Counter(submission.removed) + Counter(removed))
    elif personal and submission.privacy != "keep":
        return PasteOutcome(text=text, personal=personal)
    # The state that was read with the form. If another window has changed it since, the write finds out, and everything
    # is done again behind the lock on the person's row.
    sha256, state = copy_hash(text), standing_of(participant)
    participant.standing, is_written = None, False
    if state and state.sha256 == sha256:
        outcome, values = decide_submission(participant, submission, text, state)
        is_written = values is None or write_response(state, values | {"needs_place": needs_place(participant)})
    if not (state and is_written):
        with transaction.atomic():
            touch_participant(participant)
            state = read_standing(participant, submission.prompt, sha256)
            outcome, values = decide_submission(participant, submission, text, state)
            if values and not write_response(state, values | {"needs_place": False}, is_locked=True):
                raise Participant.DoesNotExist("The part has ended.")
    if outcome.accepted:  # the next page depends on it
        answered = state.answered | {submission.prompt.slug}
        participant.standing = state._replace(answered=answered, sha256=WRITTEN)
    return outcome


def copy_hash(text: str) -> str:
    """The hash that finds equal texts; empty for texts too short to be copied from anybody."""
    return hash_text(text) if len(text) >= SHORTEST_COPY else ""


def decide_submission(
    participant: Participant, submission: PasteSubmission, text: str, state: PersonState
) -> tuple[PasteOutcome, dict[str, Any] | None]:
    """The outcome of a text in this state, and the values to write; None if it is stored already."""
    prompt, sha256 = submission.prompt, hash_text(text)
    said = weigh_reply(prompt, text, submission.reply)
    key = key_of(submission.key, said.key if said else "", submission.rating)
    newest = state.revisions[-1][0] if state.revisions else 0
    # A held page is sent again with the same key; accepting it then makes a revision of its own.
    kept = uuid.uuid5(key, "kept")
    known = {(key, sha, accepted): revision for revision, key, sha, accepted in state.revisions}
    for sent in (key, kept):
        if taken := known.get((sent, sha256, True)):
            return PasteOutcome(text, taken), None
    noticed = notice(participant, prompt, text, state, is_of_agent(submission.evidence))
    findings = [finding for finding in noticed if not settles(said, finding)]
    asked, unread = ask_about(prompt, text, findings, said)
    accepted = submission.keep or not (asked or unread)
    outcome = PasteOutcome(text, newest + 1, older_page=submission.base < newest)
    if not accepted:
        outcome = replace(outcome, findings=asked, unread=unread)
    held = known.get((key, sha256, False))
    if held and not accepted:
        return replace(outcome, revision=held, older_page=False), None
    if newest >= MOST_REVISIONS:
        raise TooManyPastes(f"This answer was already changed {MOST_REVISIONS} times.")
    now, until = lease_from_now(participant)
    return outcome, {
        **flag_values(participant, prompt, findings if accepted else asked, accepted, now),
        **(said.values() if said and accepted else {}),
        "until": until,
        "version": participant.version_id,
        "pilot": participant.pilot,
        "revision": newest + 1,
        "accepted": accepted,
        "language": submission.language or definition_in(participant.version_id, participant.language).language,
        "key": kept if held else key,
        "text": text,
        # The HTML holds the same words, so it is not kept if any were removed.
        "html": "" if submission.removed else submission.html[:LONGEST_HTML].replace("\x00", "\ufffd"),
        "sha256": sha256,
        "evidence": submission.evidence,
        "personal": note_personal(submission, text),
        "rating": int(submission.rating) if submission.rating.isdecimal() else None,
        "is_unrated": submission.rating == UNRATED,
        "shown_at": submission.shown_at,
    }


def key_of(key: uuid.UUID, corrected: str, rating: str) -> uuid.UUID:
    """The key of one sending of a form; with another correction or rating it is another revision."""
    for said in (corrected, rating and f"rated {rating}"):
        key = uuid.uuid5(key, said) if said else key
    return key


def settles(said: SaidBack | None, finding: Finding) -> bool:
    """Whether a finding is a false alarm: the person named what the reader had missed, or there is nothing to paste."""
    if said is None:
        return False
    if said.no_answer == UNREACHED:
        return finding.check == "empty"
    return finding.check == UNREAD and len(said.names) + bool(said.letter) >= finding.detail["wanted"]


def ask_about(
    prompt: Prompt, text: str, findings: list[Finding], said: SaidBack | None = None
) -> tuple[list[Finding], bool]:
    """The first finding with a message to show, plus UNREAD; and whether the page asks about the reading."""
    short = [finding for finding in findings if finding.check == UNREAD]
    # A person who says that a short answer is all that came has also said that it is not cut off.
    silent = {UNREAD, *(["cut-off"] if short else []), *(["empty"] if said and said.no_answer else [])}
    spoken = [finding for finding in findings if finding.message and finding.check not in silent][:1]
    if is_read_later(text) or (said and said.settles):
        return spoken, False
    no_letter = prompt.kind == Prompt.Kind.CHOICE and not read_prompt(prompt, text).letter
    asks = bool(short) or (no_letter and bool(definition_of(prompt.version_id).paste_checks))
    return [*spoken, *short], asks and not any(finding.check in NO_READING for finding in spoken)


def note_personal(submission: PasteSubmission, text: str) -> dict[str, dict[str, int]]:
    kept = count_personal(text) if submission.privacy else {}
    return {name: counts for name, counts in (("removed", submission.removed), ("kept", kept)) if counts}


def notice(
    participant: Participant, prompt: Prompt, text: str, state: PersonState, by_agent: bool = False
) -> list[Finding]:
    enabled = definition_of(participant.version_id).paste_checks
    if is_read_later(text):
        enabled = tuple(check for check in enabled if check != UNREAD)  # it is asked with the reading only
    return find_problems(paste_of(participant, prompt, text, state, by_agent), enabled)


def paste_of(participant: Participant, prompt: Prompt, text: str, state: PersonState, by_agent: bool) -> Paste:
    """The paste with everything that the checks may use."""
    others, sha256 = other_prompts(participant.version_id, participant.language, prompt.base), hash_text(text)
    copies = {number for number, sha in state.elsewhere if sha == sha256}
    same = {each.pk for each in prompts_of(participant.version_id).values() if each.base == prompt.base}
    return Paste(
        text=text,
        prompt_text=prompt.text,
        kind=prompt.kind,
        items_wanted=prompt.items or 0,
        letters="ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(prompt.choices)],
        choices=tuple(prompt.choices),
        other_prompts=tuple(
            other._replace(answer=text) if number in copies else other for number, other in others.items()
        ),
        same_as_other=state.same_as_other,
        same_again=bool(copies & same),
        by_agent=by_agent,
    )


@lru_cache(maxsize=1024)
def other_prompts(version_id: int, language: str, base: str) -> dict[int, OtherPrompt]:
    """A version's prompts in this language by primary key, without `base` and its repeats; cached.

    Leaves out set questions, of which each person knows only a few.
    """
    prompts = (prompt for prompt in prompts_in(version_id, language).values() if not prompt.is_drawn)
    return {other.pk: OtherPrompt(other.slug, other.text, other.kind) for other in prompts if other.base != base}


def check_draft(participant: Participant, prompt: Prompt, text: str) -> PasteOutcome:
    """Find what to ask right after a paste. The page shows it at once, so the flags are stored as shown."""
    text = clean_text(text)
    with transaction.atomic():
        seen = touch_participant(participant)
        state = read_standing(participant, prompt, copy_hash(text))
        findings, unread = ask_about(prompt, text, notice(participant, prompt, text, state))
        write_flags(flag_values(participant, prompt, findings, accepted=False, now=seen))
    return PasteOutcome(text, findings=findings, unread=unread)


def flag_values(
    participant: Participant, prompt: Prompt, findings: list[Finding], accepted: bool, now: datetime
) -> dict[str, Any]:
    """Values of the flags shown now and, if the answer is accepted, the outcome of all shown before."""
    return {
        "person": participant.pk,
        "prompt": prompt.pk,
        "found": [finding.check for finding in findings],
        "versions": [finding.version for finding in findings],
        "messages": [f.message % f.detail if f.detail else f.message for f in findings],
        "noticed": Flag.Outcome.KEPT if accepted else Flag.Outcome.SHOWN,
        "outcome": Flag.Outcome.FIXED if accepted else Flag.Outcome.SHOWN,
        "decided_at": now if accepted else None,
        "now": now,
    }


# --- the page's hidden fields -----------------------------------------------

PAGE = TimestampSigner(salt="paste-page", sep="~")


def seal_page(revision: int) -> str:
    """Sign the revision that a page showed, with the time."""
    return PAGE.sign(str(revision))


def open_page(sealed: str) -> tuple[int, datetime | None]:
    """(revision that the page showed, when it was sent), or (0, None) for a seal that is not ours."""
    try:
        revision = int(PAGE.unsign(sealed))
    except (BadSignature, ValueError):
        return 0, None
    return revision, datetime.fromtimestamp(b62_decode(sealed.rsplit(PAGE.sep, 2)[1]), tz=UTC)


# --- drafts -----------------------------------------------------------------


def save_draft(participant: Participant, step: str, data: dict[str, str], number: int) -> int | None:
    """Save a page's fields; return the draft's new number.

    `number` is the one the page knows. If another page saved since, overwrite nothing and return None.
    """
    now, until = lease_from_now(participant)
    is_open, is_held, kept = write_draft(participant, now, until, step, cleaned(data), number)
    stay(participant, is_open, is_held)
    return kept


def cleaned(data: dict[str, str]) -> dict[str, str]:
    return {clean_text(name): clean_text(value) for name, value in data.items()}


# --- evidence: the page's own notes on how the text was entered


def read_evidence(raw: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The page's own notes on how the text was entered, cut to the documented keys.

    {"observed": bool, "copied_at", "opened_at", "sent_at": ms since 1970 by the client's clock, "away_ms": time the
    page was in the background, "pasted", "typed", "removed": characters, "length", "edited_after": bool,
    "share_pasted": 0–1, "pastes": [{"at", "plain", "html"}] sizes in characters, "hands": {"keys", "pointer" (moves),
    "presses", "scrolls": how many the browser reported, "untrusted": how many a script made}, "automated": the browser
    says that a program drives it, "page_words": lines of the chatbot's own page that were removed in one press, without
    any that name a person}. Without JavaScript: {"observed": false}. "agent" is present if one declared itself.
    """
    given = read_object(raw)
    agent = declared_agent(headers or {})
    kept: dict[str, Any] = {"observed": given is not None, **({"agent": agent} if agent else {})}
    if given is None:
        return kept
    kept |= {name: number for name in NUMBERS if (number := read_number(given.get(name))) is not None}
    kept["edited_after"] = bool(given.get("edited_after"))
    if isinstance(hands := given.get("hands"), dict):
        kept["hands"] = {name: read_number(hands.get(name)) or 0 for name in HANDS}
        kept["automated"] = given.get("automated") is True
    pastes = given.get("pastes")
    kept["pastes"] = [
        {name: number for name in ("at", "plain", "html") if (number := read_number(paste.get(name))) is not None}
        for paste in (pastes if isinstance(pastes, list) else [])[:MOST_PASTES]
        if isinstance(paste, dict)
    ]
    lines = given.get("page_words")
    words = [line[:LONGEST_PAGE_LINE] for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
    if shown := [clean_text(line) for line in words[:MOST_PAGE_LINES] if not count_personal(line)]:
        kept["page_words"] = shown
    entered = kept.get("pasted", 0) + kept.get("typed", 0)
    kept["share_pasted"] = round(kept.get("pasted", 0) / entered, 4) if entered else None
    return kept


def declared_agent(headers: Mapping[str, str]) -> str:
    """The agent that a request declares, by its signature's address or its browser's name; else empty."""
    signed = headers.get("Signature-Agent", "").strip('"= ').removeprefix("https://")
    return (signed or agent_named(headers.get("User-Agent", "")))[:LONGEST_AGENT]


@lru_cache(maxsize=256)
def agent_named(browser: str) -> str:
    named = DECLARED.search(browser)
    return named[0] if named else ""


def is_of_agent(evidence: Mapping[str, Any]) -> bool:
    """Whether the browser says that a program drives it, or an agent has declared itself."""
    return bool(evidence.get("automated") or evidence.get("agent"))


def read_object(raw: str) -> dict[str, Any] | None:
    try:
        given = read_json(raw)
    except ValueError:
        return None
    return given if isinstance(given, dict) else None


def read_number(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and 0 <= value < 1e15 else None


def read_counts(raw: str) -> dict[str, int]:
    """Counts by kind of the personal details that the page removed before sending."""
    given = read_object(raw) or {}
    return {kind: number for kind in KINDS if (number := read_number(given.get(kind)))}
