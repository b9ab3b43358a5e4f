"""Programs read a study's report, whole or in parts, in a form that suits pandas, and its figures as specs."""

from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pytest
import redis
from celery.exceptions import OperationalError
from django.conf import settings
from django.test import Client
from django.urls import reverse

from analysis.models import Completion
from analysis.report import tasks
from analysis.report.api import flatten
from analysis.report.pages import shown
from surveys.models import Study
from tests.analysis.exports.test_api import client_of
from tests.factories import make_study

pytestmark = pytest.mark.django_db
FEW = {"draws": 20}


@pytest.fixture
def client(study: Study) -> Client:
    return client_of("ada", study, "viewer")


def get(client: Client, name: str = "metrics", *more: str, **query: Any) -> Any:
    return client.get(reverse(f"api:{name}", args=["teas", *more]), FEW | query)


def test_whole_report(client: Client) -> None:
    whole = get(client).json()
    assert (whole["study"], whole["version"], whole["draws"]) == ("teas", 1, 20)
    frame = pd.DataFrame(whole["heterogeneity"])
    assert dict(zip(frame["source"], frame["unique"], strict=True)) == {"field": 3, "offline": 2}
    assert whole["flow"]["completed"] == 4


def test_flat_rows_have_columns_for_the_ends_of_intervals(client: Client) -> None:
    found = get(client, part="heterogeneity", format="flat").json()
    frame = pd.DataFrame(found["heterogeneity"])
    assert {"ci_unique_low", "ci_unique_high", "rarefied_n", "against_field_unique_p_holm"} <= set(frame.columns)
    assert not any(isinstance(value, dict | list) for value in frame.to_numpy().ravel())


def test_filters_are_those_of_the_pages(client: Client) -> None:
    found = get(client, part="heterogeneity", source="offline").json()
    assert [row["source"] for row in found["heterogeneity"]] == ["offline"] and "choices" not in found
    assert found["filters"]["query"] == "source=offline"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"part": "heterogenity"}, "part is about, as_planned, pair, heterogeneity,"),
        ({"memry": "off"}, "memry: no such parameter. Did you mean memory?"),
        ({"chatbot": "chatgtp"}, "chatbot=chatgtp is unknown here. Did you mean chatgpt?"),
        ({"draws": "1"}, "draws takes 20 to 20,000, not '1'."),
        ({"seed": "-1"}, "seed takes 0 to"),
        ({"draws": "0" * 8 + "200020000"}, "draws takes 20 to 20,000, not '0000"),
        ({"format": "csv"}, "format is json or flat, not 'csv'."),
    ],
)
def test_bad_input_is_one_sentence(client: Client, query: dict[str, str], words: str) -> None:
    answer = get(client, **query)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(words)


def test_strangers_and_the_nameless_see_nothing(study: Study) -> None:
    stranger = client_of("eve", make_study("draft", slug="coffees"), "owner")
    for name, more in (("metrics", ()), ("figure", ("heterogeneity",))):
        assert get(stranger, name, *more).status_code == 404
        assert get(Client(), name, *more).status_code == 401


