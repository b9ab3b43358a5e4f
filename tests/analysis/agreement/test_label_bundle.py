"""A bundle of labels: its script recomputes the report's numbers from the tables alone, and nothing names a person."""

import csv
import io
import json
import random
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from analysis.agreement.agreements import rows_for
from analysis.agreement.bundles import begin_label_bundle, draw_figures
from surveys.annotation.items import push_items
from surveys.annotation.labels import skip
from surveys.annotation.work import next_tasks, open_task, seal_task
from surveys.models import AnnotationItem, AuditEvent, Participant, Study
from surveys.studies.labels import record_judgement
from tests.analysis.agreement.annotation_samples import make_annotated, pseudonyms_of
from tests.analysis.people.people_samples import judged
from tests.analysis.report.unpacked import change, check_codebook, read_csv, recompute, recompute_elsewhere, unpack
from tests.analysis.stats.test_agreement_textbook import FOUR_OBSERVERS, FOURTEEN_RATERS
from tests.factories import annotate, item_of, make_annotation_study, make_annotator, make_items, tasks_of
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import lines_of, log_in

pytestmark = pytest.mark.django_db
OWN_WORDS = "My name is Marguerite."


world = lasting_world(lambda: make_annotated()[0], rows_for)


@pytest.fixture
def study(world: int) -> Study:
    return Study.objects.select_related("current").get(pk=world)


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip drawing figures, which takes seconds; one test looks at them."""
    monkeypatch.setattr("analysis.agreement.bundles.draw_figures", lambda found: [])


def bundle(study: Study, folder: Path, **options: Any) -> dict[str, Any]:
    """Unpack the study's bundle; return its report."""
    unpack(study, folder, begin_label_bundle, **options)
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report


def counts(out: str) -> dict[str, int]:
    """How many numbers agree, by part; asserts that all do."""
    assert out.split("\n\n")[0].endswith("All numbers agree."), out
    found = re.findall(r"^(\w+): ([\d,]+) numbers, 0 differ$", out, re.M)
    return {name: int(count.replace(",", "")) for name, count in found}


def import_labels(folder: Path, rows: Iterable[tuple[str, str, Any]], *options: str) -> Study:
    """Import rows of (item, annotator, label) from a file, as the study `table`."""
    path = folder / "labels.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("item", "annotator", "label"), *rows])
    call_command("import_annotations", "table", str(path), *options, stdout=io.StringIO())
    return Study.objects.get(slug="table")


# --- recomputing -------------------------------------------------------------


def make_preferences() -> Study:
    """Twelve users with two attributes each, three people who rate both, and two judges, one asked in both orders."""
    study, dice = make_annotation_study(slug="ratings", kind="preference", overlap=3), random.Random(1)
    items = [
        item_of(number, "preference", cluster=f"user-{number}", corpus=("real", "made")[number % 2])
        | {"tags": {"generator": ("plain", "showy")[number % 2], "relevant by": ("people", "mini")[number % 3 == 0]}}
        for number in range(12)
    ]
    push_items(study, items, "tests")
    for _ in range(3):
        person = make_annotator(study)
        for task in tasks_of(person):
            annotate(person, task, preference__milk=dice.choice("12345"), preference__budget=dice.choice("3345"))
    for item in AnnotationItem.objects.filter(study=study):
        for judge, left in (("mini same-1", "generic"), ("mini same-1", "personalised"), ("plain same-1", "generic")):
            said = {f"preference/{part}": dice.choice("12345") for part in ("milk", "budget")}
            record_judgement(item, judge, said, left=left)
    return study


