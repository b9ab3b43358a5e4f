"""Access revoked while somebody acts: checked as they act, over parallel connections; and what is running stops."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connections, transaction

from analysis.endpoints.owners.sharing import NotShared, share, take_back
from analysis.models import Corpus, CorpusStep, Endpoint, Run
from analysis.people.pages.views import order_step
from analysis.people.steps import PeopleError
from analysis.people.tasks import people_step
from analysis.runs.lanes.runs import make_schedule, repeat_due
from analysis.runs.pages import actions
from analysis.runs.pages.actions import act
from analysis.runs.tasks import ask_step
from surveys.models import AuditEvent, Study
from tests.analysis.people.people_samples import make_person, talk
from tests.analysis.runs.baseline_factories import make_call, make_conversation, make_corpus, make_endpoint, make_run
from tests.factories import make_account, make_study

pytestmark = pytest.mark.django_db(transaction=True)
SECONDS = 20


@pytest.fixture
def study() -> Study:
    study = make_study("draft")
    make_account("ada", study, "researcher")
    make_account("cid")
    return study


@pytest.fixture
def corpus(study: Study) -> Corpus:
    """Cid's corpus, which ada's study may use."""
    corpus = make_corpus()
    Corpus.objects.update(owner=account("cid"))
    make_person("ann", talk("ann", 3), corpus)
    corpus.refresh_from_db()
    return corpus


def account(name: str) -> Any:
    return get_user_model().objects.get(username=name)


def beside(do: Callable[[], Any]) -> threading.Thread:
    """Start `do` in a thread with its own connection."""

    def work() -> None:
        try:
            do()
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def make_paused(study: Study, corpus: Corpus) -> Run:
    run = make_run("sp-history", study, corpus=corpus, history_size=1, endpoint=make_endpoint(study=study))
    make_call(run)
    Run.objects.update(state="paused")
    return run


def test_taking_back_waits_for_a_press_and_then_stops_what_it_began(
    study: Study, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, pressed, go_on, order = make_paused(study, corpus), threading.Event(), threading.Event(), []
    resume = actions.ACTIONS["resume"]

    def slowly(run: Run, **given: Any) -> tuple[str, dict]:
        pressed.set()
        assert go_on.wait(SECONDS)
        done = resume.do(run, **given)
        order.append("resumed")
        return done

    monkeypatch.setitem(actions.ACTIONS, "resume", resume._replace(do=slowly))
    monkeypatch.setattr(actions, "send_on_commit", lambda run: None)
    first = beside(lambda: act("resume", run, account("ada"), study))
    assert pressed.wait(SECONDS)

    def unshare() -> None:
        share(corpus, [], "cid")
        order.append("taken back")

    second = beside(unshare)
    second.join(0.5)
    assert second.is_alive() and order == []
    go_on.set()
    first.join(SECONDS), second.join(SECONDS)
    run.refresh_from_db()
    assert order == ["resumed", "taken back"]
    assert (run.state, run.reason) == ("stopped", "corpus is no longer shared with teas: ask its owner.")


def test_press_waits_for_a_taking_back_and_is_refused(study: Study, corpus: Corpus) -> None:
    run, refused = make_paused(study, corpus), []

    def press() -> None:
        try:
            act("resume", run, account("ada"), study)
        except NotShared as error:
            refused.append(str(error))

    with transaction.atomic():
        share(corpus, [], "cid")
        thread = beside(press)
        thread.join(0.5)
        assert thread.is_alive()
    thread.join(SECONDS)
    assert refused == ["corpus is no longer shared with teas: ask its owner."]
    assert Run.objects.get().state == "paused"


@pytest.mark.parametrize("lost", ["corpus", "endpoint", "role", "account"])
def test_step_that_waited_is_not_done_when_it_may_not_be_any_more(study: Study, corpus: Corpus, lost: str) -> None:
    endpoint = make_endpoint(name="mini", study=study)
    ordered: list[tuple[Any, ...]] = []
    task = type("Task", (), {"delay": staticmethod(lambda *given: ordered.append(given))})
    order_step(corpus, "extract", {"endpoint": "mini"}, account("ada"), study, task)
    if lost == "corpus":
        share(corpus, [], "cid")
    elif lost == "endpoint":
        Endpoint.objects.filter(pk=endpoint.pk).update(study=make_study("draft", slug="herbs"))
    elif lost == "role":
        study.memberships.update(role="viewer")
    else:
        get_user_model().objects.filter(username="ada").update(is_active=False)
    ask_step(*ordered[0])
    step = CorpusStep.objects.get()
    assert step.state == "failed" and "no longer" in step.reason and not Run.objects.exists()


def test_press_of_somebody_who_lost_the_corpus_orders_nothing(study: Study, corpus: Corpus) -> None:
    share(corpus, [], "cid")
    with pytest.raises(PeopleError, match="no longer shared with teas"):
        order_step(corpus, "filter", {}, account("ada"), study, people_step)
    assert not CorpusStep.objects.exists() and not AuditEvent.objects.filter(action="people: filter").exists()


def test_endpoint_that_is_taken_back_stops_its_runs_and_those_of_nobody_else(study: Study) -> None:
    herbs = make_study("draft", slug="herbs")
    endpoint = make_endpoint(study=herbs)
    endpoint.shared_with.add(study)
    lent, own = make_run(study=study, endpoint=endpoint), make_run(study=herbs, endpoint=endpoint)
    Run.objects.update(state="running")
    with transaction.atomic():
        endpoint.shared_with.clear()
        take_back(endpoint, [study])
    assert [Run.objects.get(pk=run.pk).state for run in (lent, own)] == ["stopped", "running"]


def test_run_is_not_repeated_with_what_its_study_has_lost(study: Study, corpus: Corpus) -> None:
    make_conversation(corpus)
    schedule = make_schedule(make_paused(study, corpus), 7)
    share(corpus, [], "cid")
    assert repeat_due(schedule.next_at) == [] and Run.objects.count() == 1


def test_a_corpus_run_is_its_owners_and_no_other_study_raises_its_budget(study: Study, corpus: Corpus) -> None:
    """Making a study of one's own makes nobody a researcher of this one."""
    endpoint = make_endpoint(name="mini", study=study, price_in=1)
    ask_step(corpus.pk, "extract", {"endpoint": "mini"}, "ada", {"account": account("ada").pk, "study": study.pk})
    herbs = make_study("draft", slug="herbs")
    bob = make_account("bob", herbs, "owner")
    run = Run.objects.filter(study=None).first() or plan(corpus, endpoint, study)
    assert run.owner == account("ada") and list(run.shared_with.all()) == [study]
    for what in ("resume", "retry", "cancel", "pause", "note"):
        with pytest.raises(NotShared):
            act(what, run, bob, herbs)
    # With the corpus and the run, but without the endpoint, it is read and not sent.
    share(corpus, [study, herbs], "cid")
    share(run, [study, herbs], "ada")
    Run.objects.update(state="paused", budget=1)
    with pytest.raises(NotShared, match="mini is no longer shared with herbs"):
        act("resume", run, bob, herbs, budget=99)
    run.refresh_from_db()
    assert (run.state, run.budget) == ("paused", 1)


def plan(corpus: Corpus, endpoint: Endpoint, study: Study) -> Run:
    run = Run.objects.create(
        condition="task",
        instruction="extract-1",
        corpus=corpus,
        endpoint=endpoint,
        owner=account("ada"),
        created_by="ada",
    )
    run.shared_with.add(study)
    return run
