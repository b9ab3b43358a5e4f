"""The counts kept for the page of read-backs always equal a full recount of all answers."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.answers.aliases import accept
from analysis.answers.read_backs import KEPT, LAST, ResponseSpan, accuracy_rows, add_span, kept_accuracy
from analysis.answers.readings import open_responses, read_new, store, unread
from analysis.answers.reviews import answers_of, decide, undo_last
from analysis.answers.samples import draw, reading_errors
from analysis.models import Answer, Completion, MetricValue
from surveys.models import Participant, Prompt, ReadBack, Response, Study
from surveys.participation.pasting.read_back import ReadReply, mark_of
from surveys.participation.recruitment import withdraw
from tests.analysis.runs.baseline_factories import make_call, make_run
from tests.factories import make_participant, make_response, make_study

pytestmark = pytest.mark.django_db
FIVE = "1. Assam\n2. Sencha\n3. Rooibos\n4. Mate\n5. Oolong"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setattr("analysis.answers.samples.SAMPLE", 4)
    return make_study(places=40)


def say(study: Study, text: str = FIVE, slug: str = "teas", by: Participant | None = None, **said: Any) -> Response:
    reply = ReadReply(of=mark_of(text), **said)
    return make_response(by or make_participant(study), slug, text=text, reply=reply, keep=True)


def read(study: Study, *given: Response) -> None:
    read_new(study)


def counted_anew(study: Study) -> dict[str, Any]:
    errors = reading_errors(draw(answers_of(study)))
    rows = accuracy_rows(study, add_span({}, ResponseSpan(study, 0, LAST), []))
    return {"rows": rows, "errors": errors, "unread": unread(study)}


def answer_of(response: Response) -> Answer:
    return Answer.objects.get(response=response)


def a_pilot(study: Study) -> Participant:
    person = make_participant(study)
    Participant.objects.filter(pk=person.pk).update(pilot=True)
    return person


def events(study: Study) -> Iterator[Callable[[], Any]]:
    """Yield steps: every kind of reading and everything that can happen to one, each first unread, then read."""
    ada, said = make_participant(study), []

    def new(*of: Any, **how: Any) -> Callable[[], Any]:
        return lambda: said.append(say(study, *of, **how))

    for how in ({"confirmed": True}, {}, {"out": ("Assam",)}, {"added": ("Chai", "assam tea")}, {"by": ada}):
        yield new(**how)
        yield partial(read, study)
    yield new("", no_answer="error")
    yield new("B", "water", letter="C")
    yield new("B", "water", letter="B", confirmed=True)
    yield new("lol", "water", letter="none")
    yield new(by=a_pilot(study), out=("Mate",))
    yield new(by=make_participant(study, origin="preview"), out=("Mate",))
    yield lambda: make_response(make_participant(study), "teas", text=FIVE)  # without a read-back
    yield partial(read, study)
    # Somebody answers again, before and after the reading.
    yield new("1. Assam\n2. Yen\n3. Mate\n4. Chai\n5. Oolong", by=ada, out=("Yen",))
    yield new("1. Assam\n2. Yen\n3. Mate\n4. Sencha\n5. Oolong", by=ada, added=("Chai",))
    yield partial(read, study)
    # Drawn readings are replaced one by one.
    for person in Participant.objects.filter(responses__prompt__slug="teas", origin="prolific", pilot=False).order_by(
        "pk"
    )[:4]:
        yield new("1. Assam\n2. Hojicha\n3. Mate\n4. Sencha\n5. Oolong", by=person)
        yield partial(read, study)
    yield lambda: decide(study, answer_of(said[5]).pk, "ada", seen=0, names=["Matcha"])
    yield lambda: decide(study, answer_of(said[-1]).pk, "ada", seen=0, names=["Hojicha"])
    yield lambda: undo_last(study, "ada")
    yield lambda: accept(study, "teas", ["assam tea"], "assam", "ada")
    yield lambda: Answer.objects.filter(decided=False).update(rules_version=0, items=["old"])
    yield partial(read, study)
    Participant.objects.filter(pilot=True).update(pilot=False)
    yield new(confirmed=True)
    yield lambda: withdraw(said[-2].participant)
    run, replies = make_run("offline", study), count()
    for _ in range(2):
        call = make_call(run, repeat=next(replies))
        done = {"status": "done", "done_at": timezone.now(), "reply": FIVE}
        yield lambda call=call, done=done: Completion.objects.filter(pk=call.pk).update(**done)
        yield partial(read, study)
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence('surveys_response', 'id'))")
        (reserved,) = cursor.fetchone()
    yield new(confirmed=True)
    yield partial(read, study)
    yield partial(commit_late, make_participant(study), reserved)
    yield partial(read, study)
    # Somebody answers again after a worker has listed their earlier answer and before it is read.
    bea = make_participant(study)
    yield new(by=bea)
    listed = list(open_responses(study))
    yield new(by=bea, out=("Assam",))
    yield partial(store, Response, listed)
    yield partial(read, study)


def commit_late(person: Participant, key: int) -> None:
    """Store an answer whose transaction began before others that were counted meanwhile."""
    prompt = Prompt.objects.get(slug="teas")
    own = {"version": person.version, "pilot": False, "revision": 1, "accepted": True, "key": uuid4(), "text": FIVE}
    late = Response.objects.create(pk=key, participant=person, prompt=prompt, **own)
    ReadBack.objects.create(response=late, rules_version=1, verdict="corrected", read_names=["Assam"], names=["Mate"])


def test_what_is_counted_on_is_what_is_counted_anew(study: Study) -> None:
    for at, happen in enumerate(events(study)):
        happen()
        assert kept_accuracy(study) == counted_anew(study), f"event {at}"


def test_after_a_new_answer_what_was_counted_stands_until_something_happens_to_it(study: Study) -> None:
    first = say(study, confirmed=True)
    read(study)
    kept_accuracy(study)
    kept = MetricValue.objects.get(study=study, name=KEPT)
    kept.value[2]["recommendation"]["teas"]["numbers"]["said"] = 101
    kept.save()
    say(study, confirmed=True)
    read(study)
    assert kept_accuracy(study)["rows"][0]["said"] == 102
    decide(study, answer_of(first).pk, "ada", seen=0, names=["Assam"])
    assert kept_accuracy(study)["rows"][0]["said"] == 2


def test_statements_do_not_grow_with_people(study: Study) -> None:
    asked = []
    for people in (2, 8):
        for _ in range(people):
            say(study, confirmed=True)
        read(study)
        kept_accuracy(study)
        say(study, confirmed=True)
        read(study)
        with CaptureQueriesContext(connection) as statements:
            kept_accuracy(study)
        asked.append(len(statements))
    assert asked[0] == asked[1]
