"""Rules between the keys of a study file: places and pay, fair checks, exclusions from the comparison."""

import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from itertools import combinations
from typing import Any

from surveys.studies.files.askings import EVERY, Arm, Repeats, askings_of, most_apart
from surveys.studies.files.hypotheses import RULES as OF_HYPOTHESES
from surveys.studies.files.kinds import KINDS
from surveys.studies.files.lines import Misfit, Misfits, Study, join_place, numbered
from surveys.studies.files.matrix import SLUG as QUESTION
from surveys.studies.files.schema import CONTEXT, EXCLUSION_KINDS, LISTS, NONE, NOT_ASKED, SEVERAL, TYPED
from surveys.studies.files.values import listed, nearest

# Prolific's minimum for an hour; the recommended rate is half as much again.
LEAST_PAY_PER_HOUR = {"USD": Decimal(8), "GBP": Decimal(6)}
# From this length on Prolific wants two failed attention checks before anyone is turned down.
LONG_STUDY_MINUTES = 5
NEUTRAL = re.compile(
    r"\b(neither|neutral|no opinion|no answer|unsure|undecided|not sure|not applicable|n/a|maybe|it depends"
    r"|(do not|don['’]t|cannot|can['’]t) (know|say|tell|remember)|prefer not|rather not|in between|sometimes"
    r"|other)\b",
    re.IGNORECASE,
)
# Words that forms and stored answers use besides the slugs of a study.
RESERVED = {"chatbots": (NONE, SEVERAL, "other"), "questions": ("chatbot",), "arms": ("2",)}
LONGEST_SLUG = 50


def find_misfits(study: Study) -> list[Misfit]:
    """Find every broken rule. The study may be incomplete: rules skip missing and unusable parts."""
    return [misfit for rule in RULES for misfit in rule(study)]


def slugs_differ(study: Study) -> Misfits:
    seen: dict[tuple[str, str], str] = {}
    for name in LISTS:
        # One sheet of answers holds both kinds of checks, so their slugs share one space.
        space = "attention" if name == "comprehension" else name
        for place, entry in numbered(study, name):
            slug = entry.get("slug", "")
            if slug in RESERVED.get(name, ()):
                yield (f"{place}.slug", f"cannot be `{slug}`: that word is reserved")
            elif slug and (first := seen.setdefault((space, slug), place)) != place:
                yield (f"{place}.slug", f"is `{slug}` again; {first} has that slug already")


def names_differ(study: Study) -> Misfits:
    """Chatbots, cells, prompts or arms of one name could not be told apart on a page."""
    for name, key in (("chatbots", "name"), ("cells", "name"), ("prompts", "title"), ("arms", "name")):
        seen: dict[str, str] = {}
        for place, entry in numbered(study, name):
            shown = entry.get(key, "")
            if shown and (first := seen.setdefault(shown.casefold(), place)) != place:
                yield (f"{place}.{key}", f"is {shown!r} again; {first} already has that name")


def codes_differ(study: Study) -> Misfits:
    codes = study.get("codes", {})
    if not codes.get("misunderstood"):
        if study["comprehension"]:
            yield ("codes.misunderstood", "is missing: a study with comprehension checks needs it")
        elif "annotation" in study:
            yield ("codes.misunderstood", "is missing: a study of annotators needs it for those who fail the training")
    seen: dict[str, str] = {}
    for name, code in codes.items():
        if code and (first := seen.setdefault(code, name)) != name:
            yield (f"codes.{name}", f"is {code} like codes.{first}; each outcome needs a code of its own")


def pay_is_enough(study: Study) -> Misfits:
    pay, minutes = study.get("pay", {}), study.get("minutes")
    if not minutes or not {"amount", "currency"} <= pay.keys():
        return
    rate = Decimal(pay["amount"]) * 60 / minutes
    least = LEAST_PAY_PER_HOUR[pay["currency"]]
    if rate < least:
        yield (
            "pay.amount",
            f"makes {rate:.2f} {pay['currency']} an hour at {minutes} minutes; the least is {least:.2f}",
        )


def questions_fit_their_purpose(study: Study) -> Misfits:
    for place, question in numbered(study, "questions"):
        kind, purpose = question.get("kind"), question.get("purpose")
        if kind and purpose in ("quota", "screening") and kind != "choice":
            yield (f"{place}.kind", f"is `{kind}`, but a {purpose} question must be a `choice`")
        if purpose in ("quota", "screening") and question.get("required") is False:
            yield (f"{place}.required", f"cannot be false: a {purpose} question decides who takes part")
        if kind == "choice" and question.get("options") == ():
            yield (f"{place}.options", "is missing: a `choice` needs at least two options")
        if kind in ("number", "text") and question.get("options"):
            yield (f"{place}.options", f"is not for a `{kind}` question")
        yield from _accept_fits(place, question)
    yield from _settings_fit(study)


