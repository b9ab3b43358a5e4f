"""What a model is tested on: all of a foreign set without a split, else the test part; it says how many and why."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analysis.models import Example, TrainedModel
from analysis.training.examples import part_of
from tests.analysis.people.people_samples import command
from tests.analysis.training.training_samples import import_rows, support_rows
from tests.factories import make_annotation_study
from tests.surveys.console.console_pages import log_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("words", "own_folder")]


@pytest.fixture
def report(words: None, own_folder: None, tmp_path: Path) -> dict[str, Any]:
    import_rows(tmp_path, support_rows(200))
    return command("train", "--examples", "set", "--task", "verifier", "--name", "model", "--seeds", "1")


def evaluated(name: str, *more: str) -> dict[str, Any]:
    return command("evaluate", "model", "--examples", name, *more)


@pytest.mark.usefixtures("report")
def test_a_foreign_set_without_a_split_is_tested_whole(tmp_path: Path) -> None:
    assert import_rows(tmp_path, support_rows(80, seed=1), "other")["split"] == "none"
    found = evaluated("other")
    why = "they came without a split, and the model learned from none of them"
    assert (found["n"], found["part"], found["tested"]) == (80, "all", {"n": 80, "of": 80, "part": "all", "why": why})
    out = StringIO()
    call_command("evaluate", "model", "--examples", "other", stdout=out, stderr=StringIO())
    assert f"Tested on 80 of 80 examples, all of them: {why}." in out.getvalue()
    # As an earlier version kept it, with the hash's split filled in.
    for row in Example.objects.filter(set__name="other"):
        Example.objects.filter(pk=row.pk).update(split=part_of(row.group))
    assert evaluated("other") == found


@pytest.mark.usefixtures("report")
def test_a_set_that_came_with_a_split_is_tested_on_its_test_part(tmp_path: Path) -> None:
    rows = [row | {"split": ("train", "test")[place % 2]} for place, row in enumerate(support_rows(60, seed=1))]
    assert import_rows(tmp_path, rows, "divided")["split"] == "given"
    found = evaluated("divided")
    assert (found["n"], found["tested"]["of"], found["tested"]["why"]) == (30, 60, "they came with this split")
    assert (evaluated("divided", "--all")["n"], evaluated("divided", "--all")["part"]) == (60, "all")
    rows = [row | {"split": "train"} for row in support_rows(40, seed=2)]
    import_rows(tmp_path, rows, "undivided")
    assert evaluated("undivided")["tested"]["why"] == "the split that they came with has no test part"


def test_of_its_own_set_only_the_test_part_says_anything(report: dict[str, Any]) -> None:
    found = evaluated("set")
    assert (found["n"], found["part"]) == (report["n"], "test")
    assert found["tested"] | {"why": ""} == report["tested"] | {"why": ""}
    assert report["tested"]["why"] == "the hash of their groups divides them"
    with pytest.raises(CommandError, match="only its test part says anything"):
        evaluated("set", "--all")
    study = make_annotation_study(kind="attribute", slug="facts")
    TrainedModel.objects.update(study=study, examples=None, owner=None)
    page = " ".join(log_in(study).get(f"/console/{study.slug}/models/model/").content.decode().split())
    assert f"Tested on {report['n']} of 200 examples, the test part: the hash of their groups divides them." in page
