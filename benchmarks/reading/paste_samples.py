"""A labelled sample of pastes: real model answers, and the same answers with a fault inserted."""

import csv
import hashlib
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surveys.reading.answers import count_items
from surveys.reading.checks import CHECKS, OtherPrompt, Paste
from surveys.reading.markup import BULLET, NUMBER

HERE = Path(__file__).parent
SEED = 20250101
RECOMMENDATIONS = "repeated_answers_recommendations"
PROFILES = "profile_vs_generic"
LETTERS = "helm_mmlu_college_chemistry"
# This model only continues texts; it does not answer as a chatbot.
NOT_A_CHATBOT = "meta-llama/Llama-2-13b-hf"
TURN_MARK = re.compile(r"\s*<\|im_end\|>\s*$")


@dataclass(frozen=True)
class Case:
    """A paste, the check it is for, whether that check should speak, and where the paste comes from."""

    check: str
    faulty: bool
    origin: str
    paste: Paste
    held_out: bool


@dataclass(frozen=True)
class Answer:
    """A real answer and a reader's labels; None if nobody read it or it could not be decided."""

    record: str
    prompt: str
    text: str
    cut_off: bool | None = None
    refusal: bool | None = None
    five_items: bool | None = None

    @property
    def held_out(self) -> bool:
        return is_held_out(self.text)


def is_held_out(text: str) -> bool:
    """Tell, by hash, whether a text is in the half that gives the rates; the rules were written on the other half."""
    return hashlib.sha256(text.encode()).digest()[1] % 2 == 1


def read_lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_answers(data: Path) -> list[Answer]:
    """Read every recommendation answer in the data, and the other answers that have a refusal label."""
    labels = read_labels()
    answers = [_answer(record, prompt, text, labels) for record, prompt, text in _records(data)]
    return [answer for answer in answers if answer.record.startswith(RECOMMENDATIONS) or answer.refusal is not None]


def _records(data: Path) -> Iterator[tuple[str, str, str]]:
    for name in (RECOMMENDATIONS, PROFILES):
        for at, row in enumerate(read_lines(data / f"{name}.jsonl")):
            if row["model"] != NOT_A_CHATBOT:
                yield f"{name}:{at}", row["prompt"], row["answer"]
    conversations = data.parent / "conversations" / "wildchat_a.jsonl"
    for at, row in enumerate(read_lines(conversations) if conversations.exists() else []):
        for turn, message in enumerate(row["conversation"]):
            asked = row["conversation"][turn - 1]["content"] if turn else ""
            yield f"wildchat_a:{at}/{turn}", asked, message["content"]


def read_labels() -> dict[str, dict[str, str]]:
    """Read labels by record; they hold only a hash of each text, so that a changed source is noticed."""
    with (HERE / "paste_labels.csv").open(encoding="utf-8", newline="") as rows:
        return {row["record"]: row for row in csv.DictReader(rows)}


def _answer(record: str, prompt: str, text: str, labels: dict[str, dict[str, str]]) -> Answer:
    label = labels.get(record, {})
    clean = TURN_MARK.sub("", text)
    if label and hashlib.sha256(text.encode()).hexdigest()[:16] != label["text_sha256"]:
        raise ValueError(f"{record} is not the text that was labelled; get the data's original version")
    cut_off, refusal, five = (_decided(label.get(name, "")) for name in ("cut_off", "refusal", "five_items"))
    return Answer(record, prompt, clean, cut_off, refusal, five)


def _decided(word: str) -> bool | None:
    return {"yes": True, "no": False}.get(word)


