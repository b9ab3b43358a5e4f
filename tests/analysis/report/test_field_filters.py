"""Whose answers count: every filter against people who each differ in one thing."""

import unicodedata
from typing import Any

import pytest
from django.http import QueryDict

from analysis.answers.readings import read_new
from analysis.models import Answer
from analysis.report.api import CHOSEN
from analysis.report.filters import FILTERS, FilterError, Filters, filter_options
from analysis.report.outputs import basis
from analysis.report.pages.shown import Asked, chips_of, form_of, words_of
from analysis.report.pairs.sides import checked
from analysis.report.parts import sensitivity
from analysis.report.parts.sensitivity import SETS
from analysis.report.reports import report
from surveys.models import Flag, Participant, Study
from surveys.participation import recruitment
from surveys.studies import lifecycle
from surveys.studies.files.schema import Exclusion
from tests.analysis.report.report_samples import listed, make_model_run, reply, tell
from tests.factories import make_definition, make_participant, make_response, make_study
from tests.lasting import copied_world
from tests.surveys.studies.files.sample_study import read_german

pytestmark = pytest.mark.django_db


def teas_of(study: Study, **filters: Any) -> set[str]:
    """The teas that the filtered field names, except the one that everybody names."""
    rows = report(study, Filters(**filters), draws=10, parts=["heterogeneity"])["heterogeneity"]
    return {item["name"] for row in rows if row["source"] == "field" for item in row["top_items"]} - {"Chai"}


@copied_world
def study() -> Study:
    """People who each name a tea of their own."""
    study = make_study(places=20)
    own = {"memory": "on", "plan": "free", "model_shown": "GPT-4o", "personalisation": "off", "device": "computer"}
    tell(study, ["Assam", "Chai"], chatbot="chatgpt", cell="milky", **own)
    own = {"memory": "off", "plan": "paid", "model_shown": "2.0 Flash", "personalisation": "on", "device": "phone"}
    tell(study, ["Sencha", "Chai"], chatbot="gemini", cell="plain", **own)
    simulated = make_participant(study, origin=Participant.Origin.SIMULATED)
    make_response(simulated, "teas", text="1. Oolong\n2. Chai", keep=True)
    make_response(simulated, "water", text="C", keep=True)
    recruitment.complete(simulated)
    unfinished = make_participant(study)
    make_response(unfinished, "teas", text="1. Rooibos\n2. Chai", keep=True)
    read_new(study)
    return study


LEFT: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"Assam", "Sencha", "Oolong"}),
    ({"chatbot": ("gemini",)}, {"Sencha"}),
    ({"cell": ("plain",)}, {"Sencha"}),
    ({"answer": (("milk", "No milk"),)}, {"Sencha"}),
    ({"answer": (("milk", "No milk"), ("milk", "Milk"))}, {"Assam", "Sencha", "Oolong"}),
    ({"answer": (("milk", "No milk"), ("adult", "No"))}, set()),
    ({"memory": ("off",)}, {"Sencha"}),
    ({"personalisation": ("on",)}, {"Sencha"}),
    ({"device": ("phone",)}, {"Sencha"}),
    ({"plan": ("paid", "free")}, {"Assam", "Sencha", "Oolong"}),
    ({"model_shown": ("2.0 Flash",)}, {"Sencha"}),
    ({"simulated": "without"}, {"Assam", "Sencha"}),
    ({"simulated": "only"}, {"Oolong"}),
    ({"people": "all"}, {"Assam", "Sencha", "Oolong", "Rooibos"}),
    ({"version": (1,)}, {"Assam", "Sencha", "Oolong"}),
    ({"prompt": ("water",)}, set()),
]
LEFT_SOURCES: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"source": ("sp-rag",)}, [("sp-rag", "gpt-4o-mini")]),
    ({"model": ("gemini-2.0-flash",), "source": ("offline",)}, [("offline", "gemini-2.0-flash")]),
    ({"temperature": (0.5,), "source": ("offline",)}, [("offline", "gpt-4o-mini")]),
    ({"history_size": (20,), "source": ("sp-history", "sp-rag")}, [("sp-history", "gpt-4o-mini")]),
    ({"memory_size": (5,), "source": ("sp-memory",)}, [("sp-memory", "gpt-4o-mini")]),
    ({"memory_size": (9,), "source": ("sp-history", "sp-memory")}, [("sp-history", "gpt-4o-mini")]),
    ({"chatbot": ("gemini",)}, [("field", "gemini"), ("offline", "gemini-2.0-flash")]),
]
# These have tests of their own below.
ALONE = {"pilot", "excluded", "flagged", "language", "compare"}


