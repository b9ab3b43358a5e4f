"""Hypotheses: a study's expectations before anybody has answered, and the faults of files that state them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import StrictBool, StrictInt

from surveys.studies.files.kinds import KINDS
from surveys.studies.files.lines import Misfits, Study, numbered
from surveys.studies.files.values import Line, Slug, entries, listed, matching, nearest, number, one_of, within

TESTS_VERSION = 7  # raise it if the tests or verdicts of hypotheses give other results: launches and reports name it

# The measures that a hypothesis can be about, with the kind of prompt that has them; "" is any.
MEASURES = {
    "item_share": "recommendation",
    "entropy_bits": "recommendation",
    "jsd_excess": "recommendation",
    "letter_share": "choice",
    "correct_share": "choice",
    "person_share": "",
    "unlikeness": "",
}
# The measures of labels, in a study of annotators, with the kind of annotation that has them; "" is any.
ALPHA, KAPPA, PREFERENCE = "alpha", "kappa", "preference_share"
OF_LABELS = {ALPHA: "", KAPPA: "", PREFERENCE: "preference"}
PEOPLE = "people"  # side `a` of hypotheses that are not about a judge
BY_CHANCE = {PREFERENCE: 0.5}  # what labels give by chance; 0 for the others
OF_ONE_PROMPT = {"item_share": "item", "letter_share": "letter"}  # and the key of the thing counted
IN_BITS = ("entropy_bits", "jsd_excess")
ALONE = "person_share"  # has no second side
OF_CROWD = "unlikeness"  # compares people of one chatbot
MORE, LESS, DIFFERENT, EQUAL = EXPECTED = ("more", "less", "different", "equal")
UNSIGNED = {"jsd_excess": (MORE, EQUAL), "person_share": (MORE, EQUAL)}
# Pairs that cannot be true of one difference.
CONTRADICTIONS = ({MORE, LESS}, {MORE, EQUAL}, {LESS, EQUAL}, {DIFFERENT, EQUAL})
TURNED = {MORE: LESS, LESS: MORE}
FIELD = "field"
NARROWED_BY = ("plan", "memory", "personalisation", "device")
MAIN = "main"
# Choices that a multiverse can vary; analysis/report/multiverse/choices.py says how.
VARIED = (
    *("exclusions", "flagged", "doubtful", "spellings", "reader"),
    *("language", "temperature", "pilot", "people"),
)

Side = Annotated[str, matching(r"[^\s]+.{0,198}", "a side as Compare has it, such as field/chatgpt")]
Letter = Annotated[str, matching(r"[A-H]", "the letter of a choice")]


@dataclass(frozen=True)
class Hypothesis:
    """The expected difference `a` minus `b` or, without `b`, the labels' measure minus a reference.

    `smallest` is the smallest difference that matters; for `equal`, the bounds.
    """

    slug: Slug
    text: Line
    measure: Annotated[str, one_of(*MEASURES, *OF_LABELS)]
    a: Side
    expected: Annotated[str, one_of(*EXPECTED)]
    b: Side = ""
    smallest: Annotated[float, number(0, 20, above=True)] = 0.0
    prompts: Annotated[tuple[Slug, ...], entries(1)] = ()
    pooled: StrictBool = True
    item: Line = ""
    letter: Letter = ""
    family: Slug = MAIN
    alpha: Annotated[float, number(0, 1, above=True)] = 0.0  # 0: that of the plan
    reference: Annotated[float, number(-1, 1)] = 0.0  # 0: what chance gives
    about: Slug = ""  # the question whose labels are meant; empty: the first

    @property
    def held_against(self) -> float | None:
        """The reference for labels of one side; None for two sides, and for pasted answers."""
        is_alone = self.measure in OF_LABELS and not self.b
        return self.reference or BY_CHANCE.get(self.measure, 0.0) if is_alone else None


@dataclass(frozen=True)
class PlanKeys:
    """How hypotheses are tested."""

    alpha: Annotated[float, number(0, 1, above=True)] = 0.05
    looks: Annotated[tuple[Annotated[StrictInt, within(1, 1_000_000)], ...], entries(0, 5)] = ()  # people at each
    multiverse: Annotated[tuple[Annotated[str, one_of(*VARIED)], ...], entries(1)] = ()  # empty: all there is to vary


def prompts_asked(hypothesis: Hypothesis, prompts: Sequence[Any], repeated: Sequence[str]) -> list[str]:
    """The slugs of its prompts: those it names, or else all that can give its measure, without variants."""
    kind = MEASURES[hypothesis.measure]
    able = [each.slug for each in prompts if (not kind or each.kind == kind) and not each.variant_of]
    return [slug for slug in (hypothesis.prompts or able) if hypothesis.measure != ALONE or slug in repeated]


# --- misfits --------------------------------------------------------------------------------------------------


def of_answers(study: Study) -> Iterator[tuple[str, dict[str, Any]]]:
    """The hypotheses about people's and models' answers; none in a study of annotators."""
    found = () if "annotation" in study else numbered(study, "hypotheses")
    return ((place, entry) for place, entry in found if entry.get("measure") in MEASURES)


def of_labels(study: Study) -> Iterator[tuple[str, dict[str, Any]]]:
    """The hypotheses about annotators' labels; none in a study without annotators."""
    found = numbered(study, "hypotheses") if "annotation" in study else ()
    return ((place, entry) for place, entry in found if entry.get("measure") in OF_LABELS)


