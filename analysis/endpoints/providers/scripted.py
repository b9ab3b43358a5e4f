"""The provider that ships with the product: scripted answers without a network, marked as simulated."""

import asyncio
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from analysis.endpoints.providers.calls import CallFailed, Messages, Reply, Settings
from surveys.simulation.answers import LETTERS, Taste, choose_letter, items_for, pick_items, write_items, write_letter

FAULTS = {
    "rate-limit": lambda: CallFailed("rate-limit", "429: Slow down.", retry_after=0.05),
    "server": lambda: CallFailed("server", "500: The script says so."),
    "timeout": lambda: CallFailed("timeout", "No whole answer in time.", maybe_paid=True),
    "refused": lambda: CallFailed("refused", "400: The script says so."),
    "authentication": lambda: CallFailed("authentication", "401: The script says so."),
}


class FakeProvider:
    """Scripted answers. The endpoint's `extra` may hold `latency_ms`, `faults` ({kind: share}), `reply`, and `script`:
    "lifelike". `scripted_task` answers tasks; with `made_up` in `extra`, extraction also gives an untrue entry.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.attempts: dict[str, int] = {}

    def encode(self, messages: Messages, response_format: dict[str, Any] | None = None) -> bytes:
        return json.dumps({"messages": list(messages)}).encode()

    async def complete(self, body: bytes, key: str) -> Reply:
        extra, messages = self.settings.extra, json.loads(body)["messages"]
        is_lifelike, wait = extra.get("script") == "lifelike", extra.get("latency_ms", 0)
        await asyncio.sleep((lifelike_wait(messages, key, wait) if is_lifelike else wait) / 1000)
        self.attempts[key] = self.attempts.get(key, 0) + 1
        share, dice = 0.0, Random(f"{key} {self.attempts[key]}").random()
        for kind, part in extra.get("faults", {}).items():
            share += part
            if dice < share:
                raise FAULTS[kind]()
        script = lifelike_reply(messages, key, self.settings) if is_lifelike else scripted_reply(messages, key)
        text = extra.get("reply") or scripted_task(messages[-1]["content"], extra) or script
        return Reply(
            text=text,
            finish_reason="stop",
            model=self.settings.model,
            fingerprint="scripted",
            request_id=key,
            prompt_tokens=sum(len(message["content"]) for message in messages) // 4 + 1,
            cached_tokens=0,
            completion_tokens=len(text) // 4 + 1,
        )

    async def check(self) -> None:
        return None

    async def close(self) -> None:
        return None


# --- by the topic of the question and the number of the draw

# The form in which a judge is asked (runs.asking.judges.ask_for): each field with its labels, then the object.
FORM = re.compile(r"^Answer with JSON and nothing else: (\{.*\})\s*\Z", re.M)
FIELD = re.compile(r"^(\S+): .*\[(.+)\]$", re.M)
LABEL = re.compile(r'"([^"]+)" = ')
OWN_SHARE = 0.25  # of labels are a scripted judge's own; all scripted judges share the rest
OPTION = re.compile(r"^\s*([A-H])[.)] ", re.M)
SAFE_SHARE = 3  # without a context the most popular items come up that much more often


def scripted_reply(messages: Sequence[dict[str, str]], draw: str) -> str:
    """A reply, the same for the same messages and draw; a context in front spreads the recommendations."""
    random = Random(draw)
    question = messages[-1]["content"]
    if judged := judge(question, random):
        return judged
    letters = OPTION.findall(question[question.rfind("Question:") :] if "Question:" in question else question)
    if len(letters) >= 2:
        return f"{random.choice(letters)}"
    items = items_for(question)
    skew = SAFE_SHARE if len(messages) == 1 else 1
    return "\n".join(f"{n}. {item}" for n, item in enumerate(draw_items(items, 5, skew, random), 1))


def judge(question: str, random: Random) -> str:
    """Labels in the form that the question asks a judge for; empty if it asks for none."""
    form = FORM.search(question)
    if form is None:
        return ""
    usual, fields = Random(question), json.loads(form[1])
    labels = {name: LABEL.findall(listed) for name, listed in FIELD.findall(question[: form.start()]) if name in fields}
    given = {
        name: (random if random.random() < OWN_SHARE else usual).choice(values)
        for name, values in labels.items()
        if values
    }
    return json.dumps(given)


def draw_items(items: Sequence[str], wanted: int, skew: float, random: Random) -> list[str]:
    """Distinct items; the one at rank r has a weight of 1 / r ** skew."""
    left = list(items)
    drawn: list[str] = []
    while left and len(drawn) < wanted:
        weights = [1 / rank**skew for rank in range(1, len(left) + 1)]
        drawn.append(left.pop(random.choices(range(len(left)), weights)[0]))
    return drawn


# --- "lifelike": as real models answer, alike to everybody, less so with a context

CHOICE = re.compile(r"^([A-H])[.)] (.+)$", re.M)
SAFE_SKEW = 2.0  # without a context
SKEW_OF_CONTEXT = 0.8  # so much less with a long one
SPREAD_OF_CONTEXT = 0.75
SPREAD_OF_RELEASE = 0.4  # how far a later release of the same model prefers other things
PATIENT_MESSAGES = 120  # this many in front have two thirds of the full effect
PROFILE = 0.7  # a profile's effect as a share of a long context's


def lifelike_reply(messages: Sequence[dict[str, str]], draw: str, settings: Settings) -> str:
    """A reply, the same for the same messages, draw and `extra`; at temperature 0 for every draw.

    `extra` may hold `release`, the name of a later state of the model, and `knows`: {part of a question: its right
    letter}.
    """
    question = messages[-1]["content"]
    taste = taste_of(messages[:-1], settings)
    rng = Random(f"{taste} {question}" if settings.temperature == 0 else draw)
    if judged := judge(question, Random(f"{settings.model} {question}")):
        return judged
    choices = dict(CHOICE.findall(question))
    if len(choices) > 1 and LETTERS.startswith("".join(choices)):
        known = settings.extra.get("knows", {}).items()
        part, letter = next((each for each in known if each[0] in question), (question, ""))
        chosen = choose_letter(part, len(choices), letter, rng, taste)
        return write_letter(chosen, choices[chosen], rng)
    return write_items(pick_items(items_for(question), 5, rng, taste), rng)


def taste_of(context: Sequence[dict[str, str]], settings: Settings) -> Taste:
    family = "gemini" if "gemini" in settings.model else "chatgpt"
    effect = effect_of(context)
    release = settings.extra.get("release", "")
    person = hashlib.sha256("\n".join(message["content"][:200] for message in context).encode()).hexdigest()
    return Taste(
        chatbot=family,
        skew=SAFE_SKEW - effect * SKEW_OF_CONTEXT,
        spread=effect * SPREAD_OF_CONTEXT if context else SPREAD_OF_RELEASE * bool(release),
        person=person if context else release,
    )


def effect_of(context: Sequence[dict[str, str]]) -> float:
    """The effect of this context as a share of a long history's, from 0 to 1."""
    if any(message["role"] == "system" for message in context):
        return PROFILE
    return 1 - math.exp(-len(context) / PATIENT_MESSAGES)