def test_every_filter_is_tried() -> None:
    tried = {name for filters, _ in (*LEFT, *LEFT_SOURCES) for name in filters}
    assert set(FILTERS) - tried - ALONE == set(), "LEFT or LEFT_SOURCES needs a line about it, or ALONE its name"
    assert tried | ALONE <= set(FILTERS)


@pytest.mark.parametrize(("filters", "teas"), LEFT)
def test_filter_leaves(study: Study, filters: dict[str, Any], teas: set[str]) -> None:
    assert teas_of(study, **filters) == teas


def test_pilots_are_apart_and_previews_never_count() -> None:
    study = make_study("pilot", places=20)
    tell(study, ["Assam", "Chai"])
    lifecycle.launch(study, "tests")
    study.refresh_from_db()
    tell(study, ["Sencha", "Chai"])
    preview = make_participant(study, origin=Participant.Origin.PREVIEW)
    make_response(preview, "teas", text="1. Oolong\n2. Chai", keep=True)
    read_new(study)
    found = {pilot: teas_of(study, pilot=pilot, people="all") for pilot in ("without", "with", "only")}
    assert found == {"without": {"Sencha"}, "with": {"Assam", "Sencha"}, "only": {"Assam"}}


def test_a_later_version_is_a_filter_and_counted_with_the_earlier_one() -> None:
    study = make_study(places=20)
    tell(study, ["Assam", "Chai"])
    lifecycle.load_definition(make_definition(places=20, title="Teas again"), "tests", "a better title")
    study.refresh_from_db()
    tell(study, ["Sencha", "Chai"])
    read_new(study)
    assert [teas_of(study, version=version) for version in ((), (1,), (2,))] == [
        {"Assam", "Sencha"}, {"Assam"}, {"Sencha"}
    ]  # fmt: skip


def test_languages_are_told_apart_and_never_pooled_in_silence() -> None:
    study = make_study(places=20, languages=read_german())
    tell(study, ["Assam", "Chai"])
    german = make_participant(study, language="de")
    make_response(german, "teas", text="1. Sencha\n2. Chai", keep=True)
    make_response(german, "water", text="Heiß", keep=True)
    recruitment.complete(german)
    read_new(study)
    assert [teas_of(study, language=language) for language in ((), ("en",), ("de",))] == [
        {"Assam", "Sencha"}, {"Assam"}, {"Sencha"}
    ]  # fmt: skip
    views = {language: Filters(language=language) for language in ((), ("en",), ("de",))}
    said = {language: report(study, filters, draws=10, parts=[]) for language, filters in views.items()}
    assert said[()]["languages"]["answers"] == {"de": 2, "en": 2}
    assert said[()]["languages"]["sentence"] == (
        "The field's answers are 2 to German prompts and 2 to English prompts. They are counted together: choose a "
        "language to see one alone. Models are asked in English, so part of a difference may be the language's."
    )
    assert said[()]["languages"]["sentence"] in basis(said[()])
    assert said[("de",)]["languages"]["sentence"].startswith("The field's answers are 2 to German prompts. Models are")
    assert said[("en",)]["languages"]["sentence"] == ""
    # Read by the choices shown, and so the same letter.
    assert {row.letter for row in Answer.objects.filter(response__prompt__slug="water")} == {"C"}


def test_only_the_newest_accepted_revision_counts() -> None:
    study = make_study(places=20)
    person = make_participant(study)
    make_response(person, "teas", text="1. Assam\n2. Chai", keep=True)
    make_response(person, "water", text="C")
    read_new(study)
    make_response(person, "teas", text="1. Sencha\n2. Chai", keep=True)
    recruitment.complete(person)
    read_new(study)
    assert teas_of(study) == {"Sencha"}


def test_flagged_answers_can_be_left_out() -> None:
    study = make_study(places=20)
    person = tell(study, ["Assam", "Chai"])
    tell(study, ["Sencha", "Chai"])
    Flag.objects.exclude(participant=person).delete()
    assert Flag.objects.filter(participant=person, outcome="kept").exists()  # fewer teas than asked for
    read_new(study)
    assert (teas_of(study), teas_of(study, flagged="without")) == ({"Assam", "Sencha"}, {"Sencha"})


def flag(person: Participant, prompt: str, check: str) -> None:
    asked = person.version.prompts.get(slug=prompt)
    Flag.objects.create(participant=person, prompt=asked, check_name=check, check_version=1, outcome="kept")


