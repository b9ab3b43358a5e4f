"""The comparing pages: an answer in words, figures with files, tables whose numbers lead to texts, filters."""

import csv
import io
import json
import re
from html import unescape
from typing import Any

import pytest
from celery.exceptions import OperationalError
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.answers.read_backs import KEPT
from analysis.answers.readings import read_new
from analysis.models import MetricValue
from analysis.report.pages import shown, views
from analysis.report.pages.shown import PAGES
from analysis.report.parts import PARTS
from analysis.report.reports import Reporting
from surveys.models import Study
from tests.analysis.report.compare_samples import (
    FEW,
    add_people,
    address,
    heading,
    lasting_report,
    links,
    make_compared,
    table,
)
from tests.analysis.report.report_samples import tell
from tests.surveys.console.console_pages import lines_of, log_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_draws")]
SIGNS = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "csv": b"prompt", "json": b"{"}


world = lasting_report(make_compared)


@pytest.fixture
def client(study: Study) -> Client:
    return log_in(study, "researcher")


# --- every page -------------------------------------------------------------


def test_every_page_opens_with_an_answer_and_has_no_undefined_number(client: Client) -> None:
    for name in PAGES:
        response = client.get(address(name))
        assert (name, response.status_code, heading(response)[-1:]) == (name, 200, ".")
        assert (name, re.findall(r"\bnan\b|None|\binf\b", lines_of(response))) == (name, [])


def test_numbers_lead_to_texts_and_from_there_to_the_person_or_call(client: Client) -> None:
    # Numbers about pairs of answers, about all of a person's answers, and over questions have no texts of their own.
    others = {"overview", "pair", "benchmarks", "drift", "costs", "blend", "person-or-dice", "explanations"}
    for name in sorted(set(PAGES) - {*others, "field-benchmark"}):
        behind = links(client.get(address(name)), "/texts/?")
        assert behind
        for href in behind[:2]:
            response = client.get(href)
            persons = links(response, "/participants/") + links(response, "/calls/")
            person = next(href for href in persons if href.count("/") > 4)
            assert client.get(person.partition("#")[0]).status_code == 200


def test_rarefied_values_are_of_as_many_as_the_smaller_of_source_and_field(client: Client) -> None:
    rows = table(client.get(address("heterogeneity")), "variety")
    assert {row[1]: row[4] for row in rows if row[4] != "4"} == {
        "SP-History 10 conversations": "1"
    }  # one simulated user
    assert {row[3] for row in rows} == {"4", "6", "6 1 simulated user"}


def test_benchmark_rows_lead_to_completions_of_runs_without_a_study(client: Client) -> None:
    texts = client.get(links(client.get(address("benchmarks")), "/texts/?")[0])
    assert heading(texts).startswith("8 texts: Offline, gpt-4o-mini, “sums”")


def test_each_n_opens_exactly_these_answers(client: Client) -> None:
    counts = []
    for name in ("drift", "benchmarks", "heterogeneity", "choices", "distances"):
        page = text_of(client.get(address(name)))
        for part in page.split("<a ")[1:]:
            href, _, words = part.partition(">")
            number = words.split("<")[0].strip()
            if "/texts/?" in href and number.isdecimal() and "item=" not in href:
                opened = client.get(unescape(href.split('"')[1]))
                counts.append((name, int(number), int(heading(opened).split()[0])))
    # A benchmark counts its runs, each of which answers four questions.
    wrong = [found for found in counts if found[2] != found[1] * (4 if found[0] == "benchmarks" else 1)]
    assert wrong == [] and {name for name, _, _ in counts} >= {"drift", "benchmarks", "heterogeneity"}


def test_why_a_second_run_with_equal_settings_is_left_out(study: Study, client: Client) -> None:
    first = study.runs.get(first_run=None, condition="offline").pk
    words = lines_of(client.get(address()))
    assert f"Drift only: the settings of run {first} on another day, so that no answer counts twice" in words
    assert "on every page" in words