def measures_are_of_the_study(study: Study) -> Misfits:
    annotates = "annotation" in study
    known = tuple(OF_LABELS if annotates else MEASURES)
    for place, entry in numbered(study, "hypotheses"):
        measure = entry.get("measure")
        if measure and measure not in known:
            whose = "which is about pasted answers; of labels there are" if annotates else LABELS_ONLY
            yield (f"{place}.measure", f"is `{measure}`, {whose} {listed(known)}")
        for key in ("prompts", "item", "letter") if annotates else ("about", "reference"):
            if entry.get(key):
                yield (f"{place}.{key}", f"is not for {'a study of annotators' if annotates else 'pasted answers'}")
    for key in ("looks", "multiverse") if annotates else ():
        if study.get("plan", {}).get(key):
            yield (f"plan.{key}", "is not for a study of annotators, whose hypotheses are decided at the end")


LABELS_ONLY = "which only a study of annotators gives; of pasted answers there are"


def labels_can_be_measured(study: Study) -> Misfits:
    kind = KINDS.get(study.get("annotation", {}).get("kind", ""))
    for place, entry in of_labels(study):
        measure, about = entry["measure"], entry.get("about")
        asked = tuple(question.name for question in kind.questions if question.is_label) if kind else ()
        if kind and OF_LABELS[measure] not in ("", kind.name):
            wanted = OF_LABELS[measure]
            yield (f"{place}.measure", f"is `{measure}`, which `{kind.name}` cannot give: only `{wanted}` can")
        if about and kind and about not in asked:
            yield (f"{place}.about", f"is {about!r}{nearest(about, asked)}; annotators are asked {listed(asked)}")
        a, b, reference = entry.get("a"), entry.get("b"), entry.get("reference")
        if a and (a == PEOPLE) is (measure == KAPPA):
            of_judge = f"is `{PEOPLE}`; name the judge that their majority is compared with"
            yield (f"{place}.a", of_judge if measure == KAPPA else f"is {a!r}, but `{measure}` is of `{PEOPLE}`")
        if b and measure != KAPPA:
            yield (f"{place}.b", f"is not for `{measure}`, which is held against `reference`")
        elif a and a == b:
            yield (f"{place}.b", "is the same judge as `a`")
        elif b and reference:
            yield (f"{place}.reference", "stands beside `b`: `a` is held against one of them")
        if measure == PREFERENCE and reference and reference < 0:
            yield (f"{place}.reference", f"is {reference:g}, but a share goes from 0 to 1")


def hypotheses_can_be_measured(study: Study) -> Misfits:
    prompts = {prompt["slug"]: prompt for prompt in study["prompts"] if "slug" in prompt}
    repeated = study.get("repeats", {}).get("prompts", ())
    for place, entry in of_answers(study):
        measure = entry["measure"]
        if "prompts" not in entry:
            continue
        kind = MEASURES[measure]
        yield from _prompts_fit(place, entry, prompts)
        able = [slug for slug, prompt in prompts.items() if not kind or prompt.get("kind") == kind]
        if measure == ALONE and not repeated:
            yield (f"{place}.measure", f"is `{ALONE}`, which needs [repeats]: nobody is asked a prompt twice")
        elif not able:
            yield (f"{place}.measure", f"is `{measure}`, but the study has no prompt of the kind `{kind}`")
        if measure == ALONE and repeated:
            for slug in entry["prompts"]:
                if slug in prompts and slug not in repeated:
                    yield (f"{place}.prompts", f"names `{slug}`, which [repeats] does not ask twice")
        for other, key in OF_ONE_PROMPT.items():
            if measure == other and entry.get(key) == "":
                yield (f"{place}.{key}", f"is missing: `{measure}` is the share of answers with one {key}")
            elif measure != other and entry.get(key):
                yield (f"{place}.{key}", f"is for `{other}` only")
        if measure in OF_ONE_PROMPT and len(entry["prompts"] or able) > 1:
            yield (f"{place}.prompts", f"must name one prompt: `{measure}` is about one {OF_ONE_PROMPT[measure]}")


