"""What is independent in the answers compared: people, simulated users with all repeats, single calls."""

import csv
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.utils import timezone

from analysis.answers.readings import read_new
from analysis.models import Completion, SimulatedUser
from analysis.report.dataset import load_frames
from analysis.report.filters import Filters
from analysis.report.parts import PARTS
from analysis.report.reports import report
from analysis.report.samples import Data
from analysis.runs.imports import import_completions
from analysis.stats.intervals import FEW_UNITS
from analysis.stats.item_measures import MEASURES
from surveys.models import Study
from surveys.studies.lifecycle import definition_of
from tests.analysis.report.report_samples import listed, make_model_run, reply, tell
from tests.analysis.runs.baseline_factories import make_call, make_item
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def bring_in(study: Study, folder: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Import completions; `rows` give the cells that differ from a default line of the source `lab`."""
    lines = [{"source": "lab", "model": "gpt-4o-mini", "prompt": "teas", "temperature": "1", **row} for row in rows]
    path = folder / "completions.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, sorted({name for line in lines for name in line}), restval="")
        writer.writeheader()
        writer.writerows(lines)
    import_completions(study, path, "tests")
    read_new(study)


def data_of(study: Study) -> Data:
    return Data(study, definition_of(study.current_id), load_frames(study), Filters())


def test_units_of_people_calls_and_simulated_users(study: Study, tmp_path: Path) -> None:
    bring_in(study, tmp_path, [{"text": listed(["Assam"]), "user": user} for user in ("ann", "ann", "bob", "")])
    data = data_of(study)
    (group,) = [group for group in data.groups if group.chatbot == "chatgpt"]
    found = {source.name: (data.unit_of(source), data.items(source, "teas").unit_count) for source in group.sources}
    assert found == {"field": ("person", 4), "offline": ("repeat", 6), "lab": ("simulated user", 3)}
    lab = next(source for source in group.sources if source.name == "lab")
    assert data.options(lab, "water").unit_count == 0
    units = data.units(lab, "teas")
    assert units is not None and len(np.unique(units)) == 3 and units[0] == units[1]


def test_answers_of_nobody_share_their_unit_with_no_other_answer(study: Study, tmp_path: Path) -> None:
    said = {"teas": listed(["Assam"]), "water": "A"}
    rows = [
        {"text": text, "user": user, "prompt": prompt, "run": run}
        for prompt, text in said.items()
        for run in ("first", "second")
        for user in ("ann", "", "")
    ]
    bring_in(study, tmp_path, rows)
    data = data_of(study)
    (lab,) = {source for group in data.groups for source in group.sources if source.name == "lab"}
    units = [data.units(lab, prompt) for prompt in said]
    named = np.intersect1d(*units)
    assert all((units_of_prompt >= 0).sum() == 2 for units_of_prompt in units)
    # Only a named user answers both prompts.
    assert (named >= 0).all() and all(len(np.unique(own[own < 0])) == 4 for own in units)


def ask_users(study: Study, users: int, repeats: int, condition: str = "sp-history", **changes: Any) -> None:
    recipe = changes.pop("recipe", {})
    run = make_model_run(study, condition, **changes)
    for index in range(users):
        user = SimulatedUser.objects.create(run=run, index=index, recipe=recipe)
        for repeat in range(repeats):
            reply(run, "teas", listed(["Assam"]), repeat, user=user)


def units_of(study: Study, name: str = "sp-history") -> tuple[str, int, int]:
    read_new(study)
    data = data_of(study)
    (puppet,) = [source for source in data.sources if source.name == name]
    sample = data.items(puppet, "teas")
    return data.unit_of(puppet), sample.n, sample.unit_count


def test_runs_of_one_seed_have_the_same_simulated_users(study: Study) -> None:
    for seed in (1, 1, 2):
        ask_users(study, 2, 3, seed=seed)
    assert units_of(study) == ("simulated user", 18, 4)


def test_users_of_one_seed_with_other_histories_are_others(study: Study) -> None:
    for hashes in (["a", "b"], ["a", "b"], ["a", "c"]):
        ask_users(study, 2, 3, recipe={"conversations": hashes})
    assert units_of(study) == ("simulated user", 18, 4)


@pytest.mark.parametrize(("users", "repeats"), [(4, 1), (1, 4)])
def test_what_a_whole_corpus_has_nearest_is_nobodys_own(study: Study, users: int, repeats: int) -> None:
    ask_users(study, users, repeats, "sp-rag")
    assert units_of(study, "sp-rag") == ("repeat", 4, 4)


def test_users_with_a_history_of_their_own_are_units_of_rag_too(study: Study) -> None:
    ask_users(study, 2, 2, "sp-rag", per_user=True)
    assert units_of(study, "sp-rag") == ("simulated user", 4, 2)


def test_what_else_sets_runs_apart_is_part_of_the_source(study: Study, tmp_path: Path) -> None:
    bring_in(study, tmp_path, [{"text": listed(["Chai"]), "settings": words} for words in ("", "reasoning high")])
    thinking = make_model_run(study)
    thinking.endpoint.extra = {"reasoning_effort": "high"}
    thinking.endpoint.save()
    reply(thinking, "teas", listed(["Chai"]))
    read_new(study)
    named = [(source.name, source.settings["settings"]) for source in data_of(study).sources]
    assert named == [
        ("offline", ""), ("offline", "reasoning_effort=high"), ("lab", ""), ("lab", "reasoning high")
    ]  # fmt: skip


# --- through the report


def found_in(study: Study) -> dict[str, Any]:
    return report(study, draws=200)


TEAS = ["Assam", "Sencha", "Oolong", "Chai", "Matcha", "Rooibos", "Mate", "Keemun"]


def liked(dice: random.Random, favourite: int, number: int = 3) -> str:
    """A list of teas in which the favourite is the most likely one."""
    weights = [12 if place == favourite else 1 for place in range(len(TEAS))]
    found: list[str] = []
    while len(found) < number:
        found = list(dict.fromkeys([*found, *dice.choices(TEAS, weights)]))
    return listed(found)


def make_people_and_users(folder: Path, users: int = 10, repeats: int = 12) -> Study:
    """30 people and a sock puppet of few users, each with a favourite tea: one population."""
    dice, study = random.Random(1), make_study(places=60, slug="others")
    for _ in range(30):
        named = [line.partition(" ")[2] for line in liked(dice, dice.randrange(8)).splitlines()]
        tell(study, named, dice.choice("CCAB"))
    likes = [dice.randrange(8) for _ in range(users)]
    rows = [
        {"source": "sp-history", "user": f"user {user}", "prompt": prompt, "text": text}
        for user in range(users)
        for _ in range(repeats)
        for prompt, text in (("teas", liked(dice, likes[user])), ("water", "C" if user % 2 else dice.choice("AB")))
    ]
    bring_in(study, folder, rows)
    return study


def test_few_users_with_many_answers_count_as_few(tmp_path: Path) -> None:
    study = make_people_and_users(tmp_path)
    found = found_in(study)
    for part in ("heterogeneity", "choices", "items", "distances", "calibration"):
        rows = [row for row in found[part] if row["source"] == "sp-history"]
        if part != "calibration":
            assert {(row["n"], row["unit"], row["units"]) for row in rows} == {(120, "simulated user", 10)}, part
    (choice,) = [row for row in found["choices"] if row["source"] == "sp-history"]
    # Half of the users always say C: worth ten answers, not 120.
    assert choice["correct_share"] == 0.5 and choice["ci"][1] - choice["ci"][0] > 0.45
    (items,) = [row for row in found["heterogeneity"] if row["source"] == "sp-history"]
    field = next(row for row in found["heterogeneity"] if row["source"] == "field")
    assert (items["rarefied"]["n"], items["against_field"]["entropy_bits"]["n"]) == (10, 10)
    assert items["rarefied"]["field"]["unique"] < field["rarefied"]["unique"] and field["rarefied"]["n"] == 30
    assert all(test["p"] > 0.05 for test in items["against_field"].values())
    (distance,) = found["distances"]
    assert distance["p"] > 0.05 and distance["even"] == pytest.approx(distance["chance"], rel=0.35)


def test_three_users_have_no_interval_of_entropy_and_pages_say_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make_people_and_users(tmp_path, users=3, repeats=40)
    (row,) = [row for row in found_in(study)["heterogeneity"] if row["source"] == "sp-history"]
    assert row["ci"] == dict.fromkeys(MEASURES)
    assert set(row["ci_why"].values()) == {FEW_UNITS}
    call_command("report", study.slug, "--parts", "heterogeneity", "--draws", "50")
    words = capsys.readouterr().out
    assert "(–)" in words and FEW_UNITS in " ".join(words.split())
    assert "120, 3 simulated users" in words


def test_a_small_source_changes_no_other_row(tmp_path: Path) -> None:
    study = make_people_and_users(tmp_path, users=25, repeats=2)
    before = found_in(study)
    bring_in(study, tmp_path, [{"source": "other", "text": listed(TEAS[:2])} for _ in range(5)])
    after = found_in(study)
    for part in ("heterogeneity", "choices", "distances", "items", "calibration", "cells"):
        others = [row for row in after[part] if row.get("source") != "other"]
        assert others == before[part], part
    (row,) = [row for row in after["heterogeneity"] if row["source"] == "other"]
    assert (row["n"], row["unit"], row["units"], row["temperature"]) == (5, "repeat", 5, 1)
    assert row["rarefied"]["n"] == row["against_field"]["entropy_bits"]["n"] == 5


def test_no_interval_of_a_report_has_no_width_or_lacks_its_value(study: Study, tmp_path: Path) -> None:
    bring_in(study, tmp_path, [{"user": user, "text": listed(["Assam"]), "run": "a"} for user in "abcabc"])
    bring_in(study, tmp_path, [{"prompt": "water", "text": "C", "source": "sure"} for _ in range(40)])
    found = found_in(study)
    parts = ("heterogeneity", "choices", "distances", "items", "cells", "contexts", "sensitivity", "calibration")
    seen = list(spans_of([found[part] for part in parts]))
    assert len(seen) > 60
    assert [span for span in seen if span[0] >= span[1]] == []
    for row in found["choices"]:
        for share in row["shares"].values():
            assert share["ci"] is None or share["ci"][0] <= share["share"] <= share["ci"][1]
    (sure,) = [row for row in found["choices"] if row["source"] == "sure"]
    assert (sure["correct_share"], sure["ci"]) == (1, [pytest.approx(0.9124, abs=1e-4), 1])
    assert sure["shares"]["A"] == {"share": 0, "ci": [0, pytest.approx(0.0876, abs=1e-4)]}


def test_what_has_no_interval_says_why(tmp_path: Path) -> None:
    study = make_people_and_users(tmp_path, users=3)
    run, item = make_model_run(study, benchmark="sums"), make_item(1)
    for repeat in range(2):
        call = make_call(run, item, repeat=repeat)
        Completion.objects.filter(pk=call.pk).update(status="done", reply="B", done_at=timezone.now())
    read_new(study)
    found = found_in(study)
    pairs = {
        "calibration": {"ci": "jsd_excess", "ci_jsd": "jsd_bits"},
        "benchmarks": {"ci_questions": "mean", "ci_distinct": "distinct_letters", "ci_entropy": "entropy_bits"},
    }
    for part, columns in pairs.items():
        rows = [*found[part], *(one for row in found[part] for one in row.get("by_prompt", ()))]
        assert rows and all(row[ci] is None and row[name] is not None for row in rows for ci, name in columns.items())
        reasons = {row[f"{ci}_why"] for row in rows for ci in columns}
        assert reasons == {FEW_UNITS if part == "calibration" else "An interval over questions needs 3 of them."}


def spans_of(found: Any) -> Iterable[list[float]]:
    """Every pair of numbers under a name with `ci` in it."""
    entries = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for name, value in entries:
        if "ci" in str(name).split("_") and isinstance(value, list):
            yield value
        elif isinstance(value, dict) and name == "ci":
            yield from (span for span in value.values() if span)
        else:
            yield from spans_of(value)


def test_an_unknown_temperature_is_called_unknown(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bring_in(study, tmp_path, [{"source": "lab", "text": listed(["Assam", "Chai"]), "temperature": ""}])
    call_command("report", study.slug, "--parts", "heterogeneity", "--draws", "50")
    assert "temperature unknown" in " ".join(capsys.readouterr().out.split())
    (row,) = [row for row in found_in(study)["heterogeneity"] if row["source"] == "lab"]
    assert row["temperature"] is None


def test_nothing_is_claimed_without_people() -> None:
    study = make_study(slug="others")
    run = make_model_run(study)
    for repeat in range(30):
        reply(run, "teas", listed(["Assam", "Chai"]), repeat)
    read_new(study)
    found = report(study, draws=50)
    for part in ("heterogeneity", "items", "cells", "drift"):
        say = PARTS[part].say
        assert say and not re.search("equal|no drift|same", say(found), re.I), part
    assert "No answers of people" in PARTS["heterogeneity"].say(found)  # type: ignore[misc]