def lifelike_wait(messages: Sequence[dict[str, str]], draw: str, usual: float) -> float:
    """Milliseconds: `usual` for a bare question, more with a long context, different each time."""
    characters = sum(len(message["content"]) for message in messages)
    return usual * (1 + characters / 40_000) * Random(f"wait {draw}").lognormvariate(0, 0.35)


# --- replies to tasks by simple rules, so that the right answers are known

# How runs.asking shows a conversation.
CONVERSATION = re.compile(r"<conversation>\n(.*)\n</conversation>", re.S)
TURN = re.compile(r"^\[(user|assistant)\]\n", re.M)
SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
ABOUT_ONESELF = re.compile(r"\b(?:I|my|mine|I'm|I've)\b", re.I)
UNSURE = re.compile(r"\b(?:maybe|perhaps|might|guess|probably)\b", re.I)
MADE_UP = {
    "reasoning": "Nothing: this entry is made up.",
    "attribute": "The user collects stamps of Atlantis.",
    "confidence": 0.9,
    "evidence": ["my stamps of Atlantis, of which nobody wrote"],
}
LONG_WORD = re.compile(r"[^\W\d_]{4,}")
NUMBERED = re.compile(r"^(\d+)\. (.+)$", re.M)
NAMED_CHOICE = re.compile(r'^- "([-\w]+)": ', re.M)
QUOTE = re.compile(r"^- “(.*)”$", re.M)
SAME_BEGINNING = 30  # characters
Extra = Mapping[str, Any]