def test_a_study_without_prompts_is_one_sentence(client: Client, study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(current=None)
    answer = get(client)
    assert (answer.status_code, answer.json()["detail"]) == (
        400, "teas has no definition yet. Load its study file first."
    )  # fmt: skip


def test_a_figure_as_a_spec(client: Client) -> None:
    figure = get(client, "figure", "heterogeneity", rarefied="1").json()
    assert "vega-lite" in figure["spec"]["$schema"]
    assert {"title", "caption", "alt", "table", "columns"} <= figure.keys()
    assert {"name", "label", "unit"} == figure["columns"][0].keys()
    assert {row["source"] for row in figure["table"]} == {"field", "offline"}


def test_figures_are_rarefied_unless_raw_values_are_asked_for(client: Client) -> None:
    default, raw = (get(client, "figure", "heterogeneity", **asked).json() for asked in ({}, {"rarefied": "false"}))
    assert [row["n"] for row in default["table"]] == [4, 4]
    assert [row["n"] for row in raw["table"]] == [4, 6]


def test_the_figure_of_waiting_times_has_them(client: Client, study: Study) -> None:
    Completion.objects.update(latency_ms=1500)
    figure = get(client, "figure", "latency").json()
    assert [(row["source"], row["n"], row["p50"]) for row in figure["table"]] == [("offline", 12, 1.5)]


def test_an_unknown_figure_is_one_sentence(client: Client) -> None:
    answer = get(client, "figure", "pie")
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("There is no figure 'pie'. Figures: ")


@pytest.mark.parametrize(
    ("figure", "measure", "words"),
    [
        ("demographics", "uniqe", "uniqe: no such measure. Did you mean unique?"),
        ("demographics", "item_share", "item_share: no such measure. Did you mean correct_share?"),
        ("precision", "unique", "unique: no such measure. The measures are entropy_bits, item_share, "),
    ],
)
def test_a_measure_that_a_figure_does_not_have_is_refused(
    client: Client, figure: str, measure: str, words: str
) -> None:
    answer = get(client, "figure", figure, measure=measure)
    assert (answer.status_code, answer.json()["detail"][: len(words)]) == (400, words)
    assert get(client, "figure", figure, measure="entropy_bits").status_code == 200


def test_flat_rows_by_hand() -> None:
    row = {
        "n": 4,
        "ci": {"unique": [2, 4], "entropy_bits": None},
        "bounds": [0.5, 0.75],
        "novel_ci": None,
        "rarefied": {"n": 3, "ci": {"unique": [1.5, 2]}},
        "nearest_for": ["teas", "water"],
        "top_items": [{"item": "assam"}],
    }
    assert flatten(row) == {
        "n": 4,
        "ci_unique_low": 2,
        "ci_unique_high": 4,
        "ci_entropy_bits_low": None,
        "ci_entropy_bits_high": None,
        "bounds_low": 0.5,
        "bounds_high": 0.75,
        "novel_ci_low": None,
        "novel_ci_high": None,
        "rarefied_n": 3,
        "rarefied_ci_unique_low": 1.5,
        "rarefied_ci_unique_high": 2,
        "nearest_for": "teas, water",
    }


# --- what is not kept, of a study with many answers


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch, study: Study) -> list[Any]:
    """Requests to workers, for a study treated as one with many answers."""
    with redis.Redis.from_url(settings.REDIS_URL) as store:
        for key in store.scan_iter("report:*"):
            store.delete(key)
    asked: list[Any] = []
    monkeypatch.setattr(shown, "SMALL", 0)
    monkeypatch.setattr(tasks.compute_report, "delay", lambda *order: asked.append(order))
    return asked


@pytest.mark.parametrize(("name", "more"), [("metrics", ()), ("figure", ("heterogeneity",))])
def test_what_takes_long_is_computed_by_a_worker_and_asked_for_again(
    client: Client, orders: list[Any], name: str, more: tuple[str, ...]
) -> None:
    query = {"memory": "on", "seed": "3"}
    answer = get(client, name, *more, **query)
    told = answer.json()
    assert (answer.status_code, answer.headers["Retry-After"]) == (202, "2")
    assert told["detail"] == "This is being computed; ask again in 2 seconds."
    assert "heterogeneity" in told["parts"] and urlsplit(told["address"]).query == "draws=20&memory=on&seed=3"
    assert [order[3:] for order in orders] == [(3, 20)] * len(orders) and orders
    again = get(client, name, *more, **query)
    assert (again.status_code, again.json()["parts"]) == (202, told["parts"])
    for order in list(orders):
        tasks.compute_report(*order)
    assert get(client, name, *more, **query).status_code == 200


def test_without_a_worker_to_ask_it_is_computed_at_once(
    client: Client, orders: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*order: Any) -> None:
        raise OperationalError

    monkeypatch.setattr(tasks.compute_report, "delay", refuse)
    assert get(client, part="heterogeneity").status_code == 200


def test_few_texts_with_many_draws_are_a_workers_too(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks.compute_report, "delay", lambda *order: None)
    assert get(client, part="heterogeneity", draws="20000").status_code == 202