def _settings_fit(study: Study) -> Misfits:
    """A question that asks for a setting of the chatbot has one option for each of its values."""
    seen: dict[str, str] = {}
    for place, question in numbered(study, "questions"):
        setting, values = question.get("setting"), CONTEXT.get(question.get("setting", ""), ())
        if not setting:
            continue
        if (first := seen.setdefault(setting, place)) != place:
            yield (f"{place}.setting", f"is `{setting}` again; {first} asks for it already")
        if not study["chatbots"]:
            yield (f"{place}.setting", "is of people's chatbots, and this study has none")
        if question.get("kind", "choice") != "choice" or question.get("required") is False:
            yield (f"{place}.setting", "needs a `choice` that everybody answers")
        elif question.get("options") and len(question["options"]) != len(values):
            options = f"needs {len(values)} options, which stand for {listed(values)} in this order"
            yield (f"{place}.options", f"has {len(question['options'])}; the setting `{setting}` {options}")


def _accept_fits(place: str, question: dict[str, Any]) -> Misfits:
    purpose, accept, options = question.get("purpose"), question.get("accept"), question.get("options")
    if purpose == "screening" and accept == ():
        yield (f"{place}.accept", "is missing: a screening question names the options that may go on")
    if purpose in ("quota", "background") and accept:
        yield (f"{place}.accept", f"is not for a {purpose} question, only for screening")
    if options and accept:
        for option in accept:
            if option not in options:
                yield (f"{place}.accept", f"names {option!r}, which is not one of the options")


def cells_name_quota_answers(study: Study) -> Misfits:
    questions = {question.get("slug"): question for question in study["questions"]}
    for place, cell in numbered(study, "cells"):
        for slug, wanted in cell.get("where", {}).items():
            question = questions.get(slug)
            if question is None:
                yield (f"{place}.where", f"names the question `{slug}`, which does not exist")
            elif question.get("purpose", "quota") != "quota":
                yield (f"{place}.where", f"names the question `{slug}`, whose purpose is not `quota`")
            elif question.get("options"):
                for option in wanted:
                    if option not in question["options"]:
                        yield (f"{place}.where", f"names {option!r}, which is not an option of `{slug}`")


def cells_do_not_overlap(study: Study) -> Misfits:
    """Two cells overlap unless a question that both name tells them apart."""
    quota = {question.get("slug") for question in study["questions"] if question.get("purpose") == "quota"}
    # A cell with a misspelt question would seem to overlap with all others.
    cells = [(place, cell) for place, cell in numbered(study, "cells") if cell.get("where", {"": ""}).keys() <= quota]
    for (_, first), (place, second) in combinations(cells, 2):
        shared = first["where"].keys() & second["where"].keys()
        if all(set(first["where"][slug]) & set(second["where"][slug]) for slug in shared):
            yield (f"{place}.where", f"overlaps with the cell `{first.get('slug', '?')}`: a person could fit both")


def checks_have_their_answer(study: Study) -> Misfits:
    for name in ("comprehension", "attention"):
        for place, check in numbered(study, name):
            options = check.get("options", ())
            given = [("answer", check["answer"])] if "answer" in check else []
            for key, answer in (*given, *(("also", answer) for answer in check.get("also", ()))):
                if options and answer not in options:
                    yield (f"{place}.{key}", f"is {answer!r}, which is not one of the options")
            if options and set(options) <= {check.get("answer"), *check.get("also", ())}:
                yield (f"{place}.also", "leaves no wrong option, so the check could not be failed")


def attention_checks_are_fair(study: Study) -> Misfits:
    for place, check in numbered(study, "attention"):
        if check.get("kind") in ATTENTION_KINDS:
            yield from ATTENTION_KINDS[check["kind"]](place, check)
        if study["prompts"] and check.get("after", 0) > len(study["prompts"]):
            yield (f"{place}.after", f"is {check['after']}, but there are {len(study['prompts'])} prompts")


def _instruction_is_clear(place: str, check: dict[str, Any]) -> Misfits:
    if "text" in check and "answer" in check and not _names(check["text"], check["answer"]):
        yield (f"{place}.text", f"must name the answer it asks for, {check['answer']!r}, word by word")
    if check.get("also"):
        yield (f"{place}.also", "is only for `nonsense`: an instruction asks for exactly one answer")