def scripted_task(question: str, extra: Extra) -> str:
    """A reply in the form that the question asks for, always the same; empty if it is no task."""
    form = FORM.search(question)
    fields = " ".join(json.loads(form[1])) if form else ""
    return json.dumps(SCRIPTS[fields](question, extra), ensure_ascii=False) if fields in SCRIPTS else ""


def said_by_user(question: str) -> list[str]:
    shown = CONVERSATION.search(question)
    parts = TURN.split(shown[1])[1:] if shown else []
    return [text.strip() for role, text in zip(parts[::2], parts[1::2], strict=True) if role == "user"]


def extract(question: str, extra: Extra) -> Mapping[str, Any]:
    """Every sentence in which the user speaks of themselves, once; with `made_up`, also one whose quote is nowhere."""
    sentences = (sentence.strip() for text in said_by_user(question) for sentence in SENTENCE.findall(text))
    entries = [
        {
            "reasoning": "The user says so.",
            "attribute": f"The user says: {sentence}"[:2_000],
            "confidence": 0.3 if UNSURE.search(sentence) else 0.9,
            "evidence": [sentence],
        }
        for sentence in dict.fromkeys(filter(ABOUT_ONESELF.search, sentences))
    ]
    return {"attributes": [*entries, *([MADE_UP] if extra.get("made_up") else [])]}


def language(question: str, extra: Extra) -> Mapping[str, Any]:
    """The share of letters that are English, above 0.9 counted as all: enough to tell other scripts apart."""
    letters = [letter for text in said_by_user(question) for letter in text if letter.isalpha()]
    share = sum(letter.isascii() for letter in letters) / len(letters) if letters else 1.0
    return {"others": "none", "share": 1.0} if share > 0.9 else {"others": "another script", "share": round(share, 3)}


def assistant_use(question: str, extra: Extra) -> Mapping[str, Any]:
    """A low score if most messages begin with the same words, else a high one."""
    begun = Counter(text[:SAME_BEGINNING] for text in said_by_user(question))
    same = max(begun.values(), default=0)
    return {"reasoning": f"{same} begin alike.", "score": 0.1 if same > 2 and 2 * same > begun.total() else 0.9}


def sharing_words(question: str) -> list[int]:
    """Numbers of the attributes that share a long word with what precedes the list."""
    before, _, after = question.partition("The attributes:\n")
    words = set(LONG_WORD.findall(before[before.rfind("The ") :].casefold()))
    return [int(number) for number, said in NUMBERED.findall(after) if words & set(LONG_WORD.findall(said.casefold()))]


def refine(question: str, extra: Extra) -> Mapping[str, Any]:
    quote = QUOTE.search(question)
    return {
        "reasoning": "No more is said.",
        "action": "revise",
        "attribute": f"The user once said: {quote and quote[1]}",
    }


# The scripts, by the fields of the form.
SCRIPTS: dict[str, Callable[[str, Extra], Mapping[str, Any]]] = {
    "attributes": extract,
    "others share": language,
    "reasoning score": assistant_use,
    "relevant": lambda question, extra: {"relevant": sharing_words(question)},
    "mentioned": lambda question, extra: {"mentioned": sharing_words(question)},
    "reason": lambda question, extra: {"reason": "The quotes say less than the statement."},
    # Spread over the choices by the words of the question.
    "category": lambda question, extra: {"category": Random(question).choice(NAMED_CHOICE.findall(question))},
    "reasoning action attribute": refine,
}