def test_flagged_answers_are_left_out_check_by_check() -> None:
    study = make_study(places=20)
    short, copied, _ = [tell(study, [tea, "Chai"], "C") for tea in ("Assam", "Sencha", "Oolong")]
    Flag.objects.exclude(participant=short).delete()  # fewer teas than asked for
    flag(copied, "teas", "same-as-other")
    flag(copied, "water", "same-as-other")  # of choices, before the check left them alone
    read_new(study)
    assert teas_of(study, flagged="same-as-other") == {"Assam", "Oolong"}
    assert teas_of(study, flagged="too-few-items") == {"Sencha", "Oolong"}
    assert teas_of(study, flagged="without") == {"Oolong"}
    whole = report(study, draws=10, parts=["sensitivity"])
    sizes = {(row["prompt"], row["set"]): row["n"] for row in whole["sensitivity"]}
    assert {key[1] for key in sizes} == {*SETS, "without same-as-other", "without too-few-items"}
    assert (sizes["teas", "without same-as-other"], sizes["teas", "without flagged"]) == (2, 1)
    assert (sizes["water", "without same-as-other"], sizes["water", "without flagged"]) == (3, 3)
    assert sensitivity.say(whole) == "Fewer than 20 people have answered a prompt: too few to compare."


def test_the_largest_change_is_told_with_chatbot_n_and_interval() -> None:
    def row(name: str, value: float, n: int) -> dict[str, Any]:
        return {
            **{"set": name, "prompt": "teas", "kind": "recommendation", "source": "field", "model": "chatgpt", "n": n},
            **{"entropy_bits": value, "ci": {"entropy_bits": [value - 0.2, value + 0.2]}},
        }

    rows = [row("as analysed", 3.5, 400), row("without flagged", 3.4, 380), row("without residue", 3.1, 350)]
    assert plain(sensitivity.say({"sensitivity": rows})) == (
        "Of what could be left out or in, the largest step is that of answers without “words of the chatbot’s page”: "
        "the entropy of chatgpt’s answers to “Teas” goes from 3.50 bits (95 % interval 3.30 to 3.70, n = 400) to "
        "3.10 bits (95 % interval 2.90 to 3.30, n = 350)."
    )


def test_a_larger_step_of_fewer_answers_is_not_denied() -> None:
    def row(name: str, value: float, n: int) -> dict[str, Any]:
        who = {"prompt": "teas", "kind": "recommendation", "source": "field", "model": "chatgpt"}
        return {**who, "set": name, "n": n, "entropy_bits": value, "ci": {}}

    rows = [row("as analysed", 3.5, 22), row("with excluded", 3.4, 26), row("without flagged", 2.0, 17)]
    said = plain(sensitivity.say({"sensitivity": rows}))
    assert said.startswith("Of what leaves 20 answers or more, the largest step is that of answers with excluded: ")
    rows[1]["entropy_bits"] = 3.5
    assert sensitivity.say({"sensitivity": rows}) == (
        "Flagged or excluded answers, in or out: no number of 20 answers or more changes."
    )


def test_too_few_to_compare_is_not_nothing_to_leave_out() -> None:
    """Of 25 people, ten are excluded: what is left is too little, but there is something to leave out."""

    def row(name: str, n: int, bits: float | None = 3.0) -> dict[str, Any]:
        who = {"prompt": "teas", "kind": "recommendation", "source": "field", "model": "chatgpt"}
        return {**who, "set": name, "n": n, "entropy_bits": bits}

    few = [row("as analysed", 15), row("with excluded", 25), row("everybody", 25)]
    assert sensitivity.say({"sensitivity": few}) == "Fewer than 20 people have answered a prompt: too few to compare."
    unread = [row("as analysed", 30, None), row("with excluded", 40, None)]
    assert sensitivity.say({"sensitivity": unread}) == "No choice of answers leaves enough of them to compare."
    lost = [row("as analysed", 30), row("with excluded", 30), row("without flagged", 10)]
    assert sensitivity.say({"sensitivity": lost}) == "No choice of answers leaves enough of them to compare."
    same = [row(name, 30) for name in SETS]
    assert sensitivity.say({"sensitivity": same}) == "No answer is flagged or excluded: there is nothing to leave out."


def plain(words: str) -> str:
    return unicodedata.normalize("NFKC", words)


def test_excluded_people_are_left_out_and_counted_by_rule() -> None:
    study = make_study(places=20)
    tell(study, ["Assam", "Chai"])
    careless = tell(study, ["Sencha", "Chai"])
    careless.checks = {"attention": {"leaf": {"passed": False}, "sea": {"passed": False}}}
    careless.save(update_fields=["checks"])
    read_new(study)
    assert (teas_of(study), teas_of(study, excluded="with")) == ({"Assam"}, {"Assam", "Sencha"})
    whole = report(study, draws=10, parts=["sensitivity"])
    (rule,) = whole["exclusions"]
    assert (rule["slug"], rule["people"], rule["answers"], rule["declared"]) == ("inattentive", 1, 2, "before launch")
    assert whole["answers"]["field"] == 2
    sizes = {row["set"]: row["n"] for row in whole["sensitivity"] if row["prompt"] == "teas"}
    assert (sizes["as analysed"], sizes["with excluded"]) == (1, 2)


