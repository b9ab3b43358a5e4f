"""The sample of undoubted readings that people check, and the error it shows for each source."""

from typing import Any

import pytest
from django.urls import reverse

from analysis.answers.reviews import answers_of, decide, undo_last
from analysis.answers.samples import draw, reading_errors, sample_of, say_errors
from analysis.models import Answer
from analysis.stats.intervals import share_interval
from surveys.models import Study
from tests.analysis.answers.answer_samples import LIST, give
from tests.analysis.runs.baseline_factories import make_call, make_run
from tests.analysis.runs.run_samples import answer
from tests.factories import make_study
from tests.surveys.console.console_pages import log_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    """Six completions and a field answer without a doubt, one completion in doubt; at most four drawn per source."""
    monkeypatch.setattr("analysis.answers.samples.SAMPLE", 4)
    study = make_study(places=10)
    run = make_run("offline", study)
    for at, reply in enumerate((*[LIST] * 6, "1. Assam")):
        answer(make_call(run, repeat=at), reply)
    give(study, "teas", LIST)
    return study


def errors_of(study: Study) -> list[dict[str, Any]]:
    return reading_errors(draw(answers_of(study)))


def rows_of(study: Study) -> dict[str, tuple[int, int, int, int]]:
    return {row["source"]: (row["readings"], row["drawn"], row["checked"], row["wrong"]) for row in errors_of(study)}


def test_of_each_source_some_readings_without_a_doubt_are_drawn_always_the_same(study: Study) -> None:
    drawn = list(sample_of(study).values_list("pk", flat=True))
    assert drawn == list(sample_of(study).values_list("pk", flat=True))
    assert not Answer.objects.filter(pk__in=drawn).exclude(doubt="").exists()
    assert rows_of(study) == {"field": (1, 1, 0, 0), "offline": (6, 4, 0, 0)}


def test_what_is_left_to_check_is_of_the_same_draw(study: Study) -> None:
    drawn = list(sample_of(study).filter(source="offline"))
    decide(study, drawn[0].pk, "ada", seen=0, names=drawn[0].names)
    left = sample_of(study).filter(source="offline", decided=False)
    assert [each.pk for each in left] == [each.pk for each in drawn[1:]]


def test_a_confirmed_reading_is_right_and_one_decided_otherwise_is_wrong(study: Study) -> None:
    assert "not known yet: none of the 5 drawn" in say_errors(errors_of(study))
    right, wrong, *_ = sample_of(study).filter(source="offline")
    decide(study, right.pk, "ada", seen=0, names=right.names)
    decide(study, wrong.pk, "ada", seen=0, names=["Matcha"])
    assert rows_of(study)["offline"] == (6, 4, 2, 1)
    offline = errors_of(study)[1]
    assert (offline["share"], offline["ci"]) == (0.5, share_interval(1, 2))
    said = say_errors(errors_of(study)).replace("\u202f", " ").replace("\u00a0", " ")
    assert "Field not checked yet" in said and "1 of 2 checked (9 % to 91 %)" in said
    undo_last(study, "ada")
    assert rows_of(study)["offline"] == (6, 4, 1, 0)


def test_a_second_decision_is_compared_with_what_the_rules_read(study: Study) -> None:
    drawn = sample_of(study).filter(source="offline").first()
    assert drawn is not None
    first = decide(study, drawn.pk, "ada", seen=0, names=["Matcha"])
    decide(study, drawn.pk, "ada", seen=first.pk, names=drawn.names)
    assert rows_of(study)["offline"] == (6, 4, 1, 0)


def test_page_shows_the_sample_and_leads_through_it_in_its_order(study: Study) -> None:
    client = log_in(study, "researcher")
    page = client.get(reverse("answers:accuracy", args=["teas"])).content.decode()
    assert "misread without a doubt" in page and "?sample=offline" in page
    review = f"{reverse('answers:review', args=['teas'])}?sample=offline"
    first, second, *_ = sample_of(study).filter(source="offline")
    assert client.get(review).context["answer"].pk == first.pk
    posted = {"queue": "1", "seen": "0", "name": first.names}
    decided = client.post(reverse("answers:decide", args=["teas", first.pk]) + "?sample=offline", posted, follow=True)
    assert decided.context["answer"].pk == second.pk


def test_page_of_changes_lists_them_and_reads_anew_when_asked(study: Study) -> None:
    client = log_in(study, "researcher")
    changed = Answer.objects.filter(completion__isnull=False).first()
    assert changed is not None
    Answer.objects.update(rules_version=1)
    Answer.objects.filter(pk=changed.pk).update(items=["old"], names=["Old leaf"])
    page = client.get(reverse("answers:changes", args=["teas"])).content.decode()
    assert "Old leaf" in page and page.count("<tr>") == 2
    client.post(reverse("answers:read", args=["teas"]))
    assert not Answer.objects.filter(rules_version=1).exists()
    assert Answer.objects.get(pk=changed.pk).items[0] == "assam"