def test_unread_texts_lead_to_reading(study: Study, client: Client) -> None:
    tell(study, ["Assam"], "C")
    response = client.get(address("heterogeneity"))
    assert "2 texts are not read yet and not counted; the numbers are being brought up to date" in lines_of(response)
    assert reverse("answers:list", args=["teas"]) in text_of(response)
    asked_again = re.search(r'hx-get="([^"]*unread=[^"]*)"', text_of(response))[1].replace("&amp;", "&")
    tell(study, ["Sencha"], "C")
    assert "4 texts are not read yet" in lines_of(client.get(asked_again))
    waiting = client.get(address("computing", f"unread=1&looks={shown.PATIENCE + 1}", "heterogeneity"))
    assert "is a worker running?" in lines_of(waiting) and "hx-get" not in text_of(waiting)
    read_new(study)
    assert "All texts are read. Show the new numbers" in lines_of(client.get(asked_again))


# --- filters ----------------------------------------------------------------


def test_filters_narrow_the_field_and_can_be_taken_off(study: Study, client: Client) -> None:
    tell(study, ["Sencha"], "C", memory="off")
    read_new(study)
    response = client.get(address("heterogeneity", "memory=off&values=raw"))
    assert {row[3] for row in table(response, "variety") if row[1] == "Field"} == {"1"}
    (chip,) = re.findall(r'<a\s+class="chip on"\s+href="\?([^"]*)"\s*><span class="sr">Without', text_of(response))
    assert chip == "values=raw"


def test_rows_are_filtered_without_computing_again(client: Client) -> None:
    client.get(address("heterogeneity"))
    before = MetricValue.objects.count()
    rows = table(client.get(address("heterogeneity", "source=offline&prompt=teas")), "variety")
    assert ({row[1] for row in rows}, MetricValue.objects.count()) == ({"Offline"}, before)


def test_a_model_filter_keeps_the_field_beside_it(client: Client) -> None:
    rows = table(client.get(address("heterogeneity", "model=gpt-4o-mini")), "variety")
    assert {row[2] for row in rows if row[1] == "Field"} == {"ChatGPT"}


def test_the_form_leaves_defaults_out_of_the_address(client: Client) -> None:
    query = "show=1&excluded=without&flagged=without&prompt=teas&values=rarefied&measure=entropy_bits&pilot=without"
    response = client.get(address("heterogeneity", query))
    assert (response.status_code, response["Location"]) == (
        302,
        address("heterogeneity", "prompt=teas&flagged=without"),
    )


def test_filters_go_along_to_the_other_pages_and_files(client: Client) -> None:
    response = client.get(address("heterogeneity", "prompt=teas&flagged=without"))
    for other in ("items", "distances"):  # in another tab, and in the same one
        assert address(other, "prompt=teas&amp;flagged=without") in text_of(response)
    assert all("flagged=without" in href for href in links(response, "/texts/?"))


# --- tables -----------------------------------------------------------------


def test_tables_are_sorted_by_the_column_that_the_address_names(client: Client) -> None:
    orders = {}
    for sign in ("", "-"):
        rows = table(client.get(address("heterogeneity", f"sort={sign}variety.3")), "variety")
        orders[sign] = [int(row[3].split()[0]) for row in rows]
    assert (orders[""], orders["-"]) == ([4, 6, 6], [6, 6, 4])
    wrong = [client.get(address("heterogeneity", f"sort={sort}")) for sort in ("variety.99", "variety.x", "nothing.1")]
    assert {row[3] for response in wrong for row in table(response, "variety")[:1]} == {"4"}


def test_items_stand_side_by_side_and_can_be_searched(client: Client) -> None:
    rows = table(client.get(address("items")), "items")
    assert [row[0] for row in rows] == ["Assam", "Sencha", "Oolong"]
    assert rows[0][1].startswith("75 %")
    assert rows[0][2].startswith("100 %")
    found = table(client.get(address("items", "q=OOL&prompt=teas")), "items")
    assert [row[0] for row in found] == ["Oolong"]
    assert "No item matches." in lines_of(client.get(address("items", "q=coffee")))


# --- texts ------------------------------------------------------------------


def test_texts_behind_a_share_are_those_that_name_the_item(client: Client) -> None:
    response = client.get(address("texts", "prompt=teas&source=field&model=chatgpt&item=assam"))
    assert heading(response).startswith("3 texts: Field, ChatGPT")
    assert text_of(response).count("<mark>Assam</mark>") == 3