def test_simulated_people_are_counted_among_those_whose_answers_count() -> None:
    study = make_study(places=20)
    people = [tell(study, ["Assam", "Chai"]), tell(study, ["Sencha", "Chai"])]
    people[1].checks = {"attention": {"leaf": {"passed": False}, "sea": {"passed": False}}}
    people[1].save(update_fields=["checks"])
    make_participant(study)  # who has answered nothing yet
    study.participants.update(origin="simulated")
    read_new(study)
    for filters, n in ((Filters(), 1), (Filters(excluded="with"), 2), (Filters(excluded="with", people="all"), 2)):
        whole = report(study, filters, draws=10, parts=["about"])
        counts = whole["answers"]["people"], whole["simulated"]["people"], whole["simulated"]["people_in_all"]
        assert counts == (n, n, n)


def test_single_answers_are_left_out_by_a_rule_about_answers() -> None:
    study = make_study(places=20, exclusions=(Exclusion("few", "Too few teas.", flags=("too-few-items",)),))
    tell(study, ["Assam", "Chai"])  # fewer teas than asked for: flagged, and kept
    person = make_participant(study)
    make_response(person, "teas", text=listed(["Sencha", "Chai", "Oolong", "Matcha", "Rooibos"]), keep=True)
    make_response(person, "water", text="C", keep=True)
    recruitment.complete(person)
    read_new(study)
    assert teas_of(study) == {"Sencha", "Oolong", "Matcha", "Rooibos"}
    assert "Assam" in teas_of(study, excluded="with")
    whole = report(study, draws=10, parts=["choices"])
    # Only the answer is left out: both people's letters count.
    assert [row["n"] for row in whole["choices"]] == [2]
    (rule,) = whole["exclusions"]
    assert (rule["slug"], rule["scope"], rule["answers"]) == ("few", "response", 1)


@pytest.fixture
def compared(study: Study) -> Study:
    """The study with added runs that each differ in one thing."""
    runs = [
        make_model_run(study, temperature=0.5),
        make_model_run(study, model="gemini-2.0-flash"),
        make_model_run(study, "sp-rag", history_size=10),
        make_model_run(study, "sp-history", history_size=20),
        make_model_run(study, "sp-memory", memory_size=5),
    ]
    for run in runs:
        reply(run, "teas", listed(["Assam", "Chai"]))
    read_new(study)
    return study


@pytest.mark.parametrize(("filters", "sources"), LEFT_SOURCES)
def test_filter_leaves_sources(compared: Study, filters: dict[str, Any], sources: list[tuple[str, str]]) -> None:
    rows = report(compared, Filters(**filters), draws=10, parts=["heterogeneity"])["heterogeneity"]
    assert [(row["source"], row["model"]) for row in rows] == sources


def test_what_there_is_to_filter_by(compared: Study) -> None:
    offered = filter_options(compared)
    assert {
        name: list(offered[name]) for name in ("chatbot", "cell", "prompt", "version", "history_size", "memory_size")
    } == {
        "chatbot": ["chatgpt", "gemini"],
        "cell": ["milky", "plain"],
        "prompt": ["teas", "water"],
        "version": [1],
        "history_size": [10, 20],
        "memory_size": [5],
    }
    assert list(offered["source"]) == ["field", "offline", "sp-history", "sp-memory", "sp-rag"]
    assert list(offered["model"]) == ["gemini-2.0-flash", "gpt-4o-mini"]
    assert ("milk", "Oat milk") in offered["answer"]
    assert "2.0 Flash" in offered["model_shown"]


def test_every_filter_is_in_address_sentence_form_chip_and_api(compared: Study) -> None:
    offered, parameters = filter_options(compared), {known.name: known for known in CHOSEN}
    form = {field.name: field for field in form_of(offered, Filters())}
    for name, known in FILTERS.items():
        if name == "compare":  # has menus of its own: test_pair.py
            continue
        *others, value = words_of(offered, name)
        filters = Filters(**{name: value if known.options else (value,)})
        assert Filters.from_query(QueryDict(filters.to_query())) == checked(compared, filters) == filters != Filters()
        assert filters.describe() != Filters().describe()
        (chip,) = chips_of(offered, Asked(filters))
        assert (chip.words, chip.query) == (f"{known.label}: {words_of(offered, name)[value]}", "")
        assert (name in form) is bool(others)
        assert parameters[name].enum == (list(known.options) or None)


def test_a_filter_for_what_is_not_there_is_refused(study: Study) -> None:
    assert checked(study, Filters(prompt=("teas",))) == Filters(prompt=("teas",))
    with pytest.raises(FilterError, match="prompt=tea is unknown here. Did you mean teas?"):
        checked(study, Filters(prompt=("tea",)))
