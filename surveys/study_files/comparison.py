"""Rules of a study file about the comparison: what is left out of it, models, variants of prompts, published scores."""

from collections.abc import Callable, Iterator
from typing import Any

from surveys.study_files.parts import EXCLUSION_KINDS
from surveys.study_files.schema import CONTEXT, Misfit, as_list, entries
from surveys.study_files.values import listed, nearest

Study = dict[str, Any]
Misfits = Iterator[Misfit]


def exclusions_are_of_one_kind(study: Study) -> Misfits:
    for place, exclusion in entries(study, "exclusions"):
        first, *more = [kind for kind in EXCLUSION_KINDS if exclusion.get(kind)] or [""]
        for kind in more:
            yield (f"{place}.{kind}", f"stands beside `{first}`; write an [[exclusions]] for each of them")


def exclusions_fit_the_study(study: Study) -> Misfits:
    minutes, checks = study.get("minutes", 0), study.get("checks", {}).get("paste")
    for place, exclusion in entries(study, "exclusions"):
        if minutes and exclusion.get("minutes_under", 0) >= minutes:
            yield (
                f"{place}.minutes_under",
                f"is {exclusion['minutes_under']:g}, but {minutes} minutes are what people are told it takes",
            )
        for check in exclusion.get("flags", []):
            if checks is not None and check not in checks:
                yield (f"{place}.flags", f"names `{check}`, which is none of the paste checks of this study")
        for key, wanted in exclusion.get("context", {}).items():
            yield from _context_can_be(study, f"{place}.context", key, as_list(wanted))


def _context_can_be(study: Study, place: str, key: str, wanted: list[str]) -> Misfits:
    if key not in CONTEXT:
        yield (place, f"names `{key}`{nearest(key, tuple(CONTEXT))}; it can name {listed(tuple(CONTEXT))}")
        return
    bots = tuple(bot["slug"] for bot in study["chatbots"] if "slug" in bot) if key == "product" else ()
    known = (*bots, *CONTEXT[key])
    for answer in wanted:
        if answer not in known:
            yield (place, f"names {answer!r} for `{key}`, which can be {listed(known)}")


def models_differ(study: Study) -> Misfits:
    """A model's answers are compared with those of one chatbot."""
    seen: dict[str, str] = {}
    for place, bot in entries(study, "chatbots"):
        for pattern in bot.get("models", []):
            if (first := seen.setdefault(pattern.casefold(), place)) != place:
                yield (f"{place}.models", f"names {pattern!r}, which {first} names already")


def variants_ask_the_same(study: Study) -> Misfits:
    prompts = {prompt.get("slug"): prompt for prompt in study["prompts"]}
    for place, prompt in entries(study, "prompts"):
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
    ours, theirs = len(prompt.get("choices", [])), len(original.get("choices", []))
    if ours and theirs and ours != theirs:
        yield (f"{place}.choices", f"has {ours} entries, but `{slug}`, of which it is a variant, has {theirs}")
    for key in ("answer", "items"):
        value, wanted = prompt.get(key), original.get(key)
        if value and wanted and value != wanted:
            yield (f"{place}.{key}", f"is {value}, but it is {wanted} for `{slug}`, of which this is a variant")


def references_differ(study: Study) -> Misfits:
    seen: dict[tuple[str, str], str] = {}
    for place, reference in entries(study, "references"):
        key = (reference.get("benchmark", ""), reference.get("name", "").casefold())
        if all(key) and (first := seen.setdefault(key, place)) != place:
            yield (f"{place}.name", f"is {reference['name']!r} again; {first} has it for `{key[0]}` already")


COMPARISON_RULES: list[Callable[[Study], Misfits]] = [
    exclusions_are_of_one_kind,
    exclusions_fit_the_study,
    models_differ,
    variants_ask_the_same,
    references_differ,
]