def build_cases(data: Path, seed: int) -> list[Case]:
    """Build the whole sample, in a fixed order; `seed` decides where answers are cut and what is taken out."""
    answers = read_answers(data)
    suggestions = [answer for answer in answers if answer.record.startswith(RECOMMENDATIONS)]
    prompts = tuple(dict.fromkeys(answer.prompt for answer in suggestions))
    others = {
        prompt: tuple(OtherPrompt(f"p{at}", text) for at, text in enumerate(prompts) if text != prompt)
        for prompt in prompts
    }
    pastes = [
        (answer, Paste(answer.text, answer.prompt, other_prompts=others.get(answer.prompt, ()))) for answer in answers
    ]
    mine = [(answer, paste) for answer, paste in pastes if answer in set(suggestions)]
    letters = list(_letter_pastes(data, others[prompts[0]]))
    draw = random.Random(seed)
    cases = [
        *_untouched(mine, letters),
        *_read_by_hand(pastes),
        *_repeated_prompts(mine, letters, draw),
        *_other_answers(mine, letters, others),
        *_written_refusals(mine),
        *_cuts(pastes, draw),
        *_wrapped(mine, draw),
        *_copies(mine, letters),
        *_shortened(mine, draw),
        *_empties(mine),
    ]
    return [*cases, *_spoiled(mine, set(CHECKS) - {case.check for case in cases})]


def _letter_pastes(data: Path, others: tuple[OtherPrompt, ...]) -> Iterator[Paste]:
    """Yield models' letters under the real questions, one model per question so that no question weighs more."""
    questions = data.parent / "mmlu" / "helm_lite_514.jsonl"
    texts = {row["id"]: _question_text(row) for row in read_lines(questions)} if questions.exists() else {}
    rows = read_lines(data / f"{LETTERS}.jsonl")
    models = sorted({row["model"] for row in rows})
    for row in rows:
        if models[int(row["question_id"].rsplit("/", 1)[1]) % len(models)] == row["model"]:
            prompt = texts.get(row["question_id"], row["question_id"])
            yield Paste(row["completion"], prompt, kind="choice", other_prompts=others)


def _question_text(row: dict[str, Any]) -> str:
    options = "\n".join(f"{letter}. {choice}" for letter, choice in zip("ABCD", row["choices"], strict=True))
    return f"{row['question']}\n{options}\nAnswer with the letter of the right option."


def _untouched(mine: list[tuple[Answer, Paste]], letters: list[Paste]) -> Iterator[Case]:
    """Yield real answers, with which nothing is wrong in these respects: any finding is a false alarm."""
    for check in ("empty", "prompt-itself", "other-prompt", "residue"):
        yield from (Case(check, False, "real answer", paste, answer.held_out) for answer, paste in mine)
    for check in ("empty", "prompt-itself", "other-prompt", "refusal", "cut-off", "residue", "too-few-items"):
        yield from (Case(check, False, "real letter", paste, is_held_out(paste.prompt_text)) for paste in letters)


def _read_by_hand(pastes: list[tuple[Answer, Paste]]) -> Iterator[Case]:
    for answer, paste in pastes:
        labels = {"cut-off": answer.cut_off, "refusal": answer.refusal}
        labels["too-few-items"] = None if answer.five_items is None else not answer.five_items
        for check, faulty in labels.items():
            if faulty is not None:
                yield Case(check, faulty, "read by hand", paste, answer.held_out)


def _repeated_prompts(mine: list[tuple[Answer, Paste]], letters: list[Paste], draw: random.Random) -> Iterator[Case]:
    first = {paste.prompt_text: paste for _, paste in mine}
    for paste in [*first.values(), *letters]:
        prompt = paste.prompt_text
        words = prompt.split(" ")
        most = " ".join(words[: max(5, round(len(words) * draw.uniform(0.6, 0.95)))])
        for text in (
            prompt,
            f"You said:\n{prompt}\n",
            f"{prompt}\n\nChatGPT said:\n",
            most,
            " ".join(prompt.split()),
        ):
            yield Case("prompt-itself", True, "prompt pasted", replace(paste, text=text), is_held_out(prompt))


def _other_answers(
    mine: list[tuple[Answer, Paste]], letters: list[Paste], others: dict[str, tuple[OtherPrompt, ...]]
) -> Iterator[Case]:
    """Yield answers under another prompt: only the topic tells, or the same person gave the answer before."""
    prompts = list(others)
    for at, (answer, paste) in enumerate(mine):
        prompt = prompts[(prompts.index(answer.prompt) + 1 + at % (len(prompts) - 1)) % len(prompts)]
        moved = Paste(paste.text, prompt, other_prompts=others[prompt])
        yield Case("other-prompt", True, "only the topic tells", moved, answer.held_out)
        known = tuple(o._replace(answer=answer.text) if o.text == answer.prompt else o for o in others[prompt])
        if len(answer.text.split()) > 8:
            yield Case(
                "other-prompt",
                True,
                "same person's answer",
                replace(moved, other_prompts=known),
                answer.held_out,
            )
    for (answer, paste), letter in zip(mine, letters, strict=False):
        at_choice = replace(
            letter, text=paste.text, other_prompts=(*paste.other_prompts, OtherPrompt("own", answer.prompt))
        )
        yield Case("other-prompt", True, "list under a choice", at_choice, answer.held_out)


