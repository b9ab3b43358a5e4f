"""The multiverse: which universes a study has, their numbers by hand, resuming after a stop, and its page."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils.formats import date_format

from analysis.answers.aliases import accept
from analysis.answers.readings import read_new
from analysis.charts.figure import Options
from analysis.charts.rendering import render
from analysis.models import Answer, MetricValue
from analysis.report.bundle import bundles
from analysis.report.multiverse import universes
from analysis.report.multiverse.choices import CHOICES
from analysis.report.multiverse.curve import draw_curve, mark_of, rows_alone, say_curve
from analysis.report.multiverse.universes import (
    MOST,
    MultiverseError,
    curves_of,
    find_multiverse,
    keep_multiverse,
    universes_of,
)
from analysis.report.pages import planned_views
from analysis.report.tasks import compute_multiverse
from surveys.models import Study
from surveys.studies import lifecycle
from surveys.studies.files.hypotheses import VARIED, Hypothesis, PlanKeys
from tests.analysis.report.report_samples import listed, make_model_run, make_teas, reply, tell
from tests.analysis.report.unpacked import change, read_csv, recompute, unpack
from tests.factories import make_definition
from tests.surveys.console.console_pages import log_in

SIDES = {"a": "field", "expected": "less", "b": "offline/gpt-4o-mini"}
ASSAM = Hypothesis("assam", "Assam is named less.", "item_share", **SIDES, prompts=("teas",), item="assam")
WATER = Hypothesis("water", "Fewer are right.", "correct_share", **SIDES)
ALL_BUT_FLAGGED = PlanKeys(multiverse=tuple(name for name in VARIED if name != "flagged"))


def make_closed(*hypotheses: Hypothesis, plan: PlanKeys = ALL_BUT_FLAGGED) -> Study:
    """Of five people three name Assam, one its alias “Assam tea”, and one nothing, a reading in doubt."""
    study = make_teas(definition=replace(make_definition(20), hypotheses=hypotheses, plan=plan))
    tell(study, ["Assam tea"], "C", chatbot="gemini")
    warm = make_model_run(study, temperature=0.2)
    for repeat in range(4):
        reply(warm, "teas", listed(["Sencha"]), repeat)
    read_new(study)
    accept(study, "teas", ["assam tea"], "assam", "me")
    Answer.objects.update(doubt="")  # two teas are fewer than were asked for
    Answer.objects.filter(response__prompt__slug="teas", items=[]).update(doubt="no-items")
    lifecycle.close(study, "me")
    study.refresh_from_db()
    return study


def test_every_choice_that_a_file_may_name_is_declared() -> None:
    assert tuple(CHOICES) == VARIED


def test_a_universe_without_a_p_is_not_drawn_as_one_above_alpha() -> None:
    rows = [{"value": value, "ci": None, "p": p, "options": []} for value, p in ((0.1, 0.5), (0.2, 0.01), (0.3, None))]
    curve = {"measure": "correct_share", "alpha": 0.05, "planned": None, "rows": rows}
    marks = [mark_of(curve, row, rank, 100) for rank, row in enumerate(rows, 1)]
    assert [mark["series"] for mark in marks] == ["p above alpha", "p at most alpha", "no p"]


def test_of_many_universes_a_part_is_drawn_with_all_that_change_one_choice() -> None:
    few, possible = universes_of({"flagged": ["in", "out"], "language": ["all", "de", "en"]}, "h", 0)
    assert (len(few), possible) == (6, 6) and few[0] == {"flagged": "in", "language": "all"}
    many = {f"choice-{number}": ["0", "1", "2"] for number in range(7)}
    drawn, possible = universes_of(many, "h", 0)
    assert (len(drawn), possible) == (MOST, 3**7) and drawn == universes_of(many, "h", 0)[0]
    assert len({tuple(one.values()) for one in drawn}) == MOST
    assert all(sum(option != "0" for option in one.values()) == 1 for one in drawn[1:15])


@pytest.mark.django_db
def test_each_choice_changes_what_it_says() -> None:
    study = make_closed(ASSAM, WATER)
    keep_multiverse(study)
    document, _ = find_multiverse(study)
    assert document
    assam, water = curves_of(document)
    varied = {each["choice"]: [one["option"] for one in each["options"]] for each in assam["choices"]}
    assert varied == {"doubtful": ["in", "out"], "spellings": ["made one", "as written"], "temperature": ["1", "0.2"]}
    assert [each["choice"] for each in water["choices"]] == ["doubtful", "temperature"]  # letters have no spellings
    assert (assam["all"], water["all"]) == (8, 4)
    value = {tuple(row["options"]): row["value"] for row in assam["rows"]}
    # Four of five, all six calls; four of four without the doubtful one; three as written; at 0.2 no call.
    assert value["in", "made one", "1"] == pytest.approx(4 / 5 - 1) == pytest.approx(assam["planned"]["value"])
    assert value["out", "made one", "1"] == pytest.approx(4 / 4 - 1)
    assert value["in", "as written", "1"] == pytest.approx(3 / 5 - 1)
    assert value["out", "as written", "0.2"] == pytest.approx(3 / 4)
    assert assam["same_sign"] == sum(one < 0 for one in value.values()) / 8 == 3 / 8
    assert [row["option"] for row in rows_alone(assam)] == ["", "out", "as written", "0.2"]
    assert {row["options"][0]: row["n_a"] for row in assam["rows"]} == {"in": 5, "out": 4}
    assert "8 universes, 38\u202f% of 8 have the sign" in say_curve(assam)
    assert " of 8 a p of at most 0.05, each taken alone." in say_curve(assam)
    figure = draw_curve(assam, Options())
    assert len(figure.table) == 8 and b"as written" in render(figure, "svg")


@pytest.mark.django_db
def test_sides_with_other_temperatures_of_their_own_come_first_as_reported() -> None:
    two = replace(ASSAM, a="offline/gpt-4o-mini", b="offline/gpt-4.1")
    study = make_closed(two, plan=PlanKeys(multiverse=("temperature",)))
    for temperature in (0.2, 0.7):
        run = make_model_run(study, model="gpt-4.1", temperature=temperature)
        for repeat in range(6):
            reply(run, "teas", listed(["Assam" if repeat < 10 * temperature - 2 else "Sencha"]), repeat)
    read_new(study)
    (curve,) = curves_of(keep_multiverse(study))
    assert [each["option"] for each in curve["choices"][0]["options"]] == ["as reported", "0.2"]
    # All six at 1 against five of six at 0.7; none and none at 0.2.
    assert curve["planned"]["value"] == pytest.approx(1 / 6)
    assert [row["value"] for row in curve["alone"]] == [0]


@pytest.mark.django_db
def test_the_plan_names_what_is_varied() -> None:
    study = make_closed(ASSAM, plan=PlanKeys(multiverse=("doubtful", "spellings")))
    (curve,) = curves_of(keep_multiverse(study))
    assert [each["choice"] for each in curve["choices"]] == ["doubtful", "spellings"] and curve["n"] == 4


@pytest.mark.django_db
def test_before_the_end_there_is_none() -> None:
    study = make_teas(definition=replace(make_definition(20), hypotheses=(ASSAM,)))
    with pytest.raises(MultiverseError, match=r"Not before the end, .* 4 of 80 people"):
        keep_multiverse(study)


@pytest.mark.django_db
def test_one_that_was_stopped_goes_on_and_one_of_other_answers_is_older(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_closed(ASSAM, WATER)
    tested: list[str] = []
    test = universes.hypothesis_rows

    def counted(data: Any, sides: Any, plan: Any) -> list[dict[str, Any]]:
        tested.append(sides.hypothesis.slug)
        return test(data, sides, plan)

    monkeypatch.setattr(universes, "hypothesis_rows", counted)
    clock = iter(range(10_000))
    monkeypatch.setattr(universes.time, "monotonic", lambda: next(clock))
    keep_multiverse(study, seconds=5)
    begun, is_today = find_multiverse(study)
    assert begun and is_today and begun["done"] == len(tested) and 0 < len(tested) < 12
    whole = keep_multiverse(study)
    assert len(tested) == 12 == whole["done"] and find_multiverse(study) == (whole, True)
    keep_multiverse(study)
    assert len(tested) == 12
    accept(study, "teas", ["oolong"], "assam", "me")
    assert find_multiverse(study) == (whole, False)
    assert keep_multiverse(study)["done"] == 12
    assert MetricValue.objects.filter(study=study, name="multiverse").count() == 1


@pytest.mark.django_db
def test_the_page_asks_a_worker_and_shows_a_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_closed(ASSAM)
    asked: list[int] = []
    monkeypatch.setattr(planned_views.compute_multiverse, "delay", asked.append)
    client = log_in(study, "researcher")
    page, compute = (reverse(f"compare:{name}", args=[study.slug]) for name in ("multiverse", "multiverse-compute"))
    assert "Compute the multiverse" in client.get(page).content.decode()
    for _ in range(2):
        assert client.post(compute).status_code == 302
    assert asked == [study.pk] and "0 of 0 universes" in client.get(page).content.decode()
    compute_multiverse(study.pk)
    part = reverse("compare:multiverse-curve", args=[study.slug, 1])
    shown = client.get(page).content.decode()
    assert part in shown and "being drawn" in shown
    assert "<svg" in client.get(part).content.decode()
    shown = client.get(page).content.decode()
    assert "being drawn" not in shown and "<svg" in shown and "as written" in shown
    assert "1 hypothesis in 8 universes; the planned sign in 38" in shown
    assert "38\u202f% of 8 have the sign of the planned one" in shown and "robust" not in shown
    table = client.get(reverse("compare:multiverse-figure", args=[study.slug, 1, "csv"])).content.decode()
    assert table.startswith("rank,value,low,high,p,n_a,n_b,doubtful,spellings,temperature") and table.count("\n") == 9
    document = json.loads(client.get(reverse("compare:multiverse-document", args=[study.slug])).content)
    assert document["done"] == 8 and document["is_of_todays_answers"]
    made = MetricValue.objects.get(study=study, name=universes.NAME)
    begun = {**made.value, "done": 0, "hypotheses": [each | {"rows": []} for each in made.value["hypotheses"]]}
    accept(study, "teas", ["oolong"], "assam", "me")
    later = made.computed_at + timedelta(days=400)
    stamp = universes.fingerprint_of(study)
    MetricValue.objects.create(
        study=study, name=universes.NAME, fingerprint=stamp, value=begun, computed_at=later, seconds=1
    )
    shown = " ".join(client.get(page).content.decode().split())
    assert f"have changed since this was computed, {date_format(made.computed_at, 'j M Y, H:i')}." in shown
    made.delete()
    assert "Would other choices have said the same?" in client.get(page).content.decode()


@pytest.mark.django_db
@pytest.mark.slow
def test_a_bundle_has_every_universe_of_todays_answers_and_recomputes_what_they_say_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "figures_of", lambda report: [])
    study = make_closed(ASSAM, WATER)
    unpack(study, tmp_path)
    assert not (tmp_path / "data" / "multiverse.csv").exists()
    said = ("README.md", "codebook.md", "MANIFEST.json", "report.json")
    assert not [name for name in said if "multiverse" in (tmp_path / name).read_text().lower()]
    assert "multiverse: 0 numbers" in recompute(tmp_path).stdout
    keep_multiverse(study)
    unpack(study, tmp_path)
    rows = read_csv(tmp_path, "multiverse")
    assert [(row["hypothesis"], row["universe"]) for row in rows[7:9]] == [("assam", "8"), ("water", "1")]
    first = {name: rows[0][name] for name in ("prompts", "doubtful", "spellings", "exclusions", "same_sign")}
    assert list(first.values()) == ["teas", "in", "made one", "", "true"]
    assert float(rows[0]["value"]) == pytest.approx(-1 / 5)
    assert [row["same_sign"] for row in rows[:8]].count("true") == 3
    readme = (tmp_path / "README.md").read_text()
    assert "- `assam` (teas): 8 universes, 38\u202f% of 8 have the sign of the planned one" in readme
    # For each, three counts of rows, two shares twice and three estimates; for the planned one value, two ends and p.
    done = recompute(tmp_path)
    assert "multiverse: 28 numbers, 0 differ" in done.stdout and done.returncode == 0, done.stdout
    table = tmp_path / "data" / "multiverse.csv"
    written = table.read_text()
    change(table, "true,false,false", "false,true,false")  # `same_sign` and `significant` of one universe
    done = recompute(tmp_path)
    assert "assam, teas: same_sign by its column is 0.375 in the report, 0.25 by the data" in done.stdout
    assert "assam, teas: significant by its column is 0.25 in the report, 0.375 by the data" in done.stdout
    table.write_text(written)
    change(table, ",0.75,", ",-0.75,")  # the one universe that has it
    done = recompute(tmp_path)
    assert "assam, teas: same_sign is 0.375 in the report, 0.5 by the data" in done.stdout and done.returncode == 1
    accept(study, "teas", ["oolong"], "assam", "me")
    unpack(study, tmp_path)  # older than today's answers
    assert "multiverse" not in (tmp_path / "MANIFEST.json").read_text()