def instructions_are_clear_in_each_language(study: Study) -> Misfits:
    for code, texts in study["languages"].items():
        for _, check in numbered(study, "attention"):
            said = texts.get("attention", {}).get(check.get("slug"), {})
            asked = dict(zip(check.get("options", ()), said.get("options", ()), strict=False)).get(check.get("answer"))
            if check.get("kind") == "instruction" and asked and "text" in said and not _names(said["text"], asked):
                place = join_place(f"languages.{code}.attention", check["slug"])
                yield (f"{place}.text", f"must name the answer it asks for, {asked!r}, word by word")


def _nonsense_has_no_neutral_option(place: str, check: dict[str, Any]) -> Misfits:
    for option in check.get("options", ()):
        if NEUTRAL.search(option):
            yield (f"{place}.options", f"has the neutral option {option!r}; a nonsensical item has none")


def _names(text: str, answer: str) -> bool:
    words = r"\s+".join(re.escape(word) for word in answer.split())
    return re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None


def perception_fits(study: Study) -> Misfits:
    asked = study.get("perception", {})
    if study["prompts"] and asked.get("after", 0) > len(study["prompts"]):
        yield ("perception.after", f"is {asked['after']}, but there are {len(study['prompts'])} prompts")
    words = ("text", "options", "answer")
    if any(asked.get(key) for key in words):
        for key in words:
            if not asked.get(key, "?"):
                yield (f"perception.{key}", "is missing: `text`, `options` and `answer` come together")
        if asked.get("options") and asked.get("answer") and asked["answer"] not in asked["options"]:
            yield ("perception.answer", f"is {asked['answer']!r}, which is not one of the options")


def exclusions_are_fair(study: Study) -> Misfits:
    checks, minutes = len(study["attention"]), study.get("minutes", LONG_STUDY_MINUTES)
    for place, exclusion in numbered(study, "exclusions"):
        fails = exclusion.get("attention_fails", 0)
        if fails > checks:
            yield (f"{place}.attention_fails", f"is {fails}, but there are {checks} attention checks")
        elif fails == 1 and minutes >= LONG_STUDY_MINUTES:
            yield (
                f"{place}.attention_fails",
                f"is 1, but from {LONG_STUDY_MINUTES} minutes on it takes two failed checks",
            )


def choices_have_their_answer(study: Study) -> Misfits:
    for place, prompt in numbered(study, "prompts"):
        choices, answer = prompt.get("choices"), prompt.get("answer")
        if choices and answer and ord(answer) - ord("A") >= len(choices):
            yield (f"{place}.answer", f"is {answer}, but there are {len(choices)} choices")
        if bool(prompt.get("benchmark")) != bool(prompt.get("item")) and {"benchmark", "item"} <= prompt.keys():
            missing = "item" if prompt["benchmark"] else "benchmark"
            yield (f"{place}.{missing}", "is missing: `benchmark` and `item` come together")


def annotators_have_places(study: Study) -> Misfits:
    work = study.get("annotation")
    if not work:
        return
    if study["cells"] and work.get("annotators"):
        yield ("annotation.annotators", "is not needed: the [[cells]] say how many places there are")
    if not study["cells"] and work.get("annotators") == 0:
        yield ("annotation.annotators", "is missing: it says how many annotators may take part")
    if work.get("least", 0) > work.get("quota", work.get("least", 0)):
        yield ("annotation.least", f"is {work['least']}, but nobody is given more than {work['quota']} items")
    if work.get("next") and work["next"] == study.get("slug"):
        yield ("annotation.next", "is this study itself; it names the stage that comes after it")


def wordings_fit_the_kind(study: Study) -> Misfits:
    work, seen = study.get("annotation"), set()
    kind = KINDS.get((work or {}).get("kind", ""))
    asked = {question.name: question for question in kind.questions} if kind else {}
    for place, words in numbered(study, "wordings"):
        name = words.get("question", "")
        if work is None:
            yield (place, "is for a study of annotators only")
        elif asked and name and name not in asked:
            yield (f"{place}.question", f"is {name!r}, but annotators are asked {listed(tuple(asked))}")
        elif name in seen:
            yield (f"{place}.question", f"is {name!r} again")
        elif name in asked:
            for label in sorted({*words.get("labels", ()), *words.get("hints", ())} - {*asked[name].values}):
                yield (place, f"names the label {label!r}, but {name} has {listed(asked[name].values) or 'none'}")
        seen.add(name)