def test_texts_of_a_letter_and_of_unknown_answers(client: Client) -> None:
    base = "prompt=water&source=offline&model=gpt-4o-mini"
    counts = {"&letter=C": "5 texts:", "&letter=": "1 text:", "": "6 texts:"}
    for letter, count in counts.items():
        assert heading(client.get(address("texts", base + letter))).startswith(count)


def test_texts_are_escaped_and_marked_inside_the_escaping(study: Study, client: Client) -> None:
    tell(study, ["<b>Assam & Co</b>"], "C")
    read_new(study)
    response = client.get(address("texts", "prompt=teas&source=field&model=chatgpt"))
    assert "<b>Assam" not in text_of(response)


def test_texts_without_a_number_say_what_is_missing(client: Client) -> None:
    response = client.get(address("texts", "prompt=teas"))
    assert (response.status_code, "source is missing" in lines_of(response)) == (400, True)


@pytest.mark.parametrize(
    "query", ["prompt=%00teas&source=%00&model=x", "prompt=teas&source=field&model=all%00", "benchmark=%00sums"]
)
def test_texts_of_a_number_with_signs_that_no_name_has(client: Client, query: str) -> None:
    assert client.get(address("texts", query)).status_code in (200, 400)


# --- figures ----------------------------------------------------------------


def test_a_figure_is_drawn_apart_and_then_stands_in_the_page(client: Client) -> None:
    path = address("heterogeneity")
    assert "The figure is being drawn." in text_of(client.get(path))
    part = text_of(client.get(address("figure-part", "", "heterogeneity")))
    assert part.count("<svg") == 2
    assert "<figcaption" in part
    assert "<svg" in text_of(client.get(path))


def test_figures_are_downloaded_in_every_format(client: Client) -> None:
    for kind, sign in SIGNS.items():
        response = client.get(address("figure", "", "heterogeneity", kind))
        assert (kind, response.content[: len(sign)]) == (kind, sign)
        assert response["Content-Disposition"] == f'attachment; filename="teas-heterogeneity.{kind}"'


def test_numbers_of_a_figure_are_those_of_its_filters(client: Client) -> None:
    text = client.get(address("figure", "source=offline", "heterogeneity", "csv")).content.decode()
    assert {row["source"] for row in csv.DictReader(io.StringIO(text))} == {"offline"}
    spec = json.loads(client.get(address("figure", "", "items", "json")).content)
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite")


# --- computing --------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Requests to workers that never run, with every study too large to compute at once, and nothing kept yet."""
    MetricValue.objects.all().delete()
    calls: list[Any] = []
    monkeypatch.setattr(shown, "enqueue_report", lambda *order: calls.append(order))
    monkeypatch.setattr(shown, "SMALL", 0)
    return calls


def test_a_large_report_is_computed_by_a_worker_while_the_page_counts(client: Client, asked: list[Any]) -> None:
    response = client.get(address("distances"))
    assert heading(response) == "The numbers are being computed."
    # First what this page needs, then what the others will.
    (order,) = asked
    assert (order[2][:5], set(order[2])) == (["about", "distances", "calibration", "scores", "mixes"], set(PARTS))
    part = client.get(address("computing", "", "distances"))
    assert "0 of 5 parts are computed." in lines_of(part)
    compute("about", "distances")
    assert "2 of 5 parts are computed." in lines_of(client.get(address("computing", "", "distances")))
    compute("calibration", "scores", "mixes")
    done = client.get(address("computing", "", "distances"))
    assert (done["HX-Refresh"], done.content) == ("true", b"")
    assert table(client.get(address("distances")), "distances")


def test_a_page_that_waits_shows_numbers_that_new_answers_have_overtaken(
    study: Study, client: Client, asked: list[Any]
) -> None:
    assert heading(client.get(address("choices"))) == "The numbers are being computed."
    compute("about", "choices")
    tell(study, ["Assam"], "C")
    read_new(study)
    assert client.get(address("computing", "", "choices")).headers.get("HX-Refresh") == "true"
    assert "newer answers are being counted" in lines_of(client.get(address("choices")))


def compute(*parts: str) -> None:
    study = Study.objects.select_related("current").get(slug="teas")
    for part in parts:
        Reporting(study, draws=FEW).part(part)


def test_a_worker_that_never_comes_is_spoken_of(client: Client, asked: list[Any]) -> None:
    part = client.get(address("computing", f"looks={shown.PATIENCE + 1}", "drift"))
    assert "is a worker running?" in lines_of(part)
    assert "hx-trigger" not in text_of(part)