def _prompts_fit(place: str, entry: dict[str, Any], prompts: dict[str, Any]) -> Misfits:
    kind = MEASURES[entry["measure"]]
    for slug in entry["prompts"]:
        found = prompts.get(slug)
        if found is None:
            yield (
                f"{place}.prompts",
                f"names the prompt `{slug}`, which does not exist{nearest(slug, tuple(prompts))}",
            )
        elif kind and found.get("kind", kind) != kind:
            yield (
                f"{place}.measure",
                f"is `{entry['measure']}`, which `{slug}` cannot give: it is a `{found['kind']}`, not a `{kind}`",
            )
        elif entry.get("letter") and found.get("choices") and ord(entry["letter"]) - ord("A") >= len(found["choices"]):
            yield (f"{place}.letter", f"is {entry['letter']}, but `{slug}` has {len(found['choices'])} choices")


def hypotheses_have_two_sides(study: Study) -> Misfits:
    for place, entry in of_answers(study):
        if not {"a", "b"} <= entry.keys():
            continue
        measure, a, b = entry["measure"], entry["a"], entry["b"]
        if measure == ALONE and b:
            yield (f"{place}.b", f"is not for `{ALONE}`, which is about one side alone")
        elif measure != ALONE and not b:
            yield (f"{place}.b", "is missing: a hypothesis is about the difference between `a` and `b`")
        elif a == b:
            yield (f"{place}.b", "is the same side as `a`")
        elif _holds(a, b) or _holds(b, a):
            yield (f"{place}.b", "shares people with `a`: narrow both sides, such as by memory=on and memory=off")
        elif measure == OF_CROWD and _crowd_of(a) != _crowd_of(b):
            yield (f"{place}.b", f"is not of the people of `a`: {OF_CROWD_TAKES}")
        elif measure == OF_CROWD and _crowd_of(a) is None:
            yield (f"{place}.a", f"is a model: {OF_CROWD_TAKES}")
        for key, side in (("a", a), ("b", b)):
            if side and (fault := _side_fault(study, side)):
                yield (f"{place}.{key}", fault)


def _holds(side: str, other: str) -> bool:
    """Whether this side, narrowed by less, includes everybody on the other side."""
    (source, *parts), (of_other, *more) = side.split("/"), other.split("/")
    return source == of_other == FIELD and set(parts) < set(more)


OF_CROWD_TAKES = (
    f"`{OF_CROWD}` compares people of one chatbot by how far they are from everybody else, such as "
    "field/gemini/memory=on with field/gemini/memory=off"
)


def _crowd_of(side: str) -> str | None:
    """The chatbot whose people these are, empty for everybody; None for a model."""
    source, *rest = side.split("/")
    return None if source != FIELD else rest[0] if rest and "=" not in rest[0] else ""


def _side_fault(study: Study, side: str) -> str:
    """The fault of a side, as far as a file can show it: whether a run will be made is not known; empty if none."""
    source, *rest = side.split("/")
    if ":" in source:
        return f"is {side!r}: a plan is about this study, so it names no other study"
    if source == "run":
        return f"is {side!r}: a plan names a kind of run, such as offline/gpt-4o-mini, and no run by number"
    if source != FIELD:
        return "" if rest and rest[0] else f"is {side!r}; write field, field/CHATBOT or SOURCE/MODEL"
    bots = tuple(bot["slug"] for bot in study["chatbots"] if "slug" in bot)
    if rest and "=" not in rest[0] and rest[0] not in bots:
        return f"names the chatbot {rest[0]!r}{nearest(rest[0], bots)}; the study has {listed(bots)}"
    cells = tuple(cell["slug"] for cell in study["cells"] if "slug" in cell)
    for part in rest[1:] if rest and "=" not in rest[0] else rest:
        name, _, value = part.partition("=")
        if name == "cell" and unquote(value) not in cells:
            return f"names the cell {unquote(value)!r}{nearest(unquote(value), cells)}; the study has {listed(cells)}"
        if name not in ("cell", *NARROWED_BY):
            return f"is narrowed by `{name}`; a plan can narrow a field by {listed(('cell', *NARROWED_BY))}"
    return ""