def exclusions_are_of_one_kind(study: Study) -> Misfits:
    for place, exclusion in numbered(study, "exclusions"):
        first, *more = [kind for kind in EXCLUSION_KINDS if exclusion.get(kind)] or [""]
        for kind in more:
            yield (f"{place}.{kind}", f"stands beside `{first}`; write an [[exclusions]] for each of them")


def exclusions_fit_the_study(study: Study) -> Misfits:
    minutes, checks = study.get("minutes", 0), study.get("checks", {}).get("paste")
    for place, exclusion in numbered(study, "exclusions"):
        if minutes and exclusion.get("minutes_under", 0) >= minutes:
            yield (
                f"{place}.minutes_under",
                f"is {exclusion['minutes_under']:g}, but {minutes} minutes are what people are told it takes",
            )
        if exclusion.get("perception") and "perception" not in study:
            yield (
                f"{place}.perception",
                "is about a figure in moving dots, which nobody is shown without [perception]",
            )
        for check in exclusion.get("flags", ()):
            if checks is not None and check not in checks:
                yield (f"{place}.flags", f"names `{check}`, which is not one of this study's paste checks")
        for key, wanted in exclusion.get("context", {}).items():
            yield from _context_can_be(study, f"{place}.context", key, wanted)


def _context_can_be(study: Study, place: str, key: str, wanted: tuple[str, ...]) -> Misfits:
    asked = tuple(name for name in CONTEXT if name not in NOT_ASKED)
    if key in NOT_ASKED:
        yield (place, f"names `{key}`, which nobody is asked, so the rule would leave nobody out; take it out")
        return
    if key not in CONTEXT:
        yield (place, f"names `{key}`{nearest(key, asked)}; it can name {listed(asked)}")
        return
    if key in TYPED:
        return
    bots = tuple(bot["slug"] for bot in study["chatbots"] if "slug" in bot) if key == "product" else ()
    known = (*bots, *CONTEXT[key])
    for answer in wanted:
        if answer not in known:
            yield (place, f"names {answer!r} for `{key}`, which can be {listed(known)}")


def models_differ(study: Study) -> Misfits:
    """A pattern belongs to one chatbot, since a model's answers are compared with those of one."""
    seen: dict[str, str] = {}
    for place, bot in numbered(study, "chatbots"):
        for pattern in bot.get("models", ()):
            if (first := seen.setdefault(pattern.casefold(), place)) != place:
                yield (f"{place}.models", f"names {pattern!r}, which {first} names already")


def variants_ask_the_same(study: Study) -> Misfits:
    prompts = {prompt.get("slug"): prompt for prompt in study["prompts"]}
    for place, prompt in numbered(study, "prompts"):
        slug, original = prompt.get("variant_of"), prompts.get(prompt.get("variant_of"))
        if bool(slug) != bool(prompt.get("variant")) and {"variant_of", "variant"} <= prompt.keys():
            missing = "variant" if slug else "variant_of"
            yield (f"{place}.{missing}", "is missing: `variant_of` and `variant` come together")
        if slug and original is None:
            yield (f"{place}.variant_of", f"names the prompt `{slug}`, which does not exist")
        elif slug and original is prompt:
            yield (f"{place}.variant_of", "names the prompt itself")
        elif slug and original:
            yield from _variant_fits(place, prompt, original)


def _variant_fits(place: str, prompt: dict[str, Any], original: dict[str, Any]) -> Misfits:
    slug, kinds = prompt["variant_of"], (original.get("kind"), prompt.get("kind"))
    if original.get("variant_of"):
        yield (f"{place}.variant_of", f"names `{slug}`, which is a variant itself; name `{original['variant_of']}`")
    if all(kinds) and kinds[0] != kinds[1]:
        yield (f"{place}.kind", f"is `{kinds[1]}`, but `{slug}`, of which it is a variant, is a `{kinds[0]}`")
        return
    if prompt.get("item"):
        yield (f"{place}.item", "is not for a variant: the item's own words would take the place of the variant's")
    ours, theirs = len(prompt.get("choices", ())), len(original.get("choices", ()))
    if ours and theirs and ours != theirs:
        yield (f"{place}.choices", f"has {ours} entries, but `{slug}`, of which it is a variant, has {theirs}")
    for key in ("answer", "items"):
        value, wanted = prompt.get(key), original.get(key)
        if value and wanted and value != wanted:
            yield (f"{place}.{key}", f"is {value}, but it is {wanted} for `{slug}`, of which this is a variant")


