"""Simulated people against a real server and PostgreSQL; and that the check afterwards notices what is wrong."""

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.utils import timezone

import surveys
from surveys.models import Flag, Participant, Place, ReadBack, Response, Study
from surveys.participation import recruitment
from surveys.participation.steps import address
from surveys.reading.checks import CHECKS, Paste, find_problems
from surveys.simulation.answers import ANYTHING, TOPICS, draw_items, items_for, write_answer, write_wrong
from surveys.simulation.browser import Browser, read_page
from surveys.simulation.check import find_violations
from surveys.simulation.people import Person, Sent, Story, make_people
from surveys.simulation.run import simulate
from surveys.studies.files.definitions import read_study
from surveys.studies.lifecycle import prompts_of
from tests.factories import make_definition, make_participant, make_study
from tests.surveys.simulation.server import end_server, free_port, running_server, start_server
from tests.surveys.studies.files.sample_study import make_asking_definition

STUDIES = Path(surveys.__file__).parent / "studies"


def small_study(name: str, places: int) -> Study:
    """A shipped study with few places, so that cells fill up."""
    definition = read_study(STUDIES / f"{name}.toml")
    cells = tuple(replace(cell, places=places) for cell in definition.cells)
    return make_study(definition=replace(definition, cells=cells))


@pytest.fixture(scope="module")
def site(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(tmp_path_factory.mktemp("site") / "server.log") as address:
        yield address


def run(study: Study, site: str, people: int, seed: int, faults: bool = True) -> dict:
    return simulate(study, site, people, 4, faults, seed, lambda done, total: None)


# --- whole runs ---------------------------------------------------------------------------------------------


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_demo_with_faults_and_full_cells(site: str) -> None:
    study = small_study("demo", places=3)
    report = run(study, site, 24, seed=5)
    assert report["violations"] == []
    assert report["participants"] == 24 and report["confirmed"] >= 24
    assert {"DEMODONE1", "DEMOFULL4", "DEMONOCO2", "DEMOWITH7"} <= set(report["ends"])
    assert sum(report["mishaps"].values()) > 10
    assert Place.objects.filter(cell__study=study, confirmed_at__isnull=False).count() <= 12


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_field_13_with_faults(site: str) -> None:
    report = run(small_study("field-13", places=2), site, 20, seed=8)
    assert report["violations"] == []
    assert {"F13C7K2QX", "F13S9D3LM"} <= set(report["ends"])


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_without_faults_everybody_finishes(site: str) -> None:
    report = run(make_study(definition=read_study(STUDIES / "demo.toml")), site, 4, seed=1, faults=False)
    assert report["violations"] == [] and report["ends"] == {"DEMODONE1": 4}
    assert report["submissions"] == report["confirmed"] == 4 * 5 and report["mishaps"] == {}
    assert set(Participant.objects.values_list("origin", flat=True)) == {"simulated"}
    assert ReadBack.objects.filter(verdict="right").exists()


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("faults", [False, True])
def test_people_who_are_asked_again_come_to_the_end(site: str, faults: bool) -> None:
    definition = make_asking_definition()
    cells = tuple(replace(cell, places=6) for cell in definition.cells)
    study = make_study(definition=replace(definition, cells=cells))
    report = run(study, site, 20, seed=3, faults=faults)
    assert report["violations"] == []
    people = Participant.objects.filter(study=study, state="completed")
    asked = {len(person.order) for person in people}
    given = Response.objects.filter(participant__in=people, accepted=True)
    unreached = ReadBack.objects.filter(response__in=given, no_answer="unreached").count()
    reached = given.filter(prompt__arm="temporary").exclude(text="").count()
    assert asked == {5, 7} and 0 < unreached < reached
    rated = given.filter(rating__isnull=False)
    assert rated.exists() and set(rated.values_list("prompt__slug", flat=True)) <= {
        *("teas", "teas--2", "teas--temporary", "cakes")
    }
    if not faults:
        assert report["ends"] == {"CODE1": 20} and unreached + reached == 20


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_form_cut_in_half_is_not_taken_for_an_answer(site: str) -> None:
    participant = make_participant()
    page, browser = address(participant, "prompt", 1), Browser(site)
    fields = browser.open(page).form.fields | {"text": "A. " + "A long answer. " * 200}
    for _ in range(5):
        browser.send_half(page, fields)
    browser.submit(read_page(200, page, ""), fields | {"keep": "1"})
    # Whatever was cut in half came before, over connections of its own.
    time.sleep(0.5)
    assert [response.text for response in participant.responses.all()] == [fields["text"]]
    browser.close()


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_killed_server_loses_no_confirmed_answer(tmp_path: Path) -> None:
    study, log = make_study(definition=read_study(STUDIES / "demo.toml")), tmp_path / "server.log"
    port = free_port()
    servers = [start_server(port, log)]

    over = threading.Event()

    def kill_and_start_again() -> None:
        # In the middle: some answers are stored and most are still to come.
        while Response.objects.count() < 6 and not over.wait(0.02):
            pass
        connections.close_all()
        if not over.is_set():
            end_server(servers[0], signal.SIGKILL)
            servers.append(start_server(port, log))

    trouble = threading.Thread(target=kill_and_start_again)
    trouble.start()
    try:
        report = run(study, f"http://127.0.0.1:{port}", 8, seed=3, faults=False)
    finally:
        over.set()
        trouble.join()
        end_server(servers[-1])
    assert len(servers) == 2 and report["violations"] == []
    assert report["ends"] == {"DEMODONE1": 8} and report["confirmed"] == 40


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_command_prints_one_json_object(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    make_study(definition=read_study(STUDIES / "demo.toml"))
    call_command("simulate", "demo", "--participants", "1", "--url", site, "--seed", "1", "--json")
    printed = capsys.readouterr()
    assert json.loads(printed.out)["participants"] == 1
    assert "1 of 1 people" in printed.err


# --- wrong use ----------------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize(
    "state,arguments,words",
    [
        ("live", ("coffee",), "load_study"),
        ("draft", ("teas",), "Launch it"),
        ("live", ("teas", "--url", "ftp://x"), "not an address"),
        ("live", ("teas", "--participants", "0"), "1 or more"),
    ],
)
def test_wrong_use_says_what_to_do(state: str, arguments: tuple[str, ...], words: str) -> None:
    make_study(state)
    given = [*arguments] if "--participants" in arguments else [*arguments, "--participants", "1"]
    with pytest.raises(CommandError, match=words):
        call_command("simulate", *given)


# --- the check afterwards -----------------------------------------------------------------------------------


def story_of(participant: Participant, end: str = "", code: str = "") -> Story:
    """What a participant saw who did everything right."""
    story = Story(Person(participant.pid, "finish", Random(1), "chatgpt", "milky", 1, True), consented=True)
    for response in participant.responses.filter(accepted=True):
        story.sent.add((response.prompt.slug, response.text))
        story.confirm(Sent(response.prompt.slug, str(response.key), response.text))
    story.end, story.code = end, code
    return story


def violations(study: Study, *stories: Story, before: Counter[str] | None = None) -> str:
    return "\n".join(find_violations(study, stories, before or Counter()))


@pytest.fixture
def done(db: None) -> Participant:
    return make_participant(make_study(places=2), "completed", origin="simulated")


def store_another(done: Participant, text: str = "") -> None:
    """Store one more row of the first answer, as no page would."""
    row = done.responses.first()
    row.pk, row.revision, row.text, row.text_sha256 = None, 2, text or row.text, "another"
    row.save()


def change(**fields: object) -> Callable[[Participant], object]:
    return lambda done: Participant.objects.filter(pk=done.pk).update(**fields)


SAW_THE_END = ("end", "CODE1")
WRONG: dict[str, tuple[Callable[[Participant], object], tuple[str, ...], tuple[str, ...]]] = {
    "nothing": (lambda done: None, SAW_THE_END, ()),
    "an answer is missing": (lambda done: done.responses.first().delete(), SAW_THE_END, ("is stored 0 times",)),
    "an answer is stored twice": (store_another, SAW_THE_END, ("is stored 2 times",)),
    "nobody sent an answer": (
        lambda done: store_another(done, "cut in ha"), SAW_THE_END, ("was never sent", "is not the one sent last")
    ),
    "the person saw an end too early": (
        change(state="active", finished_at=None), SAW_THE_END, ("saw an end and is active",)
    ),
    "the person saw no end": (lambda done: None, (), ("saw no end and is completed",)),
    "the code is wrong": (lambda done: None, ("end", "CODE6"), ("'CODE1' was due",)),
    "the code is missing": (lambda done: None, ("end",), ("'CODE1' was due",)),
    "the person is not marked": (change(origin="prolific"), SAW_THE_END, ("is marked prolific",)),
    "the person should be gone": (
        lambda done: None, ("withdrawn", "CODE7"), ("is still in the database as completed", "1 people withdrew and 0")
    ),
    "the person vanished": (recruitment.withdraw, SAW_THE_END, ("is not in the database",)),
    "a place is not confirmed": (
        lambda done: Place.objects.update(participant=None, expires_at=None, confirmed_at=None),
        SAW_THE_END,
        ("1 people completed and 0 places",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_check_sees_what_is_wrong(done: Participant, wrong: str) -> None:
    spoil, saw, words = WRONG[wrong]
    story = story_of(done, *saw)
    spoil(done)
    found = violations(done.study, story)
    assert all(each in found for each in words) and bool(found) == bool(words)


def test_check_sees_a_cell_above_its_places(done: Participant) -> None:
    other = make_participant(done.study, "completed", origin="simulated")
    stories = [story_of(person, *SAW_THE_END) for person in (done, other)]
    Place.objects.filter(participant=other).delete()
    assert "2 people in 1 places" in violations(done.study, *stories)


def test_check_sees_a_place_of_somebody_who_left(done: Participant) -> None:
    gone = make_participant(done.study, "returned", origin="simulated")
    place = Place.objects.filter(participant__isnull=True).first()
    place.participant, place.expires_at = gone, timezone.now()
    place.save()
    assert "held by somebody who is returned" in violations(done.study, story_of(gone, "end", "CODE8"))


def test_check_sees_a_decision_that_was_not_kept(done: Participant) -> None:
    story = story_of(done, *SAW_THE_END)
    story.kept.add("teas")
    assert "about teas is not stored" in violations(done.study, story)
    Flag.objects.create(
        participant=done, prompt=prompts_of(done.version_id)["teas"], check_name="empty", check_version=1, message=""
    )
    assert violations(done.study, story) == ""


def test_check_counts_refusals(done: Participant) -> None:
    story = story_of(done, "no-consent", "CODE2")
    story.consented, story.refusals, story.person.pid = False, 1, "f" * 24
    assert violations(done.study, story) == "1 times somebody said no and 0 were counted"
    recruitment.refuse_consent(done.study, "simulated")
    assert violations(done.study, story) == ""


# --- people and what they paste ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["demo", "field-13"])
def test_small_group_has_every_way_out(name: str) -> None:
    people = make_people(read_study(STUDIES / f"{name}.toml"), 24, True, 1)
    ways = {person.way for person in people}
    assert {"finish", "late", "no_consent", "withdraw", "return", "come_back", "technical", "walk_away"} <= ways
    assert ("misunderstand" in ways) == (name == "field-13")
    assert people[0].way == "finish" and len({person.pid for person in people}) == 24


def test_same_seed_plays_the_same_ways_with_new_ids() -> None:
    definition = make_definition()
    first, second = (make_people(definition, 40, True, 7) for _ in range(2))
    assert [(one.way, one.cell, one.stops_at) for one in first] == [(one.way, one.cell, one.stops_at) for one in second]
    assert not {one.pid for one in first} & {one.pid for one in second}


def paste_for(prompt, text: str) -> Paste:
    return Paste(text, prompt.text, prompt.kind, prompt.items or 0, choices=tuple(prompt.choices))


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["demo", "field-13"])
def test_most_answers_pass_the_checks_and_every_wrong_paste_is_noticed(name: str) -> None:
    study = make_study(definition=read_study(STUDIES / f"{name}.toml"))
    rng, noticed, answers = Random(1), 0, 0
    prompts = prompts_of(study.current_id).values()
    for prompt in prompts:
        for _ in range(10):
            answers += 1
            noticed += bool(find_problems(paste_for(prompt, write_answer(prompt, rng)), list(CHECKS)))
        if prompt.kind == "recommendation":
            for check in CHECKS.values():
                others = prompts if check.name == "other-prompt" else ()
                found = find_problems(write_wrong(check, prompt, others, rng), list(CHECKS))
                assert check.name in [finding.check for finding in found], f"{prompt.slug} {check.name}"
    assert noticed <= answers * 0.05


def test_popular_items_are_drawn_more_often() -> None:
    rng = Random(2)
    drawn = [item for _ in range(2_000) for item in draw_items(TOPICS["movie"], 5, rng)]
    first, last = drawn.count(TOPICS["movie"][0]), drawn.count(TOPICS["movie"][-1])
    assert first > 3 * last > 0


def test_prompt_without_a_known_topic_gets_items_all_the_same() -> None:
    assert items_for("Name five teapots.") == ANYTHING


def test_every_shipped_recommendation_has_a_topic() -> None:
    for name in ("demo", "field-13"):
        definition = read_study(STUDIES / f"{name}.toml")
        asked = [prompt for prompt in definition.prompts if prompt.kind == "recommendation"]
        assert all(items_for(prompt.text) is not ANYTHING for prompt in asked)


# --- reading pages ------------------------------------------------------------------------------------------

PAGE = """<h1>Ask</h1><p data-message>Which &lt;tea&gt;?</p><form id="step" data-step="x">
<input type="hidden" name="key" value="k"><input type="radio" name="a" value="1"><input type="radio" name="a"
 value="2" checked><textarea name="text">
one &amp; two
</textarea><button type="button">Copy</button><button name="keep" value="1">Keep</button><button>Go</button>
</form>"""


def test_page_is_read_as_a_browser_reads_it() -> None:
    page = read_page(200, "/s/teas/ab~cd/prompt/2/?older=1", PAGE)
    assert (page.name, page.number, page.title, page.message) == ("prompt", 2, "Ask", "Which <tea>?")
    assert page.form.fields == {"key": "k", "a": "2", "text": "one & two\n"}
    assert page.form.choices == {"a": ["1", "2"]} and page.form.buttons == [("keep", "1"), ("", "")]
    assert page.asks == ["keep"] and page.form.data["data-step"] == "x"


@pytest.mark.parametrize(
    "path,name",
    [
        ("/s/teas/?PROLIFIC_PID=1", "consent"),
        ("/s/teas/no-consent/", "no-consent"),
        ("/s/teas/withdrawn/?lang=en", "withdrawn"),
        ("/s/teas/ab~c-_d/end/", "end"),
        ("/s/teas/ab~cd/attention/leaf/", "attention"),
    ],
)
def test_page_is_named_by_its_address(path: str, name: str) -> None:
    assert read_page(200, path, "").name == name