def test_ratings_of_people_and_judges_are_recomputed_from_the_tables_alone(tmp_path: Path) -> None:
    study, path = make_preferences(), tmp_path / "more.csv"
    path.write_text("item,annotator,question,label\n" + "".join(f"item-{n},Ann,preference/milk,1\n" for n in range(9)))
    call_command("import_annotations", study.slug, str(path), stdout=io.StringIO())
    report = bundle(study, tmp_path)
    found = report["questions"][0]
    assert found["interval"]["kind"] == "bootstrap" and len(found["ratings"]["conditions"]) == 2
    with (tmp_path / "numbers.csv").open(newline="") as file:
        numbers = {
            (row["part"], row["who"], row["other"], row["measure"], row["label"]): row for row in csv.DictReader(file)
        }
    gap = next(row for row in found["ratings"]["generators"] if row["generator"] == "showy")["gaps"]["people"]
    assert float(numbers["ratings.generators", "showy", "", "gaps", "people"]["value"]) == pytest.approx(gap["value"])
    assert float(numbers["groups", "humans", "", "ac1", ""]["low"]) == pytest.approx(found["ci"]["ac1"][0])
    assert float(numbers["orders", "mini same-1", "", "left", ""]["n"]) == found["orders"][0]["pairs"]
    done = recompute_elsewhere(tmp_path)
    assert (done.stderr, done.returncode) == ("", 0), done.stdout
    compared = counts(done.stdout)
    assert all(compared[name] for name in ("coefficients", "pairs", "raters", "parts", "ratings", "sides"))
    people = next(row for row in found["ratings"]["raters"] if row["rater"] == "people")
    table = done.stdout.partition("preference: ratings\n")[2]
    assert re.search(rf"^people +{people['n']} +{people['mean']['value']:.3f} ", table, re.M), table


def test_verification_is_recomputed_without_what_models_revised(tmp_path: Path) -> None:
    said = {f"item-{number}": random.Random(number).choices("nmy", k=3) for number in range(12)}
    study = judged("attribute", "quality", {key: "".join(letters) for key, letters in said.items()})
    first = AnnotationItem.objects.get(key="item-0")
    push_items(study, [item_of(20, "attribute", before="item-0", cluster=first.cluster)], "tests")
    for item in AnnotationItem.objects.filter(study=study):
        labels = {"quality": random.Random(item.key).choice(["no", "maybe", "yes"]), "uncomfortable": "no"}
        record_judgement(item, "mini same-1", labels)
    report = bundle(study, tmp_path)
    quality = report["questions"][0]
    assert (quality["items"], len(quality["maybe"])) == (12, 4)
    done = recompute(tmp_path)
    assert counts(done.stdout)["maybe"] > 40
    assert "quality: as verifiers of what is not supported, maybe_is_no" in done.stdout
    assert [row["revises"] for row in read_csv(tmp_path, "items") if row["item"] == "item-20"] == ["item-0"]


def test_labels_and_names_that_begin_like_formulas_are_recomputed(tmp_path: Path) -> None:
    dice = random.Random(4)
    rows = [
        (f"-item {number}", rater, str(dice.choice(range(-2, 3))))
        for number in range(12)
        for rater in ("=Ann", "'+Bea", "Cleo")
    ]
    report = bundle(import_labels(tmp_path, rows), tmp_path)
    assert report["questions"][0]["values"] == ["-2", "-1", "0", "1", "2"]
    done = recompute(tmp_path)
    assert counts(done.stdout)["coefficients"] > 30
    assert "\n=Ann " in done.stdout and "\n'+Bea " in done.stdout


def test_retrieval_is_held_apart_and_a_changed_label_shows(study: Study, tmp_path: Path) -> None:
    for item in AnnotationItem.objects.filter(study=study):
        record_judgement(item, "bm25", {"relevance": "yes" if item.key < "item-3" else "no"})
    bundle(study, tmp_path)
    assert "None of this is made up." in (tmp_path / "README.md").read_text()
    assert counts(recompute(tmp_path).stdout)["raters"] > 50
    change(tmp_path / "data" / "annotations.csv", ",item-0,work,relevance,,yes,yes,", ",item-0,work,relevance,,no,no,")
    done = recompute(tmp_path)
    assert done.returncode == 1
    assert "MANIFEST.json: data/annotations.csv is not the file that the bundle was made with" in done.stdout
    assert re.search(r"relevance, humans: alpha_nominal is 0\.\d+ in the report, 0\.\d+ by the data", done.stdout)


def test_each_changed_number_of_the_report_is_found(study: Study, tmp_path: Path) -> None:
    report = bundle(study, tmp_path)
    question = report["questions"][0]
    group = question["groups"]["humans"]
    group["ci"]["ac1"][0] += 0.01
    group["fleiss"] += 0.001
    question["pairs"][0]["kappa"] += 0.001
    question["raters"][0]["f1"] += 0.001
    (tmp_path / "report.json").write_text(json.dumps(report))
    done = recompute(tmp_path)
    assert done.returncode == 1 and "\n4 numbers differ." in done.stdout
    named = re.findall(r"^  relevance, .*: (.*) is .* in the report, .* by the data$", done.stdout, re.M)
    assert sorted(named) == ["f1", "fleiss", "interval of ac1 (low)", "kappa"]