def askings_name_prompts(study: Study) -> Misfits:
    prompts = tuple(prompt["slug"] for prompt in study["prompts"] if "slug" in prompt)
    for place, table in (
        ("repeats", study.get("repeats", {})),
        ("rating", study.get("rating", {})),
        *numbered(study, "arms"),
    ):
        for slug in table.get("prompts", ()):
            if slug not in prompts and not (place == "rating" and (slug,) == EVERY):
                yield (f"{place}.prompts", f"names the prompt `{slug}`, which does not exist{nearest(slug, prompts)}")


def askings_are_apart(study: Study) -> Misfits:
    prompts = [prompt["slug"] for prompt in study["prompts"] if "slug" in prompt]
    table, arms = study.get("repeats", {}), dict(numbered(study, "arms"))
    repeats = Repeats(table["prompts"]) if "prompts" in table else None
    known = {
        place: Arm(arm["slug"], "", "", arm["prompts"])
        for place, arm in arms.items()
        if {"slug", "prompts"} <= arm.keys()
    }
    askings, taken = askings_of(prompts, repeats, [*known.values()]), set(prompts)
    for asking in askings[len(prompts) :]:
        place = next((place for place, arm in known.items() if arm.slug == asking.arm), "repeats")
        if asking.slug in taken:
            yield (f"{place}.prompts", f"makes `{asking.slug}` of `{asking.prompt}`, which another prompt is called")
        elif len(asking.slug) > LONGEST_SLUG:
            yield (f"{place}.prompts", f"makes `{asking.slug}`, which has more than {LONGEST_SLUG} characters")
        taken.add(asking.slug)
    times = max(Counter(asking.prompt for asking in askings).values(), default=1)
    if repeats and prompts and table.get("apart", 0) > (most := most_apart(len(prompts), times)):
        yield (
            "repeats.apart",
            f"is {table['apart']}, but with {len(prompts)} prompts, of which one is asked {times} times, "
            f"it can be {most} at most",
        )


def questions_have_their_slugs(study: Study) -> Misfits:
    for place, prompt in numbered(study, "prompts") if "matrix" in study else ():
        if re.fullmatch(rf"{QUESTION}\d+", prompt.get("slug", "")):
            yield (f"{place}.slug", f"cannot be `{prompt['slug']}`: so are the questions of [matrix] called")


def references_differ(study: Study) -> Misfits:
    seen: dict[tuple[str, str], str] = {}
    for place, reference in numbered(study, "references"):
        key = (reference.get("benchmark", ""), reference.get("name", "").casefold())
        if all(key) and (first := seen.setdefault(key, place)) != place:
            yield (f"{place}.name", f"is {reference['name']!r} again; {first} has it for `{key[0]}` already")


def filters_choose(study: Study) -> Misfits:
    seen: dict[str, str] = {}
    for place, entry in numbered(study, "filters"):
        if bool(entry.get("values")) == bool(entry.get("upper")):
            yield (place, "needs either `values` or a range with `upper`")
        elif entry.get("upper") and entry.get("lower", 0) > entry["upper"]:
            yield (f"{place}.lower", "is above `upper`")
        if (first := seen.setdefault(entry.get("filter", place), place)) != place:
            yield (f"{place}.filter", f"is that of {first} again")
        if entry.get("filter", "").startswith("participant_group_"):
            yield (f"{place}.filter", "is made from `invited_from` and `blocked_from`")
    if study.get("slug") in study.get("recruiting", {}).get("blocked_from", ()):
        yield ("recruiting.blocked_from", "names this study itself")


ATTENTION_KINDS: dict[str, Callable[[str, dict[str, Any]], Misfits]] = {
    "instruction": _instruction_is_clear,
    "nonsense": _nonsense_has_no_neutral_option,
}
RULES: list[Callable[[Study], Misfits]] = [
    slugs_differ,
    names_differ,
    codes_differ,
    pay_is_enough,
    questions_fit_their_purpose,
    cells_name_quota_answers,
    cells_do_not_overlap,
    checks_have_their_answer,
    attention_checks_are_fair,
    instructions_are_clear_in_each_language,
    perception_fits,
    exclusions_are_fair,
    choices_have_their_answer,
    annotators_have_places,
    wordings_fit_the_kind,
    exclusions_are_of_one_kind,
    exclusions_fit_the_study,
    models_differ,
    variants_ask_the_same,
    askings_name_prompts,
    askings_are_apart,
    questions_have_their_slugs,
    references_differ,
    filters_choose,
    *OF_HYPOTHESES,
]
