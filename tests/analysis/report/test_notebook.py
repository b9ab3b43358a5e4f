"""The notebook runs on a bundle and on the API, and its figures match the report's numbers to nine digits."""

import importlib.util
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from rest_framework.authtoken.models import Token

from analysis.answers.readings import read_new
from analysis.report.reports import report
from fieldstudy.embedded.servers import ROOT
from surveys.models import Study
from surveys.participation.pasting.read_back import ReadReply, mark_of
from tests.analysis.report.report_samples import listed, make_teas
from tests.analysis.report.test_bundle import add_world, recompute, unpack
from tests.factories import make_account, make_participant, make_response

NOTEBOOK = json.loads((ROOT / "examples" / "notebook.ipynb").read_text(encoding="utf-8"))
BUILT: list[bytes] = []  # the bundle of the corrected world, which takes seconds to make


def make_corrected() -> Study:
    """The bundles' world with one more person, who corrected two readings and has not finished."""
    study = add_world(make_teas())
    person = make_participant(study, chatbot="gemini")
    for slug, text, said in (
        ("teas", listed(["assam tea", "Mate", "Chai"]), {"out": ("Mate",), "added": ("Yunnan", "=Gyokuro")}),
        ("water", "C", {"letter": "A"}),
    ):
        make_response(person, slug, text=text, keep=True, reply=ReadReply(of=mark_of(text), confirmed=True, **said))
    read_new(study)
    return study


def build(study: Study, folder: Path) -> None:
    unpack(study, folder)
    BUILT.append((folder / "bundle.zip").read_bytes())


def run_notebook(monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, Any]:
    """Run every code cell in one namespace, as a kernel does, and draw each `chartN` as its page would."""
    for name, value in environment.items():
        monkeypatch.setenv(f"FIELDSTUDY_{name}", value)
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    space: dict[str, Any] = {}
    try:
        for number, cell in enumerate(NOTEBOOK["cells"]):
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"cell {number}", "exec"), space)
    finally:
        sys.modules.pop("fieldstudy_client", None)
    for name in ("chart1", "chart2", "chart3"):
        assert space[name].to_dict()
    return space


def nine(value: float | None) -> float | None:
    return None if value is None or value != value else float(f"{value:.9g}")


def check_figures(space: dict[str, Any], told: dict[str, Any]) -> None:
    """Compare the drawn numbers with the report's, one by one."""
    lists = {(row["prompt"], row["source"], row["model"]): row for row in told["heterogeneity"]}
    assert len(space["figure1"]) == 3 * len(lists)
    for row in space["figure1"].to_dict("records"):
        known = lists[row["prompt"], row["source"], row["model"]]
        top = row["measure"] == "outside_top5"
        for mine, values in ((row["value"], known), (row["equal"], known["rarefied"])):
            theirs = values["top5_coverage"] if top else values[row["measure"]]
            assert nine(mine) == nine(None if theirs is None else 1 - theirs if top else theirs)
        assert row["n"] == known["n"]
    choices = {(row["prompt"], row["source"], row["model"]): row["counts"] for row in told["choices"]}
    drawn: dict[Any, dict[str, int]] = {}
    for row in space["figure2"].to_dict("records"):
        drawn.setdefault((row["prompt"], row["source"], row["model"]), {})[row["letter"]] = row["count"]
    assert drawn == choices
    runs = sorted(nine(run["accuracy"]) for row in told["benchmarks"] for run in row["runs"])
    assert sorted(nine(value) for value in space["figure3"]["accuracy"]) == runs and len(runs) == 7
    assert space["differing"] == []


@pytest.mark.django_db
def test_notebook_draws_the_reports_numbers_from_a_bundle(
    no_figures: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make_corrected()
    build(study, tmp_path)
    check_figures(run_notebook(monkeypatch, BUNDLE=str(tmp_path / "bundle.zip")), report(study))


@pytest.mark.django_db(transaction=True)
def test_notebook_draws_the_reports_numbers_from_the_api(live_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_corrected()
    token = Token.objects.create(user=make_account("ada", study, "viewer")).key
    names = {"SITE": live_server.url, "STUDY": study.slug, "TOKEN": token}
    check_figures(run_notebook(monkeypatch, **names), report(study))


@pytest.fixture
def folder(no_figures: None, tmp_path: Path, db: None) -> Path:
    if not BUILT:
        build(make_corrected(), tmp_path)
    zipfile.ZipFile(io.BytesIO(BUILT[0])).extractall(tmp_path)
    return tmp_path


def test_client_says_where_a_number_differs(folder: Path) -> None:
    spec = importlib.util.spec_from_file_location("client", ROOT / "examples" / "fieldstudy_client.py")
    client = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(client)
    mentions = folder / "data" / "mentions.csv"
    lines = mentions.read_text().splitlines(keepends=True)
    mentions.write_text("".join(line for number, line in enumerate(lines) if number != 1))
    study = client.Study(lambda name: (folder / name).read_bytes())
    assert client.differences(study)[0].startswith("teas, field, chatgpt: ")


def test_corrected_readings_are_recomputed_from_the_bundle(folder: Path) -> None:
    done = recompute(folder)
    assert done.returncode == 0, done.stdout
    assert "readings: 0 numbers" not in done.stdout and "readings: " in done.stdout
    header = (folder / "data" / "mentions.csv").read_text().partition("\n")[0].split(",")
    assert "spelling" in header and not {"name", "name\r"} & {*header}
    names = folder / "data" / "read_back_names.csv"
    names.write_text(names.read_text().replace(",mate,", ",chai,"))
    assert "teas, before: distinct" in recompute(folder).stdout.replace("teas, recommendation", "teas")