def _written_faults(name: str) -> Iterator[tuple[Any, bool]]:
    """Yield faults that we wrote, each with its half: the held-out list was written after the rules were finished."""
    faults = json.loads((HERE / "paste_faults.json").read_text(encoding="utf-8"))[name]
    for half in ("developed", "held_out"):
        yield from ((fault, half == "held_out") for fault in faults[half])


def _written_refusals(mine: list[tuple[Answer, Paste]]) -> Iterator[Case]:
    paste = mine[0][1]
    for name, origin in (("refusals", "refusal in our words"), ("failures", "error message")):
        for text, held_out in _written_faults(name):
            yield Case("refusal", True, origin, replace(paste, text=text), held_out)


def _cuts(pastes: list[tuple[Answer, Paste]], draw: random.Random) -> Iterator[Case]:
    """Yield complete answers, each cut at two random characters; cuts after a full sentence are kept."""
    for answer, paste in pastes:
        if answer.cut_off is False and len(answer.text) > 200:
            for _ in range(2):
                end = draw.randint(100, len(answer.text) - 20)
                yield Case("cut-off", True, "cut at random", replace(paste, text=paste.text[:end]), answer.held_out)


def _wrapped(mine: list[tuple[Answer, Paste]], draw: random.Random) -> Iterator[Case]:
    for (before, after), held_out in _written_faults("residue"):
        half = [paste for answer, paste in mine if answer.held_out is held_out]
        for paste in draw.sample(half, 4):
            text = f"{before}{paste.text}{after}"
            yield Case("residue", True, "page around it", replace(paste, text=text), held_out)


def _copies(mine: list[tuple[Answer, Paste]], letters: list[Paste]) -> Iterator[Case]:
    """Yield copied answers, and letters that many people get, which the check must tell apart."""
    seen: set[str] = set()
    for answer, paste in mine:
        yield Case("same-as-other", True, "copied", replace(paste, same_as_other=True), answer.held_out)
        if answer.text not in seen:
            yield Case("same-as-other", False, "real answer", paste, answer.held_out)
        seen.add(answer.text)
    for paste in letters:
        yield Case(
            "same-as-other",
            False,
            "real letter",
            replace(paste, same_as_other=True),
            is_held_out(paste.prompt_text),
        )


def _shortened(mine: list[tuple[Answer, Paste]], draw: random.Random) -> Iterator[Case]:
    """Yield lists of five or more items with one to four of them left; the words around the list stay."""
    for answer, paste in mine:
        lines = paste.text.split("\n")
        items = [at for at, line in enumerate(lines) if NUMBER.match(line) or BULLET.match(line)]
        if answer.five_items and len(items) >= 5 and len(items) == count_items(paste.text):
            kept = set(items[: draw.randint(1, 4)])
            text = "\n".join(line for at, line in enumerate(lines) if at not in items or at in kept)
            yield Case("too-few-items", True, "items taken out", replace(paste, text=text), answer.held_out)


def _spoiled(mine: list[tuple[Answer, Paste]], names: set[str]) -> Iterator[Case]:
    """Yield, for checks without another sample, each real answer as it is and as the check's own record spoils it."""
    for name in sorted(names):
        for answer, paste in mine:
            yield Case(name, False, "real answer", paste, answer.held_out)
            yield Case(name, True, "spoiled", CHECKS[name].spoil(paste), answer.held_out)


def _empties(mine: list[tuple[Answer, Paste]]) -> Iterator[Case]:
    for text in ("", " ", "\n\n", "\t \n", "\u200b", "\u2026", "-", "\u00a0\u00a0", ".", "***"):
        for held_out in (False, True):
            yield Case("empty", True, "nothing in it", replace(mine[0][1], text=text), held_out)
