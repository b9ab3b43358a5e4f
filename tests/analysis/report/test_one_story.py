"""Sentences, cards, links and marks of the comparing pages agree with what is beside them, even with few people."""

import csv
import io
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from analysis.answers.readings import read_new
from analysis.charts.figure import DATASET, SIMULATED, Options
from analysis.charts.rendering import render
from analysis.exports.formats import figure_csv
from analysis.report.claims.gate import claims_of, opening_of, said_of
from analysis.report.filters import Filters
from analysis.report.overview import OVERVIEW_FIGURES
from analysis.report.pages.sections import Places
from analysis.report.pages.shown import Asked, Shown
from analysis.report.parts import FIGURES
from surveys.models import Study
from surveys.studies.wording import FIXED
from tests.analysis.report.compare_samples import address, heading, links
from tests.analysis.report.figure_rows import MODELS, SOURCES
from tests.analysis.report.figure_rows import make_report as figure_report
from tests.analysis.report.report_samples import listed, make_model_run, reply, tell
from tests.analysis.report.test_claims import BENCHMARK, FIELD, Row, make_lists, make_report
from tests.factories import make_study
from tests.surveys.console.console_pages import lines_of, log_in

pytestmark = pytest.mark.usefixtures("few_draws")


def make_models(people: int) -> Study:
    """Few people, and models with more than enough answers: a run and its repetition on another day."""
    study = make_study(places=20)
    for number in range(people):
        tell(study, ["Assam", f"Tea {number}"], "A" if number else "C")
    run = make_model_run(study)
    again = make_model_run(study, first_run=run, began_at=timezone.now() + timedelta(days=7))
    for repeat in range(25):
        for one in (run, again):
            reply(one, "teas", listed(["Sencha", f"Green {repeat % 3}"]), repeat)
            reply(one, "water", "C", repeat)
    read_new(study)
    return study


@pytest.mark.django_db
@pytest.mark.parametrize("people", [0, 3])
def test_one_rule_of_enough_is_asked_by_titles_and_cards(people: int) -> None:
    client = log_in(make_models(people), "viewer")
    few = "Fewer than 20 people have answered a prompt: too few"
    why = few if people else "No answers of people"
    pages = ("overview", "heterogeneity", "items", "choices", "distances", "sensitivity")
    if not people:
        pages = tuple(name for name in pages if name not in ("heterogeneity", "distances"))  # they have none to show
    opened = {name: heading(client.get(address(name))) for name in (*pages, "precision")}
    assert {name: words for name, words in opened.items() if not words.startswith(why)} == (
        {} if people else {"precision": opened["precision"]}
    )
    assert opened["precision"].startswith(few)
    words = lines_of(client.get(address()))
    # The title and two cards; the third is beside its figure.
    assert words.count(why) >= 3 and "No difference" not in words
    # Claims that rest on no person are made all the same.
    assert "of a run and its repetition is drift sure" in heading(client.get(address("drift")))


@pytest.mark.django_db
def test_the_sentence_of_compare_leads_to_all_whom_it_counts() -> None:
    study = make_study(places=80)
    for number in range(60):
        tell(study, ["Assam"] if number % 4 else ["Sencha"], "C")
    run = make_model_run(study)
    for repeat in range(60):
        reply(run, "teas", listed(["Sencha"]), repeat)
    read_new(study)
    client = log_in(study, "viewer")
    behind = links(client.get(address()), "/texts/?")[:2]
    assert [heading(client.get(href)).split(":")[0] for href in behind] == ["60 texts", "60 texts"]


@pytest.mark.django_db
def test_without_simulated_ones_nothing_is_marked_as_simulated() -> None:
    study = make_study(places=20)
    tell(study, ["Assam"])
    run = make_model_run(study, provider="fake")
    reply(run, "teas", listed(["Sencha"]))
    read_new(study)
    client = log_in(study, "viewer")
    assert "Simulated, not real" in lines_of(client.get(address("heterogeneity")))
    assert "Simulated, not real" not in lines_of(client.get(address("heterogeneity", "simulated=without")))


@pytest.mark.django_db
def test_items_shows_the_prompt_that_its_title_is_about() -> None:
    study = make_study()
    claim = {"page": "items", "prompt": "second"}
    lists = [{"slug": slug, "kind": "recommendation"} for slug in ("first", "second", "third")]

    places = Places(Shown(study, Asked(Filters()), ()))
    places.shown.__dict__["report"] = {"prompts": lists, "claims": [claim]}
    assert places.chosen_prompt == "second"
    places.shown.__dict__["report"] = {"prompts": lists, "claims": []}
    assert places.chosen_prompt == "first"