def hypotheses_can_be_decided(study: Study) -> Misfits:
    for place, entry in numbered(study, "hypotheses"):
        measure, smallest = entry.get("measure", ""), entry.get("smallest", 0)
        if smallest > 1 and measure and measure not in IN_BITS:
            words = f"is {smallest:g}, but `{measure}` goes from 0 to 1; for {smallest:g} points write"
            yield (f"{place}.smallest", f"{words} {smallest / 100:g}")
        expected, allowed = entry.get("expected"), UNSIGNED.get(entry.get("measure", ""), EXPECTED)
        if expected and expected not in allowed:
            yield (f"{place}.expected", f"is `{expected}`, but `{entry['measure']}` can be {listed(allowed)}")
        if expected == EQUAL and entry.get("smallest") == 0:
            yield (
                f"{place}.smallest",
                "is missing: `equal` needs the bounds within which a difference does not matter",
            )


def hypotheses_do_not_contradict(study: Study) -> Misfits:
    whole = [
        (place, entry)
        for place, entry in numbered(study, "hypotheses")
        if {"a", "b", "expected", "measure"} <= entry.keys()
    ]
    for (_, first), (place, second) in combinations(whole, 2):
        if _is_about(first) != _is_about(second):
            continue
        turned = first["a"] != second["a"]
        expected = TURNED.get(second["expected"], second["expected"]) if turned else second["expected"]
        if {first["expected"], expected} in CONTRADICTIONS:
            yield (
                f"{place}.expected",
                f"contradicts `{first.get('slug', '?')}`: both cannot be supported; leave one of them out",
            )


def _is_about(entry: dict[str, Any]) -> tuple[Any, ...]:
    counted = (entry.get(key) for key in ("measure", "item", "letter", "about", "reference"))
    return (*counted, tuple(sorted(entry.get("prompts", ()))), frozenset((entry["a"], entry["b"])))


def families_have_one_alpha(study: Study) -> Misfits:
    of_plan = study.get("plan", {}).get("alpha", 0.05)
    seen: dict[str, tuple[str, float]] = {}
    for place, entry in numbered(study, "hypotheses"):
        if not {"family", "alpha"} <= entry.keys():
            continue
        alpha = entry["alpha"] or of_plan
        first, known = seen.setdefault(entry["family"], (place, alpha))
        if known != alpha:
            yield (
                f"{place}.alpha",
                f"is {alpha:g}, but the family `{entry['family']}` has {known:g} ({first}); one family has one alpha: "
                "write the same, or name another `family`",
            )


def looks_are_before_the_end(study: Study) -> Misfits:
    looks = study.get("plan", {}).get("looks", ())
    places = [cell.get("places", 0) for cell in study["cells"]]
    people = sum(places) * max(1, len(study["chatbots"]))
    if looks and not study["hypotheses"]:
        yield ("plan.looks", "are of no use without [[hypotheses]]")
    for look in looks:
        if all(places) and look >= people:
            beyond = f"names {look:,} people, but there are {people:,} places"
            yield ("plan.looks", f"{beyond}; the last look is at all of them anyway: leave it out, or name fewer")
            return
    if list(looks) != sorted(looks):
        yield ("plan.looks", "must be in rising order")


def multiverse_can_vary(study: Study) -> Misfits:
    kinds = {MEASURES[entry["measure"]] for _, entry in of_answers(study)}
    sides = [entry[key] for _, entry in numbered(study, "hypotheses") for key in ("a", "b") if entry.get(key)]
    gives = {
        "exclusions": (bool(study["exclusions"]), "the study has no [[exclusions]]"),
        "language": (bool(study.get("languages")), "the study is asked in one language"),
        "spellings": (bool(kinds - {"choice"}), "no hypothesis is about items"),
        "temperature": (any(side.split("/")[0] != FIELD for side in sides), "no hypothesis is about a model"),
    }
    varied = study.get("plan", {}).get("multiverse", ())
    if varied and not study["hypotheses"]:
        yield ("plan.multiverse", "is of no use without [[hypotheses]]")
        return
    for name in varied:
        is_there, why = gives.get(name, (True, ""))
        if not is_there:
            yield ("plan.multiverse", f"names `{name}`, which cannot be varied here: {why}")


RULES = (
    measures_are_of_the_study,
    labels_can_be_measured,
    hypotheses_can_be_measured,
    hypotheses_have_two_sides,
    hypotheses_can_be_decided,
    hypotheses_do_not_contradict,
    families_have_one_alpha,
    looks_are_before_the_end,
    multiverse_can_vary,
)
