"""Pages of whole studies assert only what is among the claims, and nothing if nothing differs."""

import re
from functools import partial
from html import unescape

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from analysis.report.overview import OVERVIEW_FIGURES
from analysis.report.pages import shown
from analysis.report.pages.shown import PAGES
from analysis.report.reports import report, views_for
from benchmarks import report_world
from surveys.models import Study
from surveys.studies.wording import FIXED, THIN
from tests.surveys.console.console_pages import log_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
# What only a claim may say, on any page.
ASSERTED = re.compile(
    r"(more|less) varied than|points apart|names .{1,60} in \d+(\.\d)? %|never gives\b.{0,40}interval|moves the score|"
    r"nearest to the field is|differently on|none of \d+ offline runs? reaches|highest in|differ most|"
    r"by more than chance|largest difference|changes most|takes longest|Also sure|Findings: \d|>nearest<"
)


FEW = 200  # draws: with fewer no p of permutations is small enough for a claim


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "views_for", partial(views_for, draws=FEW))
    cache.clear()


def address_of(study: Study, name: str) -> str:
    if name == "overview":
        return reverse("compare:overview", args=[study.slug])
    return reverse("compare:page", args=[study.slug, name])


def words_of(client: Client, study: Study, name: str) -> str:
    """The page and its figures as a reader sees them, without quoted answers and definitions."""
    pages = [text_of(client.get(address_of(study, name)))]
    figures = OVERVIEW_FIGURES if name == "overview" else dict.fromkeys(re.findall(r'id="figure-([\w-]+)"', pages[0]))
    pages += [text_of(client.get(reverse("compare:figure-part", args=[study.slug, figure]))) for figure in figures]
    without = [
        re.sub(r"(?s)<blockquote.*?</blockquote>|<details class=\"card fold\" id=\"definitions\".*", "", p)
        for p in pages
    ]
    return " ".join(unescape(re.sub(r"\s+", " ", page)) for page in without).replace(FIXED, " ").replace(THIN, " ")


def test_where_nothing_differs_no_page_says_that_anything_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sources have one distribution: two chatbots with four each, thirteen prompts; 40 people and 40 calls."""
    monkeypatch.setattr(report_world, "SLOPES", dict.fromkeys(report_world.SLOPES, 1.0))
    monkeypatch.setattr(report_world, "RIGHT", dict.fromkeys(report_world.RIGHT, 0.7))
    study = report_world.make_world(80, 40)
    whole = report(study, draws=FEW)
    assert whole["claims"] == []
    assert {family["page"] for family in whole["families"]} >= {"overview", "heterogeneity", "items", "choices"}
    client = log_in(study, "viewer")
    for name in PAGES:
        words = words_of(client, study, name)
        assert (name, [found[0] for found in ASSERTED.finditer(words)]) == (name, [])
    assert "No difference between the field and the models is sure; from" in words_of(client, study, "overview")


def test_what_pages_assert_stands_among_the_claims() -> None:
    study = report_world.make_world(160, 80)
    whole = report(study, draws=FEW)
    client = log_in(study, "viewer")
    claimed: dict[str, set[str]] = {}
    for claim in whole["claims"]:
        claimed.setdefault(claim["page"], set()).update({claim["sentence"], claim.get("headline", claim["sentence"])})
        assert {"estimate", "ci", "n", "family", "p", "measure"} <= claim.keys() and claim["p"] < 0.05
    assert {"overview", "items", "heterogeneity", "choices"} <= claimed.keys()
    for name in claimed:
        response = client.get(address_of(study, name))
        context = response.context
        assert context["answer"] in claimed[name]
        assert {entry["sentence"] for entry in context["found"]} <= claimed[name]
    # Filters may hide one of a claim's two sources.
    assert client.get(f"{address_of(study, 'overview')}?source=offline").status_code == 200
    overview = client.get(address_of(study, "overview")).context
    unsaid = next(family["unsaid"] for family in whole["families"] if family["page"] == "overview")
    for section in (overview["far"], *overview["small"]):
        rest = section["sentence"]
        for sentence in (*claimed["overview"], *unsaid.values()):
            rest = rest.replace(sentence, "")
        assert rest.strip() == ""