# --- what filters hide ------------------------------------------------------


def told(report: Row, shown: str) -> Row:
    """The report with the claims about one prompt's rows."""
    rows = {"heterogeneity": [row for row in report["heterogeneity"] if row["prompt"] == shown]}
    claims, families = claims_of(report, report | rows, lambda row: row["prompt"] == shown)
    return report | {"claims": claims, "families": families}


def test_a_filter_that_hides_a_claim_does_not_deny_it() -> None:
    same = make_lists(shares={"tesla": (0.4, 0.4)})
    report = make_report(heterogeneity=[*make_lists(1.5), *({**row, "prompt": "movies"} for row in same)])
    assert "Companies" in opening_of(told(report, "companies"), "items")
    hidden = told(report, "movies")
    for page in ("overview", "items", "heterogeneity"):
        assert opening_of(hidden, page) == "Of what these filters show, no difference is sure."
    assert said_of(hidden, ("variety",)) == "Of what these filters show, no difference is sure."


def test_while_texts_are_unread_no_answers_are_said_to_be_missing() -> None:
    people = [row for row in make_lists(1.5) if row["source"] == "field"]
    report = make_report(heterogeneity=people)
    assert opening_of(report, "overview") == ""
    report["answers"] = {"unread": 240}
    assert opening_of(report, "overview") == "Nothing is compared yet: 240 texts still to be read."
    assert opening_of(report, "costs") == ""  # it makes no claims, and says itself what it has


def test_how_many_prompts_are_those_that_are_shown() -> None:
    rows = [{**row, "prompt": name} for name in ("companies", "movies") for row in make_lists(1.5)]
    report = make_report(heterogeneity=rows)
    assert "for 2 of 2 prompts" in opening_of(report, "heterogeneity")
    assert "gpt-4o-mini for “Movies”: entropy" in opening_of(told(report, "movies"), "heterogeneity")


# --- answers in which nothing was found -------------------------------------


def runs_of(*scores: tuple[float, float]) -> list[Row]:
    return [{"run": f"{place}", "accuracy": low, "high": high} for place, (low, high) in enumerate(scores)]


@pytest.mark.parametrize(("unread", "said"), [(0.0, 1), (0.2, 0)])
def test_scores_that_unread_answers_could_bring_together_are_not_called_apart(unread: float, said: int) -> None:
    ends = {"min": 0.60, "max": 0.70, "runs": runs_of(*[(0.65, 0.65 + unread)] * 8), "units": 8}
    row = BENCHMARK | ends | {"offline_runs": 8, "overlaps_offline": False, "offline": {}}
    offline = BENCHMARK | {"source": "offline", "min": 0.8, "max": 0.85, "runs": runs_of((0.8, 0.8))}
    report = make_report(benchmarks=[row, offline])
    assert sum(claim["kind"] == "ranges" for claim in report["claims"] if claim["page"] == "benchmarks") == said
    (family,) = [family for family in report["families"] if family["page"] == "benchmarks"]
    assert bool(family["held"]) != bool(said)


@pytest.mark.parametrize(("unread", "said"), [(0.0, 1), (0.2, 0)])
def test_a_spread_that_unread_answers_could_close_is_not_claimed(unread: float, said: int) -> None:
    floor = {"range": 0.02, "ci": [0.01, 0.03], "p": 0.0005}
    ends = {"min": 0.60, "max": 0.70, "runs": runs_of((0.6, 0.6 + unread), (0.7, 0.7))}
    report = make_report(benchmarks=[BENCHMARK | ends | {"noise_floor": floor}])
    assert sum(claim["kind"] == "spread" for claim in report["claims"] if claim["page"] == "benchmarks") == said


@pytest.mark.parametrize(("unread", "said"), [(0, 1), (45, 0)])
def test_unread_answers_of_a_group_are_not_wrong_ones(unread: int, said: int) -> None:
    test = {"effect": -0.4, "ci": [-0.5, -0.3], "n": 100}
    row = FIELD | {"cell": "a", "name": "Some", "kind": "choice", "n": 100, "units": 100, "unknown": unread}
    row |= {"correct_share": 0.5, "against_rest": {"correct_share": test}}
    rest = row | {"cell": "b", "name": "Others", "unknown": 0, "correct_share": 0.9, "against_rest": {}}
    found = make_report(cells=[row, rest])["claims"]
    assert sum(claim["page"] == "demographics" for claim in found) == said


