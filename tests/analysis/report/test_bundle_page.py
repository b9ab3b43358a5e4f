"""The bundle page shows how far the report is, and hands out the file when all of it is there."""

import pytest
from django.test import Client
from django.urls import reverse

from analysis.models import MetricValue
from analysis.report.filters import Filters
from analysis.report.pages import shown
from analysis.report.pairs.sides import usual_pair
from analysis.report.parts import PARTS
from analysis.report.reports import views_for
from surveys.models import Study
from tests.factories import make_participant, make_response, make_study
from tests.surveys.console.console_pages import lines_of, log_in, said, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def ordered(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The parts requested from workers, one list per request."""
    asked: list[list[str]] = []
    monkeypatch.setattr(shown, "enqueue_report", lambda study, query, parts, mark: asked.append(list(parts)))
    return asked


def at(name: str, study: str = "teas") -> str:
    return reverse(f"compare:{name}", args=[study])


def keep(study: Study, *parts: str) -> None:
    views = views_for(study, Filters(compare=usual_pair(study)), PARTS)
    for part in parts:
        reporting = views[part]
        MetricValue.objects.create(
            study=study, name=f"{part}:{reporting.view}", fingerprint=reporting.fingerprint, value=[], seconds=0
        )


def test_page_says_how_far_the_report_is_and_then_hands_out_the_file(study: Study, ordered: list[list[str]]) -> None:
    client, (first, *others) = log_in(study, "viewer"), PARTS
    assert f"0 of {len(PARTS)} parts of its report are computed." in lines_of(client.get(at("prepare-bundle")))
    keep(study, first)
    part = client.get(at("bundle-progress"))
    assert f"1 of {len(PARTS)} parts" in lines_of(part) and not part.has_header("HX-Refresh")
    # The pair separately, since only it depends on the sides.
    alone = [[part for part in parts if part != "pair"] for parts in (PARTS, others)]
    assert sorted(ordered) == sorted([*alone, ["pair"], ["pair"]])
    keep(study, *others)
    assert client.get(at("bundle-progress"))["HX-Refresh"] == "true"
    page = text_of(client.get(at("prepare-bundle"), {"texts": "1"}))
    assert f'content="1; url={at("bundle")}?texts=1"' in page and "The replication bundle is ready." in page
    assert len(ordered) == 4


def test_answers_are_read_before_anything_is_computed(study: Study, ordered: list[list[str]]) -> None:
    make_response(make_participant(study), "teas")
    page = log_in(study, "viewer").get(at("prepare-bundle"))
    assert "1 answer still to be read." in lines_of(page) and ordered == []


def test_a_bundle_of_nothing_is_refused_with_a_sentence_and_strangers_get_none(ordered: list[list[str]]) -> None:
    study = make_study("draft", slug="bare")
    Study.objects.filter(pk=study.pk).update(current=None)
    client = log_in(study, "viewer")
    assert said(client.get(at("prepare-bundle", "bare"), follow=True)) and ordered == []
    assert client.get(at("bundle-progress", "bare"))["HX-Refresh"] == "true"
    assert log_in(name="eve").get(at("prepare-bundle", "bare")).status_code == 404
    assert Client().get(at("prepare-bundle", "bare")).status_code == 302