OF_KRIPPENDORFF = [
    (f"unit {unit}", rater, code)
    for rater, codes in zip("ABCD", FOUR_OBSERVERS, strict=True)
    for unit, code in enumerate(codes, 1)
    if code is not None
]
OF_FLEISS = [
    (f"subject {subject}", f"rater {number}", f"label {label}")
    for subject, row in enumerate(FOURTEEN_RATERS)
    for number, label in enumerate([label for label, count in enumerate(row) for _ in range(count)])
]


@pytest.mark.parametrize(
    ("rows", "printed"),
    [
        (OF_KRIPPENDORFF, {"alpha_nominal": 0.743, "alpha_ordinal": 0.815, "alpha_interval": 0.849, "ac1": 0.775}),
        (OF_FLEISS, {"fleiss": "0.210"}),
    ],
)
def test_textbook_tables_come_out_as_they_were_printed(tmp_path: Path, rows: list, printed: dict[str, Any]) -> None:
    bundle(import_labels(tmp_path, rows), tmp_path)
    done = recompute(tmp_path)
    compared = counts(done.stdout)
    assert compared["coefficients"] and compared["pairs"]
    for name, value in printed.items():
        assert re.search(rf"^{name} +{value}$", done.stdout, re.M), done.stdout


def test_what_is_undefined_is_a_dash_in_printed_tables(tmp_path: Path) -> None:
    study = make_annotation_study(slug="undefined", overlap=1)
    (item,) = make_items(study, 1)
    annotate(make_annotator(study))
    record_judgement(item, "mini", {"relevance": "yes"})
    bundle(study, tmp_path)
    done = recompute(tmp_path)
    assert done.returncode == 0 and "None" not in done.stdout
    assert re.search(r"^mini +0 +– +– +– +– +1.000$", done.stdout, re.M), done.stdout


def test_a_label_that_is_called_tie_is_recomputed(tmp_path: Path) -> None:
    said = {"one": "aat", "two": "ttt", "three": "abt"}
    rows = [(item, who, label) for item, labels in said.items() for who, label in zip("xyz", labels, strict=True)]
    words = {"a": "first", "b": "second", "t": "tie"}
    bundle(import_labels(tmp_path, [(*row[:2], words[row[2]]) for row in rows]), tmp_path)
    assert recompute(tmp_path).returncode == 0


# --- contents ----------------------------------------------------------------


def make_private() -> Study:
    """One person skips an item in their own words, another says why an item is uncomfortable; a judge replies."""
    study = make_annotation_study(slug="profiles", kind="attribute", overlap=2)
    make_items(study, 4)
    first, second = make_annotator(study), make_annotator(study)
    task = next(iter(next_tasks(first)))
    skip(first, open_task(first, seal_task(first, task)), "other", OWN_WORDS)
    while annotate(first) or annotate(second, quality="no", uncomfortable="yes", reason=OWN_WORDS):
        pass
    for item in AnnotationItem.objects.filter(study=study):
        detail = {"model": "mini", "temperature": 0, "reply": "A reply in so many words."}
        record_judgement(item, "mini same-1", {"quality": "yes", "uncomfortable": "no"}, detail=detail)
    return study


def content_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".zip")


@pytest.mark.parametrize("texts", [False, True])
def test_own_words_and_names_never_leave_and_texts_only_where_they_are_asked_for(tmp_path: Path, texts: bool) -> None:
    study = make_private()
    bundle(study, tmp_path, texts=texts)
    content = content_of(tmp_path)
    assert b"Marguerite" not in content
    assert not [pid for pid in Participant.objects.values_list("pid", flat=True) if pid.encode() in content]
    assert (b"Drinks tea number 1." in content, b"A reply in so many words." in content) == (texts, texts)
    rows = read_csv(tmp_path, "annotations")
    assert ("payload" in read_csv(tmp_path, "items")[0], "reason" in rows[0]) == (texts, False)
    assert {row["state"] for row in rows} == {"given", "skipped"}
    assert "decided_by" not in (tmp_path / "data" / "gate.csv").read_text()
    assert json.loads(rows[-1]["detail"])["model"] == "mini"
    assert recompute(tmp_path).returncode == 0