# --- figures ----------------------------------------------------------------


def context_rows(**sizes: int) -> list[Row]:
    """Rows of people's lists by context (`memory_on=42`), rarefied to the given n."""
    rows = []
    for name, n in sizes.items():
        context, value = name.split("_")
        values = {"n": n, "entropy_bits": 4.0, "ci": {"entropy_bits": [3.8, 4.2]}}
        row = {"prompt": "books", "source": "field", "model": "chatgpt", "kind": "recommendation", "n": 193}
        rows.append(row | {"context": context, "value": value, "rarefied": values} | values)
    return rows


def test_answers_to_one_question_stand_in_a_panel_at_one_n() -> None:
    rows = context_rows(memory_on=42, memory_off=42, plan_free=47, plan_paid=47, product_only=193)
    figure = FIGURES["contexts"](figure_report(contexts=rows), Options(rarefied=True))
    drawn = {(row["panel"], row["series"]) for row in figure.spec["datasets"][DATASET]}
    assert drawn == {
        *(("memory", f"Memory: {value}") for value in ("on", "off")),
        *(("plan", f"Plan: {value}") for value in ("free", "paid")),
    }
    assert {(row["question"], row["n"]) for row in figure.table} == {("memory", 42), ("plan", 47)}
    assert f"Memory n{FIXED}={FIXED}42 and Plan n{FIXED}={FIXED}47 responses a mark" in figure.caption
    assert "193" not in figure.caption
    panels = figure.spec["vconcat"][0]["vconcat"]
    ends = [panel["layer"][0]["encoding"]["y"]["scale"]["domain"] for panel in panels]
    assert ends[0] == ends[1] and 0 < ends[0][0] < 3.8 and ends[0][1] == 4.2


def made_up(people: int, models: bool) -> Row:
    report = figure_report()
    sources = [
        {"source": source, "model": model, "main": True, "history_size": 20 if source == "sp-history" else None}
        | {"simulated": models}
        for source in SOURCES[1:]
        for model in MODELS
    ]
    count = {"people": people, "people_in_all": 400, "completions": 90 * models, "models": [*MODELS] * models}
    marked = {"simulated": count | {"is_any": bool(people or models)}, "sources": sources}
    parts = {
        "benchmarks": models,
        "field_benchmark": models,
        "costs": models,
        "latency": models,
    }  # whose rows say it themselves
    rows = {name: [row | {"simulated": is_so} for row in report.get(name) or []] for name, is_so in parts.items()}
    return report | rows | marked


@pytest.mark.parametrize("name", [*FIGURES, *OVERVIEW_FIGURES])
def test_figures_and_their_numbers_carry_the_mark_of_simulated_data(name: str) -> None:
    draw = FIGURES.get(name) or OVERVIEW_FIGURES[name].draw
    for is_so in (True, False):
        figure = draw(made_up(400 if is_so else 0, is_so), Options(rarefied=True))
        if name == "pair":
            continue  # without sides it is a single sentence
        assert (figure.mark == SIMULATED) is (SIMULATED in json.dumps(figure.spec)) is is_so
        rows = list(csv.DictReader(io.StringIO(figure_csv(figure))))
        assert rows and {row["simulated"] for row in rows} == {"true" if is_so else "false"}


def test_only_what_is_drawn_is_marked_as_simulated() -> None:
    report = made_up(0, models=True)
    field = FIGURES["demographics"](report, Options())
    assert field.mark == "" and not any(row["simulated"] for row in field.table)
    both = FIGURES["heterogeneity"](report, Options())
    assert [SIMULATED in render(each, "svg").decode() for each in (field, both)] == [False, True]
    assert both.mark and {row["source"] for row in both.table if not row["simulated"]} == {"field"}


def test_captions_name_no_settings_of_what_is_not_drawn() -> None:
    report = made_up(0, models=False)
    said = "In front of a prompt: SP-History 20 conversations."
    assert said in FIGURES["heterogeneity"](report, Options()).caption
    for name in ("demographics", "contexts", "sensitivity", "precision", "calibration"):
        assert "In front of a prompt" not in FIGURES[name](report, Options()).caption, name
    without = [row for row in report["heterogeneity"] if row["source"] != "sp-history"]
    alone = FIGURES["heterogeneity"](report | {"heterogeneity": without}, Options(rarefied=True))
    assert "In front of a prompt" not in alone.caption
