"""A report is computed once, kept, and recomputed exactly when something that it rests on has changed."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from analysis.answers import aliases, reviews
from analysis.answers.readings import read_new
from analysis.models import AliasDecision, Answer, Completion, MetricValue, Run
from analysis.plans import kept as plans
from analysis.report import reports
from analysis.report.dataset import load_frames
from analysis.report.filters import ROW_FILTERS, Filters
from analysis.report.multiverse import universes as multiverse
from analysis.report.parts import PARTS, items
from analysis.report.reports import ReportError, Reporting, fingerprint, report, stamp_of
from surveys.models import ChatbotContext, Draft, Flag, Participant, Study
from surveys.participation import recruitment
from surveys.studies import lifecycle
from tests.analysis.report.report_samples import listed, make_model_run, reply, tell
from tests.analysis.runs.baseline_factories import make_item
from tests.factories import make_definition, make_participant, make_response, make_study

pytestmark = pytest.mark.django_db
FEW = 20


def stamp(study: Study, **filters: Any) -> str:
    study.refresh_from_db()
    return fingerprint(Filters(**filters), 0, FEW, stamp_of(study))


def test_the_whole_report_is_one_json_object_with_every_part(study: Study) -> None:
    whole = report(study, draws=FEW)
    assert json.loads(json.dumps(whole, allow_nan=False)) == whole
    assert set(PARTS) - {"about"} <= whole.keys()


def test_the_same_seed_gives_the_same_numbers_and_another_one_does_not(study: Study) -> None:
    first = report(study, draws=FEW, parts=["distances"])["distances"]
    MetricValue.objects.all().delete()
    assert report(study, draws=FEW, parts=["distances"])["distances"] == first
    assert report(study, seed=1, draws=FEW, parts=["distances"])["distances"] != first


def test_simulated_people_and_models_are_counted_and_named() -> None:
    study = make_study(places=5, slug="others")
    person = make_participant(study, origin=Participant.Origin.SIMULATED)
    make_response(person, "teas", text=listed(["Assam", "Chai"]), keep=True)
    make_response(person, "water", text="C")
    recruitment.complete(person)
    reply(make_model_run(study, model="pretend-1", provider="fake"), "teas", listed(["Assam", "Chai"]))
    read_new(study)
    whole = report(study, draws=FEW, parts=["heterogeneity"])
    expected = {"people": 1, "people_in_all": 1, "completions": 1, "models": ["pretend-1"], "is_any": True}
    assert whole["simulated"] == expected
    assert [(row["n"], row["simulated"]) for row in whole["heterogeneity"]] == [(1, 1)] * len(whole["heterogeneity"])


def test_answers_that_were_not_read_are_counted_and_not_guessed(study: Study) -> None:
    tell(study, ["Matcha", "Chai"])
    whole = report(study, draws=FEW, parts=["heterogeneity"])
    assert whole["answers"]["unread"] == 2
    assert whole["heterogeneity"][0]["n"] == 4


def test_letters_of_an_earlier_wording_are_left_out_and_counted(study: Study) -> None:
    definition = make_definition(places=20)
    teas, water = definition.prompts
    other = (teas, type(water)(**{**vars(water), "choices": ("Warm", "Cold", "Hot")}))
    lifecycle.load_definition(make_definition(places=20, prompts=other), "tests", "options in another order")
    study.refresh_from_db()
    tell(study, ["Assam", "Chai"], "C")
    read_new(study)
    whole = report(study, draws=FEW, parts=["choices", "heterogeneity"])
    assert whole["answers"]["reworded"] == 4 + 6
    assert [(row["source"], row["n"]) for row in whole["choices"]] == [("field", 1)]
    assert whole["heterogeneity"][0]["n"] == 5  # the list was asked for in the same words


def test_a_study_without_prompts_is_refused_with_a_sentence() -> None:
    study = Study.objects.create(slug="empty", title="Empty")
    with pytest.raises(ReportError, match="empty has no definition yet. Load its study file first."):
        report(study)


def test_an_empty_study_gives_an_empty_report() -> None:
    whole = report(make_study("draft", slug="others"), draws=FEW)
    assert all(whole[part] == [] for part in ("heterogeneity", "choices", "distances", "benchmarks", "costs", "drift"))
    assert whole["answers"]["field"] == 0


# --- kept


def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts computed from now on, in order."""
    done: list[str] = []

    def noting(name: str, part: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda data: (done.append(name), part(data))[1]

    noted = {name: replace(part, compute=noting(name, part.compute)) for name, part in PARTS.items()}
    monkeypatch.setattr(reports, "PARTS", noted)
    return done


def test_a_part_is_computed_once_and_then_read(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    done = computed(monkeypatch)
    assert not Reporting(study, draws=FEW).is_kept("choices")
    first = report(study, draws=FEW, parts=["choices"])
    assert done == ["about", "choices"]
    assert Reporting(study, draws=FEW).is_kept("choices")
    assert report(study, draws=FEW, parts=["choices"]) == first
    assert done == ["about", "choices"]


def test_another_view_is_kept_beside_it(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    done = computed(monkeypatch)
    for filters in (Filters(), Filters(memory=("on",)), Filters(), Filters(memory=("on",))):
        report(study, filters, draws=FEW, parts=[])
    assert done == ["about", "about"]


@pytest.mark.parametrize("name", ROW_FILTERS)
def test_filters_on_rows_leave_the_numbers_of_the_others_as_they_are(study: Study, name: str) -> None:
    whole = {part: report(study, draws=FEW)[part] for part in ("heterogeneity", "distances", "choices")}
    for part, rows in whole.items():
        for value in {row[name] for row in rows} - {"field", "chatgpt"}:
            narrowed = report(study, Filters(**{name: (value,)}), draws=FEW, parts=[part])[part]
            assert [row for row in narrowed if row[name] == value] == [row for row in rows if row[name] == value] != []


def test_a_prompt_asked_for_by_name_has_all_its_items(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "TOP", 1)
    few, every = (
        report(study, asked, draws=FEW, parts=["items"])["items"] for asked in (None, Filters(prompt=("teas",)))
    )
    assert {row["item"] for row in few} < {row["item"] for row in every}


def test_views_that_differ_read_the_answers_once(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    monkeypatch.setattr(reports, "load_frames", lambda study: loaded.append(1) or load_frames(study))
    report(study, Filters(prompt=("teas",)), draws=FEW, parts=["heterogeneity", "calibration", "scores"])
    assert loaded == [1]


def test_what_a_part_was_before_is_thrown_away(study: Study) -> None:
    report(study, draws=FEW, parts=["choices"])
    kept = Reporting(study, draws=FEW).kept("choices")
    tell(study, ["Matcha", "Chai"])
    read_new(study)
    reporting = Reporting(study, draws=FEW)
    assert not reporting.is_kept("choices")
    assert reporting.part("choices") != kept.value
    assert reporting.is_kept("choices")
    assert MetricValue.objects.filter(name=kept.name).count() == 1


def test_no_more_than_so_many_views_are_kept(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST_KEPT", 3)
    for name in (multiverse.NAME, plans.NAME, plans.CELL):  # takes minutes, and is not a view
        MetricValue.objects.create(study=study, name=name, fingerprint=name, value={}, seconds=600)
    for seed in range(5):
        report(study, seed=seed, draws=FEW, parts=[])
    assert MetricValue.objects.filter(study=study).count() == 3 + 3
    assert Reporting(study, seed=4, draws=FEW).is_kept("about")


def test_reading_a_kept_part_takes_few_statements(study: Study, django_assert_max_num_queries: Any) -> None:
    report(study, draws=FEW, parts=["heterogeneity"])
    study = Study.objects.select_related("current").get(pk=study.pk)
    with django_assert_max_num_queries(15):
        Reporting(study, draws=FEW).part("heterogeneity")


# --- what changes the fingerprint


def new_response(study: Study) -> None:
    make_response(make_participant(study), "teas", text=listed(["Assam", "Chai"]), keep=True)


def read_again(study: Study) -> None:
    Answer.objects.filter(response__isnull=False).update(rules_version=0)
    read_new(study)


def decide_answer(study: Study) -> None:
    answer = Answer.objects.filter(response__prompt__slug="teas").first()
    reviews.decide(study, answer.pk, "tests", seen=0, names=["Matcha"])


def accept_alias(study: Study) -> AliasDecision:
    return aliases.accept(study, "teas", ["oolong"], "assam", "tests")


def kept_flag(study: Study) -> None:
    whose = {"participant": study.participants.first(), "prompt": study.current.prompts.first()}
    Flag.objects.create(check_name="cut-off", check_version=1, outcome="kept", decided_at=timezone.now(), **whose)


def other_context(study: Study) -> None:
    told = ChatbotContext.objects.filter(participant__study=study)
    told.filter(pk=told.first().pk).update(memory="off", recorded_at=timezone.now())


def benchmark_of_nobody(study: Study) -> None:
    run = make_model_run(study, benchmark=make_item().benchmark)
    Run.objects.filter(pk=run.pk).update(study=None, version=None)
    run.shared_with.add(study)


AMENDED = make_definition(places=20, exclusions=())
CHANGES: dict[str, Callable[[Study], Any]] = {
    "new response": new_response,
    "reading": read_new,
    "reading again": read_again,
    "end of a part": lambda study: recruitment.stop(make_participant(study), Participant.State.RETURNED, "by a test"),
    "withdrawal": lambda study: recruitment.withdraw(study.participants.first()),
    "alias": accept_alias,
    "alias undone": lambda study: aliases.undo(study, accept_alias(study).number, "tests"),
    "decision": decide_answer,
    "new completion": lambda study: reply(study.runs.get(), "teas", listed(["Assam", "Chai"]), repeat=99),
    "failed call": lambda study: reply(study.runs.get(), "teas", "", repeat=99, status="failed"),
    "amendment": lambda study: lifecycle.load_definition(AMENDED, "tests", "no exclusions"),
    "flag": kept_flag,
    "context": other_context,
    "benchmark of nobody": benchmark_of_nobody,
}


@pytest.mark.parametrize("change", CHANGES)
def test_fingerprint_changes_with(study: Study, change: str) -> None:
    new_response(study)  # a text not read yet
    before = stamp(study)
    CHANGES[change](study)
    assert stamp(study) != before


def test_fingerprint_changes_when_a_decision_is_undone(study: Study) -> None:
    decide_answer(study)
    before = stamp(study)
    reviews.undo_last(study, "tests")
    assert stamp(study) != before


def test_fingerprint_changes_with_the_key_of_a_benchmark(study: Study) -> None:
    item = make_item()
    make_model_run(study, benchmark=item.benchmark)
    before = stamp(study)
    item.answer = "C"
    item.save()
    assert stamp(study) != before


def test_fingerprint_changes_with_filters_seed_and_draws(study: Study) -> None:
    found = {
        stamp(study),
        stamp(study, memory=("on",)),
        fingerprint(Filters(), 1, FEW, stamp_of(study)),
        fingerprint(Filters(), 0, FEW + 1, stamp_of(study)),
    }
    assert len(found) == 4


def test_fingerprint_changes_with_the_rules_of_reading(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    before = stamp(study)
    monkeypatch.setattr("analysis.report.reports.RULES_VERSION", 10_000)
    assert stamp(study) != before


def other_study(study: Study) -> None:
    other = make_study(places=20, slug="others")
    tell(other, ["Assam", "Chai"])
    reply(make_model_run(other), "teas", listed(["Assam", "Chai"]))
    read_new(other)
    aliases.accept(other, "teas", ["chai"], "assam", "tests")


def draft(study: Study) -> None:
    Draft.objects.create(participant=study.participants.first(), step="prompt:teas", data={"text": "x"})


NO_CHANGES: dict[str, Callable[[Study], Any]] = {
    "other study": other_study,
    "draft": draft,
    "report itself": lambda study: report(study, draws=FEW),
    "call in flight": lambda study: Completion.objects.update(lane="somewhere"),
}


@pytest.mark.parametrize("change", NO_CHANGES)
def test_fingerprint_stays_with(study: Study, change: str) -> None:
    before = stamp(study)
    NO_CHANGES[change](study)
    assert stamp(study) == before


def test_progress_names_each_part_before_it_is_computed(study: Study) -> None:
    seen: list[tuple[int, int, str]] = []
    report(study, draws=FEW, parts=["choices"], progress=lambda *step: seen.append(step))
    assert seen == [(0, 2, "about"), (1, 2, "choices"), (2, 2, "")]