def test_tables_are_described_without_the_pilot_and_simulated_raters_are_named(study: Study, tmp_path: Path) -> None:
    people = pseudonyms_of(study)
    Participant.objects.filter(pseudonym=people[0]).update(origin="simulated")
    make_items(study, 1, start=8)
    pilot = make_items(study, 2, start=20, pilot=True)
    record_judgement(pilot[0], "mini", {"relevance": "no"})
    bundle(study, tmp_path)
    slots = read_csv(tmp_path, "slots")
    assert [row["state"] for row in slots] == ["done"] * 24 + ["free"] * 3
    assert {row["participant"] for row in slots} == {*people, ""}
    check_codebook(tmp_path)
    words = (tmp_path / "README.md").read_text()
    assert "32 labels by 4 raters of 8 items" in words
    assert f"**Made up in part:** 1 of the raters are simulated ({people[0]})" in words
    for name in ("items", "slots", "annotations", "labels"):
        assert not {row["item"] for row in read_csv(tmp_path, name)} & {item.key for item in pilot}


def test_figures_with_simulated_raters_say_so_and_whose_rows_are_made_up(study: Study) -> None:
    people = pseudonyms_of(study)
    Participant.objects.filter(pseudonym=people[0]).update(origin="simulated")
    figures = dict(draw_figures(rows_for(study, draws=20)))
    scores, corpora = (figures[f"relevance-{name}"] for name in ("scores", "corpora"))
    assert {row["row"] for row in scores.table if row["simulated"]} == {people[0]}
    assert all(row["simulated"] for row in corpora.table)
    assert (scores.mark, scores.columns[-1].name) == ("Simulated, not real", "simulated")
    Participant.objects.filter(pseudonym=people[0]).update(origin="prolific")
    assert "simulated" not in dict(draw_figures(rows_for(study, draws=19)))["relevance-scores"].table[0]


# --- who and where -----------------------------------------------------------


def test_the_command_and_the_console_give_the_same_bundle(study: Study, tmp_path: Path) -> None:
    call_command("bundle", "teas", str(tmp_path / "teas.zip"), stdout=io.StringIO())
    client = log_in(study, "viewer")
    for name in ("prepare-bundle", "bundle"):
        answer = client.get(reverse(f"compare:{name}", args=["teas"]), follow=True)
        assert answer["Content-Disposition"] == 'attachment; filename="teas-bundle.zip"'
        with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
            assert archive.testzip() is None
            names = {*archive.namelist()}
    with zipfile.ZipFile(tmp_path / "teas.zip") as archive:
        assert {*archive.namelist()} == names >= {"report.json", "recompute.py", "bundle_labels.py", "data/replies.csv"}
    event = AuditEvent.objects.latest("pk")
    assert (event.action, event.subject, event.actor) == ("exported", "bundle.zip", "ada")
    assert event.detail == {"texts": False, "pids": False, "simulated": True}
    asked = client.get(reverse("compare:prepare-bundle", args=["teas"]), {"texts": "1"})
    assert asked["Location"] == reverse("agreement:bundle", args=["teas"]) + "?texts=1"


def test_a_bundle_without_labels_is_refused_with_a_sentence(tmp_path: Path) -> None:
    study = make_annotation_study(slug="bare")
    noted = AuditEvent.objects.count()
    with pytest.raises(CommandError, match="bare has no label that counts yet, so there is nothing to bundle."):
        call_command("bundle", "bare", str(tmp_path / "x.zip"))
    page = log_in(study, "viewer").get(reverse("compare:prepare-bundle", args=["bare"]), follow=True)
    assert "bare has no label that counts yet" in lines_of(page)
    assert (AuditEvent.objects.count(), list(tmp_path.iterdir())) == (noted, [])


def test_a_pair_of_sides_is_refused_and_strangers_find_nothing(study: Study, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="teas is a study of annotators: its bundle has no pair of sides"):
        call_command("bundle", "teas", str(tmp_path / "x.zip"), compare="field", **{"with": "offline"})
    address = reverse("agreement:bundle", args=["teas"])
    assert log_in(name="eve").get(address).status_code == 404
    assert Client().get(address).status_code == 302


def test_figures_are_of_each_question(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("analysis.report.bundle.bundles.render", lambda *arguments: b"<svg/>")
    bundle(make_preferences(), tmp_path)
    names = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert names == {
        f"preference-{name}" for name in ("matrix", "shares", "corpora", "scores", "ratings", "mentions", "habits")
    }
