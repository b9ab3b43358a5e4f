"""The demo's last stage: scripted models called through the real functions, worth comparing with simulated people."""

import io
import json
from dataclasses import replace
from itertools import pairwise
from random import Random
from statistics import mean

import pytest
from django.core.management import call_command

from analysis.answers.alias_proposals import propose
from analysis.answers.readings import read_new
from analysis.endpoints.providers.calls import Settings
from analysis.endpoints.providers.scripted import lifelike_reply, lifelike_wait
from analysis.management import demo
from analysis.models import Answer, Completion, Conversation, Endpoint, Persona, Run
from analysis.report.reports import report
from surveys.models import Annotation, AnnotationItem, BenchmarkItem, Response, Study
from surveys.reading.answers import read_choice, read_items
from surveys.simulation.answers import AskedPrompt, Taste, choose_letter, items_for, pick_items, respell, write_lifelike
from surveys.simulation.demo import FILES, SKEW, SPREAD, STAGES, fill
from surveys.studies.files.definitions import read_study
from surveys.studies.lifecycle import launch, load_definition, prompts_of
from tests.factories import make_definition, make_study

MOVIES = [{"role": "user", "content": "Recommend five movies for me to watch this weekend."}]
SUM = [{"role": "user", "content": "What is 2 + 2?\n\nA. 3\nB. 4\nC. 5"}]
HISTORY = [{"role": role, "content": f"{role} {turn}"} for turn in range(120) for role in ("user", "assistant")]


def fill_quietly(study: Study) -> None:
    fill(study, 1.0, seed=1, progress=lambda done, total: None, all_finish=True)