def test_without_a_broker_the_page_computes_itself(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*order: object) -> None:
        raise OperationalError("nobody listens")

    MetricValue.objects.all().delete()
    monkeypatch.setattr(shown, "enqueue_report", refuse)
    monkeypatch.setattr(shown, "SMALL", 0)
    assert table(client.get(address("distances")), "distances")


def test_older_numbers_are_shown_while_newer_ones_are_computed(study: Study, client: Client, asked: list[Any]) -> None:
    compute("about", "choices")
    tell(study, ["Assam"], "C")
    read_new(study)
    response = client.get(address("choices"))
    assert {row[3] for row in table(response, "answers") if row[1] == "Field"} == {"4"}
    assert "newer answers are being counted" in lines_of(response)
    newer = address("computing", "newer=1", "choices")
    assert "newer answers are being counted" in lines_of(client.get(newer))
    compute("about", "choices")
    assert "The newest answers are counted." in lines_of(client.get(newer))
    rows = table(client.get(address("choices")), "answers")
    assert {row[3] for row in rows if row[1] == "Field"} == {"5"}


def test_what_an_earlier_version_kept_is_shown_until_it_is_counted_anew(
    study: Study, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("overview", "benchmarks"):
        client.get(address(name))
    for kept in MetricValue.objects.filter(study=study).exclude(name=KEPT):
        for row in kept.value if isinstance(kept.value, list) else [kept.value]:
            row.pop("repeated", None)
            row.pop("run_ids", None)
        kept.fingerprint = f"{kept.pk:064d}"
        kept.save()
    monkeypatch.setattr(views, "has_few_texts", lambda study: False)
    monkeypatch.setattr(views, "begin", lambda shown: True)
    for name in ("overview", "benchmarks"):
        assert "newer answers are being" in lines_of(client.get(address(name))), name


def test_newer_numbers_are_offered_although_answers_keep_coming(study: Study, client: Client, asked: list[Any]) -> None:
    compute("about", "choices")
    tell(study, ["Assam"], "C")
    read_new(study)
    response = client.get(address("choices"))
    assert "These numbers leave the newest answers out." in lines_of(response)  # true until the page is loaded again
    newer = re.search(r'hx-get="([^"]*newer=[^"]*)"', text_of(response))[1].replace("&amp;", "&")
    assert "newer answers are being counted: 0 of 2 parts done." in lines_of(client.get(newer))
    compute("about", "choices")
    tell(study, ["Assam"], "C")
    read_new(study)
    offered = text_of(client.get(newer))
    assert "Newer numbers are there." in offered
    assert "hx-get" not in offered
    assert {row[3] for row in table(client.get(address("choices")), "answers") if row[1] == "Field"} == {"5"}


def test_numbers_that_are_never_renewed_are_not_promised(study: Study, client: Client, asked: list[Any]) -> None:
    compute("about", "choices")
    tell(study, ["Assam"], "C")
    read_new(study)
    part = client.get(address("computing", f"newer=1&since=x&looks={shown.PATIENCE + 1}", "choices"))
    assert "is a worker running?" in lines_of(part)
    assert "hx-trigger" not in text_of(part)


# --- cost -------------------------------------------------------------------


def test_pages_ask_the_database_as_often_for_many_people_as_for_few(study: Study, client: Client) -> None:
    counts: list[dict[str, int]] = []
    for more in (0, 15):
        add_people(study, more)
        counts.append({name: count_queries(client, name) for name in ("overview", "heterogeneity", "items")})
    assert counts[0] == counts[1]
    assert max(counts[0].values()) <= 28


def count_queries(client: Client, name: str) -> int:
    client.get(address(name))
    with CaptureQueriesContext(connection) as queries:
        client.get(address(name))
    return len(queries)


@pytest.mark.parametrize(("missing", "words"), [(["flow"], "Newer answers are"), ([], "No answer of a model")])
def test_while_numbers_are_computed_no_page_says_that_models_have_not_answered(missing: list[str], words: str) -> None:
    shown = {"study": Study(slug="teas"), "has_runs": True, "report": {"answers": {"unread": 0, "field": 1}}}
    assert words in render_to_string("report/_missing.html", {**shown, "missing": missing})