@pytest.fixture
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce every run of the demo to a few calls."""
    few = []
    for asked in demo.RUNS:
        settings = asked.settings | ({"users": 2} if "users" in asked.settings else {})
        few.append(demo.DemoRun(asked.condition, min(asked.repeats, 3), settings, asked.benchmark))
    monkeypatch.setattr(demo, "RUNS", tuple(few))
    monkeypatch.setattr(demo, "QUESTIONS", 2)


# --- the stage ---------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_every_condition_is_asked_of_both_models_once(few_runs: None) -> None:
    study = make_study(places=3)
    fill_quietly(study)
    steps: list[tuple[int, int, str]] = []
    for _ in range(2):
        demo.analyse(study, lambda *step: steps.append(step))
    runs = Run.objects.all()
    assert set(runs.values_list("state", "endpoint__provider")) == {("done", "fake")}
    assert runs.count() == 2 * (len(demo.RUNS) + 1)
    for model, *_ in demo.MODELS.values():
        asked = runs.filter(endpoint__model=model, benchmark="")
        assert set(asked.values_list("condition", flat=True)) == {run.condition for run in demo.RUNS}
        assert [run.condition for run in asked.filter(first_run__isnull=False)] == ["offline"]
    assert not Completion.objects.filter(answer__isnull=True).exists()
    assert steps[0][:2] == (0, len(steps) // 2 - 1) and steps[-1][0] == steps[-1][1]
    again = Run.objects.filter(first_run__isnull=False).select_related("first_run").first()
    assert (again.began_at - again.first_run.began_at).days == demo.DAYS_BETWEEN
    whole = report(study, draws=50, parts=["heterogeneity", "benchmarks", "drift"])
    assert whole["simulated"]["people"] == whole["simulated"]["people_in_all"] > 0
    assert all(row["simulated"] == row["n"] for row in whole["heterogeneity"])
    assert whole["drift"] and {row["benchmark"] for row in whole["benchmarks"]} == {demo.BENCHMARK}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_command_builds_people_and_runs(few_runs: None, settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DEBUG = True
    monkeypatch.setitem(STAGES, "analysed", 8 / 800)
    out = io.StringIO()
    call_command("demo", stage="analysed", json=True, stdout=out, stderr=io.StringIO())
    told = json.loads(out.getvalue())
    # Eight who paste, one in `demo`, and eight annotators of `profiles`.
    assert (told["stage"], told["simulated"]) == ("analysed", 8 + 1 + 8)
    assert told["completions"] == Completion.objects.filter(status="done").count() > 100
    assert Answer.objects.filter(response__isnull=False).count() == 8 * 13 + 5
    work = AnnotationItem.objects.filter(study__slug="profiles", purpose=AnnotationItem.Purpose.WORK)
    judged = Annotation.objects.exclude(judge="").filter(item__in=work, state=Annotation.State.GIVEN)
    assert judged.count() == len(demo.MODELS) * work.count() > 0


@pytest.mark.django_db
def test_sources_are_named_as_made_up_and_imported_once() -> None:
    for _ in range(2):
        demo.import_sources()
    assert all("made-up" in name for name in (demo.CORPUS, demo.PERSONAS, demo.BENCHMARK))
    assert Conversation.objects.count() == demo.USERS * demo.CONVERSATIONS
    assert not Conversation.objects.filter(turns__lte=4).exists()
    assert Persona.objects.count() == 80
    for item in BenchmarkItem.objects.all():
        right = item.choices["ABCD".index(item.answer)]
        assert item.choices.count(right) == 1 and len(set(item.choices)) == 4


@pytest.mark.django_db
def test_scripted_embedding_finds_conversations_about_the_same() -> None:
    endpoint = Endpoint.objects.create(name="words", model="words", provider="fake")
    texts = ["a leaking tap at home", "the tap is leaking", "three days in a city"]
    one, other, far = demo.endpoint_embedder(endpoint).embed(texts)
    assert one @ other > one @ far
    assert [float(row @ row) for row in (one, other, far)] == pytest.approx([1, 1, 1])


# --- the world has the shape that was found in the field ---------------------


@pytest.mark.django_db
def test_people_name_more_different_things_than_a_model_without_context() -> None:
    study = make_study(places=20)
    fill_quietly(study)
    prompt = study.current.prompts.get(slug="teas").text
    field = [read_items(text) for text in texts_of(study)]
    offline = [read_items(scripted([{"role": "user", "content": prompt}], str(n))) for n in range(len(field))]
    assert named_by_four(field) > 1.05 * named_by_four(offline)
    assert coverage(field) < 0.9 * coverage(offline)


@pytest.mark.django_db
@pytest.mark.slow
def test_person_or_dice_shows_the_split_that_the_demo_is_made_with() -> None:
    study, _ = load_definition(read_study(FILES / "demo.toml"), "tests")
    launch(study, "tests")
    fill_quietly(study)
    read_new(study)
    (asked,) = study.current.document["repeats"]["prompts"]
    rows = [
        row for row in report(study, draws=200, parts=["person_or_dice"])["person_or_dice"] if row["prompt"] == asked
    ]
    assert len(rows) == 2
    for row in rows:
        within, between = true_split(prompts_of(study.current_id)[asked], row["chatbot"])
        assert between - within > 0.05
        for name, truth in (("within", within), ("between", between), ("person", between - within)):
            low, high = row[f"ci_{name}"]
            assert abs(row[name] - truth) <= high - low, (name, truth)  # four standard errors


def true_split(asked: AskedPrompt, chatbot: str, people: int = 1500) -> tuple[float, float]:
    """Mean unlikeness of two answers of one simulated person, and of two people's, over both of the demo's cells."""
    rng = Random(1)

    def answers_of(person: int) -> list[set[str]]:
        spread = SPREAD[("on", "on", "off", "unknown")[rng.randrange(4)]]
        taste = Taste(chatbot, SKEW, spread, str(person), rng.choice(("daily", "occasional")))
        return [{*read_items(write_lifelike(asked, rng, taste))} for _ in range(2)]

    own = [answers_of(person) for person in range(people)]
    others = [(one[0], other[0]) for one, other in pairwise(own)]
    return tuple(mean(1 - len(one & other) / 5 for one, other in pairs) for pairs in (own, others))


def texts_of(study: Study) -> list[str]:
    return list(Response.objects.filter(participant__study=study, prompt__slug="teas").values_list("text", flat=True))


def named_by_four(answers: list[list[str]]) -> float:
    """Mean number of things that four answers name together; over all eighty, both sides name nearly all there are."""
    return mean(len(set().union(*answers[first : first + 4])) for first in range(0, len(answers), 4))


def coverage(answers: list[list[str]]) -> float:
    named = [item for answer in answers for item in answer]
    return sum(sorted((named.count(item) for item in set(named)), reverse=True)[:3]) / len(named)


def scripted(messages: list[dict[str, str]], draw: str, temperature: float = 1.0, **extra: object) -> str:
    return lifelike_reply(messages, draw, Settings("", "gpt-4o-mini-simulated", temperature=temperature, extra=extra))


def test_a_history_makes_answers_more_varied() -> None:
    bare = {item for n in range(60) for item in read_items(scripted(MOVIES, str(n)))}
    several = [[{"role": "user", "content": f"user {n}"}, *HISTORY, *MOVIES] for n in range(60)]
    warm = {item for n, messages in enumerate(several) for item in read_items(scripted(messages, str(n)))}
    assert len(warm) > len(bare)


def test_the_same_draw_gives_the_same_words_and_temperature_0_always_does() -> None:
    assert scripted(MOVIES, "7") == scripted(MOVIES, "7") != scripted(MOVIES, "8")
    assert scripted(MOVIES, "7", temperature=0) == scripted(MOVIES, "8", temperature=0)


def test_a_later_release_prefers_other_things() -> None:
    before, later = (
        [item for n in range(100) for item in read_items(scripted(MOVIES, str(n), **extra))]
        for extra in ({}, {"release": "later"})
    )
    changes = [abs(before.count(item) - later.count(item)) for item in set(before)]
    assert max(changes) > 20


@pytest.mark.parametrize("knows", [{"What is 2 + 2?": "B"}, {}])
def test_scripted_model_answers_with_a_letter_mostly_the_one_that_it_is_told(knows: dict[str, str]) -> None:
    read = [read_choice(scripted(SUM, str(n), knows=knows), "ABC") for n in range(200)]
    assert read.count("B") > 100 or not knows
    assert 0 < read.count(None) < 20  # some answers name no single letter


def test_waiting_is_longer_with_a_long_context() -> None:
    assert lifelike_wait(HISTORY * 50, "1", 50) > lifelike_wait(MOVIES, "1", 50) > 0


# --- tastes ------------------------------------------------------------------


def test_without_spread_everybody_has_the_chatbots_order() -> None:
    items = items_for("movies")
    one, other = (Taste("chatgpt", 2.0, person=name) for name in ("a", "b"))
    assert pick_items(items, 5, Random(1), one) == pick_items(items, 5, Random(1), other)
    spread = Taste("chatgpt", 2.0, spread=1.0, person="b")
    assert pick_items(items, 5, Random(1), one) != pick_items(items, 5, Random(1), spread)


def test_items_are_distinct_and_as_many_as_wanted() -> None:
    for seed in range(50):
        picked = pick_items(items_for("books"), 5, Random(seed), Taste("gemini", 1.0, 0.8, str(seed), "cell"))
        assert len(set(picked)) == 5


def test_letters_stay_within_the_options() -> None:
    drawn = {choose_letter("Which?", 3, "C", Random(n), Taste("gemini", 1, 1.5, str(n))) for n in range(300)}
    assert drawn == {"A", "B", "C"}


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Love & Basketball", "Love and Basketball"),
        ("Dune: Part Two", "Dune Part Two"),
        ("A taqueria", "Taquerias"),
        ("Soft bob", "Soft-bob"),
        ("Microsoft", "Microsoft"),
    ],
)
def test_other_spellings_are_those_that_people_use(name: str, other: str) -> None:
    assert respell(name) == other


@pytest.mark.django_db
def test_some_spellings_are_left_to_be_judged() -> None:
    teas, water = make_definition().prompts
    movies = replace(teas, text="Recommend five movies for me to watch.")
    study = make_study(places=10, prompts=(movies, water))
    fill_quietly(study)
    call_command("read_answers", study.slug, stdout=io.StringIO(), stderr=io.StringIO())
    assert propose(study)
