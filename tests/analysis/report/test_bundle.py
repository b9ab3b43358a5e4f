"""A bundle holds everything its figures rest on, names no person, and recomputes its numbers without the platform."""

import csv
import hashlib
import io
import json
import random
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from analysis.answers import aliases
from analysis.models import Completion, SimulatedUser
from analysis.report.bundle import bundles
from analysis.report.bundle.bundles import begin_bundle
from analysis.report.bundle.tables import FEWEST
from analysis.report.reports import ReportError
from analysis.stats.resampling import DRAWS
from surveys.models import AuditEvent, BenchmarkItem, ChatbotContext, Participant, Study
from surveys.participation import recruitment
from surveys.studies import lifecycle
from surveys.studies.files.hypotheses import Hypothesis
from tests.analysis.report.compare_samples import lasting_report
from tests.analysis.report.report_samples import answer_items, listed, make_model_run, make_teas, reply, tell
from tests.analysis.report.unpacked import (
    all_agree,
    change,
    check_codebook,
    read_csv,
    recompute,
    recompute_elsewhere,
    unknown_in,
    unpack,
)
from tests.analysis.runs.baseline_factories import make_item
from tests.factories import make_definition, make_participant, make_study
from tests.surveys.console.console_pages import log_in

pytestmark = pytest.mark.django_db
OWN_WORDS = "My name is Marguerite."


world = lasting_report(make_teas, DRAWS)


def add_world(study: Study) -> Study:
    """Add to the study of teas an alias, a run that was repeated, and answers that do not count."""
    tell(study, ["assam tea", "Sencha"], "B", chatbot="gemini", memory="on", model_shown="Marguerite's own")
    aliases.accept(study, "teas", ["assam tea"], "assam", "tests")
    again = make_model_run(study, first_run=study.runs.get())
    for repeat in range(3):
        reply(again, "teas", listed(["Assam", "Chai"]), repeat, latency_ms=100 * repeat, prompt_tokens=20)
    for model, letters in (("gpt-4o-mini", "BBA"), ("other", "BCB")):
        ask_sums(study, model, letters)
    ask_puppets(study, ("BAA", "BCB"))
    make_participant(study)  # has not answered yet
    Participant.objects.filter(study=study).update(comments=OWN_WORDS)
    return study


def ask_sums(study: Study, model: str, letters: str) -> None:
    """Ask a benchmark of three questions (answer B) twice: first `letters`, then all B."""
    run = make_model_run(study, model=model, benchmark="sums", version=study.current)
    if not BenchmarkItem.objects.exists():
        for number in range(1, 4):
            make_item(number)
    answer_items(run, letters)
    answer_items(run, "BBB", 1)


def ask_puppets(study: Study, users: tuple[str, ...]) -> None:
    """Add simulated users who answer the same benchmark once each, and the first of them twice."""
    run = make_model_run(study, "sp-history", history_size=10, benchmark="sums", version=study.current)
    for index, letters in enumerate(users):
        user = SimulatedUser.objects.create(run=run, index=index)
        for repeat in range(1 if index else 2):
            answer_items(run, letters, repeat, user)


BUILT: dict[str, bytes] = {}  # the world's bundle: it is the same for every test and takes seconds to make


@pytest.fixture
def folder(study: Study, tmp_path: Path) -> Path:
    if not BUILT:
        add_world(study)
        unpack(study, tmp_path)
        BUILT["zip"] = (tmp_path / "bundle.zip").read_bytes()
        BUILT["pids"] = " ".join(Participant.objects.values_list("pid", flat=True)).encode()
    (tmp_path / "bundle.zip").write_bytes(BUILT["zip"])
    zipfile.ZipFile(io.BytesIO(BUILT["zip"])).extractall(tmp_path)
    return tmp_path


# --- recomputing -------------------------------------------------------------


def test_every_number_is_recomputed_from_the_data_alone(folder: Path) -> None:
    done = recompute_elsewhere(folder)
    assert (done.stderr, done.returncode) == ("", 0), done.stdout
    counts = dict(re.findall(r"^(\w+): ([\d,]+) numbers, 0 differ$", done.stdout, re.M))
    compared = {name for name, count in counts.items() if count != "0"}
    assert compared >= {"heterogeneity", "choices", "items", "distances", "sensitivity", "drift", "benchmarks", "flow"}
    assert all_agree(done.stdout)


def test_a_changed_answer_shows_in_every_figure_that_it_is_part_of(folder: Path) -> None:
    change(folder / "data" / "answers.csv", '"[""assam"", ""oolong""]"', '"[""matcha"", ""oolong""]"')
    done = recompute(folder)
    assert done.returncode == 1
    assert "MANIFEST.json: data/answers.csv is not the file that the bundle was made with" in done.stdout
    assert "teas, field, chatgpt: unique is 3 in the report, 4 by the data" in done.stdout
    assert "teas, field, chatgpt, assam: count is 3 in the report, 2 by the data" in done.stdout
    counts = re.findall(r"^(\w+): .* numbers, (\d+) differ$", done.stdout, re.M)
    differing = {name for name, count in counts if count != "0"}
    assert {"heterogeneity", "items", "distances", "calibration", "sensitivity"} <= differing
    assert not differing & {"choices", "drift", "costs", "flow"}


def test_a_changed_number_of_the_report_is_found(folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text())
    row = next(row for row in report["choices"] if row["source"] == "offline")
    row["correct_share"] += 0.001
    report["heterogeneity"][0]["ci"]["simpson"] = [0.1, 0.2]
    (folder / "report.json").write_text(json.dumps(report))
    done = recompute(folder)
    assert done.returncode == 1
    assert re.search(r"water, offline, gpt-4o-mini: correct_share is 0.834\d* in the report, 0.8333", done.stdout)
    assert "simpson" in unknown_in(done.stdout)


def test_aliases_are_applied_by_the_script(folder: Path) -> None:
    (folder / "data" / "aliases.csv").write_text("prompt,spelling,item\r\n")
    done = recompute(folder)
    assert "teas, field, gemini: count of assam is 1 in the report, 0 by the data" in done.stdout


def test_what_a_rule_leaves_out_is_not_counted_and_still_recomputed(
    study: Study, no_figures: None, tmp_path: Path
) -> None:
    careless = tell(study, ["Matcha", "Chai"])
    careless.checks = {"attention": {"leaf": {"passed": False}, "sea": {"passed": False}}}
    careless.save(update_fields=["checks"])
    unpack(study, tmp_path)
    rows = read_csv(tmp_path, "answers")
    told = [(row["counted"], row["excluded"]) for row in rows if row["participant"] == careless.pseudonym]
    assert told == [("false", "true")] * 2
    assert sum(row["counted"] == "true" for row in rows) == 8
    done = recompute(tmp_path)
    assert all_agree(done.stdout)
    sizes = {row["set"]: row["n"] for row in json.loads((tmp_path / "report.json").read_text())["sensitivity"]}
    assert (sizes["as analysed"], sizes["with excluded"]) == (4, 5)


def test_pair_and_hypotheses_are_recomputed_and_a_changed_number_is_found(no_figures: None, tmp_path: Path) -> None:
    """25 people with each chatbot, about half on each plan; two hypotheses, and the study is closed."""
    sides = {"a": "field/chatgpt", "b": "field/gemini", "expected": "different"}
    hypotheses = (
        Hypothesis("assam", "Assam.", "item_share", **sides, prompts=("teas",), item="Assam"),
        Hypothesis("c", "C.", "letter_share", **sides, prompts=("water",), letter="C"),
    )
    study = make_study(definition=replace(make_definition(70, slug="herbs"), hypotheses=hypotheses))
    dice = random.Random(1)
    for chatbot, often in (("chatgpt", 0.9), ("gemini", 0.2)):
        for number in range(25):
            teas = ["Assam"] * (dice.random() < often) + dice.sample([f"Tea {place}" for place in range(9)], 3)
            tell(study, teas, dice.choice("AC"), chatbot=chatbot, plan="free" if number % 2 else "paid")
    lifecycle.close(study, "tests")
    unpack(study, tmp_path, compare=("field/chatgpt", "field/gemini"))
    done = recompute(tmp_path)
    assert done.returncode == 0, done.stdout
    counts = dict(re.findall(r"^(\w+): ([\d,]+) numbers, 0 differ$", done.stdout, re.M))
    report = json.loads((tmp_path / "report.json").read_text())
    pair, hypothesis = report["pair"], report["as_planned"]["hypotheses"][1]
    rows = [*pair["items"], *pair["options"]]
    assert pair["items"][0]["item"] == "assam" and len(pair["options"]) == 3 and all(row["ci"] for row in rows)
    alike = [row for row in pair["items"] if row["difference"] == 0]
    assert alike and all(row["p"] == 1 and row["ci"][0] < 0 < row["ci"][1] for row in alike)
    # Per row: n, units, count, share of both; difference, two ends. For two prompts: how many are tested.
    assert int(counts["pair"]) == 11 * len(rows) + 2
    # Two by Holm; for each a difference, two ends and p.
    assert counts["as_planned"] == "10"
    row = pair["items"][1]
    for holder, key in ((row, "difference"), (row["ci"], 0), (row["b"], "share")):
        holder[key] += 0.001
    # Of a changed p, Holm's too is another.
    for names, differ in ((("value", "p"), 3), (("p_holm",), 1)):
        changed = {name: hypothesis[name] + 0.001 for name in names}
        planned = [report["as_planned"]["hypotheses"][0], hypothesis | changed]
        told = report | {"as_planned": report["as_planned"] | {"hypotheses": planned}}
        (tmp_path / "report.json").write_text(json.dumps(told))
        done = recompute(tmp_path)
        assert done.returncode == 1 and re.search(r"^pair: [\d,]+ numbers, 3 differ$", done.stdout, re.M)
        assert f"\nas_planned: 10 numbers, {differ} differ\n" in done.stdout, names


def test_a_bundle_has_the_texts_and_the_sides_that_are_asked_for(
    study: Study, no_figures: None, tmp_path: Path
) -> None:
    add_world(study)
    sides = ("field/chatgpt/memory=unknown", "offline/gpt-4o-mini")
    unpack(study, tmp_path, texts=True, compare=sides)
    found = json.loads((tmp_path / "report.json").read_text())["pair"]
    assert (found["a"]["side"], found["b"]["side"]) == sides
    assert read_csv(tmp_path, "answers")[0]["text"] == "1. Assam\n2. Sencha"
    assert len([row for row in read_csv(tmp_path, "completions") if row["text"]]) == Completion.objects.count()
    assert all_agree(recompute(tmp_path).stdout)
    with pytest.raises(ReportError, match="has the answers of its own study alone"):
        begin_bundle(study, "tests", compare=("field", "nowhere:field"))
    with pytest.raises(ReportError, match="not the data to recompute a side by pilot"):
        begin_bundle(study, "tests", compare=("field/pilot=with", "offline/gpt-4o-mini"))


# --- contents ----------------------------------------------------------------


def test_manifest_names_every_file_with_its_hash(folder: Path) -> None:
    with zipfile.ZipFile(folder / "bundle.zip") as archive:
        names = set(archive.namelist())
    listed_files = json.loads((folder / "MANIFEST.json").read_text())["files"]
    assert {entry["name"] for entry in listed_files} == names - {"MANIFEST.json"}
    for entry in listed_files:
        content = (folder / entry["name"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (entry["bytes"], entry["sha256"])
    assert {"README.md", "recompute.py", "codebook.md", "definitions.json", "study/version-1.json"} <= names
    assert {"figures/heterogeneity.json", "figures/heterogeneity.svg", "figures/items-teas.csv"} <= names


def test_codebook_describes_each_column_of_each_table(folder: Path) -> None:
    check_codebook(folder)


def test_nothing_names_a_person_and_no_text_is_there(folder: Path) -> None:
    content = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".zip")
    pids = BUILT["pids"].split()
    assert len(pids) == 6 and not [pid for pid in pids if pid in content]
    assert b"Marguerite" not in content
    assert b"1. Assam" not in content and b"I would rather not say" not in content
    assert "text" not in read_csv(folder, "answers")[0] and "text" not in read_csv(folder, "completions")[0]


def test_readme_says_what_is_made_up_and_context_of_nobody_is_empty(
    study: Study, no_figures: None, tmp_path: Path
) -> None:
    Participant.objects.filter(study=study).update(origin="simulated")
    ChatbotContext.objects.all().delete()
    unpack(study, tmp_path)
    assert {row["memory"] for row in read_csv(tmp_path, "answers")} == {""}
    assert recompute(tmp_path).returncode == 0
    words = " ".join((tmp_path / "README.md").read_text().split())
    made = json.loads((tmp_path / "report.json").read_text())["generated_at"][:10]
    assert f"This bundle is of {made}. People who withdraw later are still in it: make it anew" in words
    assert "**Made up in part:** 4 of 4 people, which" in words
    assert "8 answers of 4 people, and 12 completions" in words


def test_names_that_begin_like_formulas_are_recomputed(study: Study, no_figures: None, tmp_path: Path) -> None:
    for _ in range(FEWEST):
        tell(study, ["=Assam", "-Chai"], model_shown="=GPT")
    run = make_model_run(study, model="'@mini")
    for repeat in range(3):
        reply(run, "teas", listed(["=Assam"]), repeat, latency_ms=100)
    unpack(study, tmp_path)
    assert "'=GPT" in {row["model_shown"] for row in read_csv(tmp_path, "answers")}
    done = recompute(tmp_path)
    assert done.returncode == 0, done.stdout


def test_pilots_and_previews_stay_out_and_what_enough_people_typed_alike_stays(
    study: Study, no_figures: None, tmp_path: Path
) -> None:
    for _ in range(5):
        tell(study, ["Assam"], model_shown="GPT-4o")
    first, second, *_ = Participant.objects.filter(study=study).order_by("pk")
    Participant.objects.filter(pk=first.pk).update(pilot=True)
    Participant.objects.filter(pk=second.pk).update(origin="preview")
    unpack(study, tmp_path)
    for name in ("answers", "participants", "context", "timings"):
        people = {row["participant"] for row in read_csv(tmp_path, name)}
        assert len(people) == 2 + 5 and not people & {first.pseudonym, second.pseudonym}
    assert [row["model_shown"] for row in read_csv(tmp_path, "answers")].count("GPT-4o") == 10
    assert [row["model_shown"] for row in read_csv(tmp_path, "context")].count("GPT-4o") == 5
    assert recompute(tmp_path).returncode == 0


# --- who and where -----------------------------------------------------------


@pytest.mark.parametrize(("query", "column"), [({}, False), ({"texts": "1"}, True)])
def test_downloaded_bundle_is_whole_and_noted(
    study: Study, no_figures: None, query: dict[str, str], column: bool
) -> None:
    response = log_in(study, "viewer").get(reverse("compare:bundle", args=["teas"]), query)
    assert response["Content-Type"] == "application/zip"
    assert response["Content-Disposition"] == 'attachment; filename="teas-bundle.zip"'
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as archive:
        assert archive.testzip() is None
        assert {"MANIFEST.json", "recompute.py", "report.json"} <= set(archive.namelist())
        answers = archive.read("data/answers.csv").decode()
    assert ("text" in next(csv.reader(io.StringIO(answers)))) is column
    event = AuditEvent.objects.latest("pk")
    assert (event.action, event.subject, event.actor) == ("exported", "bundle.zip", "ada")
    assert event.detail == {"texts": column, "pids": False, "simulated": True}


def test_bundle_of_a_study_of_others_is_not_found(study: Study) -> None:
    noted = AuditEvent.objects.count()
    assert log_in(study, "").get(reverse("compare:bundle", args=["teas"])).status_code == 404
    away = Client().get(reverse("compare:bundle", args=["teas"]))
    assert away.status_code == 302 and "/login/" in away["Location"]
    assert AuditEvent.objects.count() == noted


def test_bundle_of_an_empty_study_says_what_is_missing() -> None:
    study = Study.objects.create(slug="bare", title="Bare")
    noted = AuditEvent.objects.count()
    page = log_in(study, "viewer").get(reverse("compare:bundle", args=["bare"]), follow=True)
    assert "bare has no definition yet. Load its study file first." in page.content.decode()
    assert AuditEvent.objects.count() == noted


def test_command_writes_one_file_and_prints_json_alone(study: Study, no_figures: None, tmp_path: Path) -> None:
    out, path = io.StringIO(), tmp_path / "teas.zip"
    call_command("bundle", "teas", str(path), json=True, stdout=out)
    told = json.loads(out.getvalue())
    assert (told["study"], told["bytes"]) == ("teas", path.stat().st_size)
    assert [entry.name for entry in tmp_path.iterdir()] == ["teas.zip"]


def test_command_names_what_is_wrong(study: Study, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no study coffees. Studies: teas."):
        call_command("bundle", "coffees", str(tmp_path / "x.zip"))
    with pytest.raises(CommandError, match="x.zip: cannot be written: No such file or directory"):
        call_command("bundle", "teas", str(tmp_path / "none" / "x.zip"))


def test_who_withdraws_while_a_bundle_is_made_is_not_in_it(
    study: Study, no_figures: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = bundles.list_files
    person = study.participants.order_by("pk")[0]

    def withdraw_amid(*arguments: Any) -> Iterator[tuple[str, Iterator[bytes]]]:
        for name, chunks in listing(*arguments):
            yield name, chunks
            if name == "data/answers.csv" and Participant.objects.filter(pk=person.pk).exists():
                recruitment.withdraw(person)

    monkeypatch.setattr(bundles, "list_files", withdraw_amid)
    unpack(study, tmp_path)
    assert not Participant.objects.filter(pk=person.pk).exists()
    assert person.pseudonym not in (tmp_path / "data" / "answers.csv").read_text()
    assert json.loads((tmp_path / "report.json").read_text())["answers"]["people"] == 3
    assert all_agree(recompute(tmp_path).stdout)


def test_answers_that_come_while_a_bundle_is_made_are_in_its_data_and_its_report_or_in_neither(
    study: Study, no_figures: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computing, came = bundles.report, iter(range(1))

    def tell_amid(*arguments: Any, **settings: Any) -> dict[str, Any]:
        found = computing(*arguments, **settings)
        for _ in came:
            tell(study, ["Oolong"], "A", chatbot="gemini")
        return found

    monkeypatch.setattr(bundles, "report", tell_amid)
    unpack(study, tmp_path)
    people = {row["participant"] for row in read_csv(tmp_path, "answers")}
    assert json.loads((tmp_path / "report.json").read_text())["answers"]["people"] == len(people) == 5
    assert all_agree(recompute(tmp_path).stdout)


def test_half_a_bundle_is_never_left_behind(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(*arguments: Any) -> Iterator[tuple[str, Iterator[bytes]]]:
        yield "README.md", iter([b"half"])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("analysis.report.bundle.bundles.list_files", break_off)
    with pytest.raises(CommandError, match="No space left on device"):
        call_command("bundle", "teas", str(tmp_path / "x.zip"))
    assert list(tmp_path.iterdir()) == []


def test_intervals_over_simulated_users_are_recomputed(study: Study, no_figures: None, tmp_path: Path) -> None:
    dice = random.Random(1)
    for condition, seed in (("sp-history", 1), ("sp-history", 1), ("sp-history", 2), ("sp-rag", 1)):
        run = make_model_run(study, condition, seed=seed)
        for index in range(4):
            user = SimulatedUser.objects.create(run=run, index=index)
            for repeat in range(3):
                likes = dice.choices(["Assam", "Sencha", "Chai", "Oolong"], [1, 6, 1, 1][index:] + [1] * index, k=2)
                reply(run, "teas", listed(sorted(set(likes))), repeat, user=user)
                reply(run, "water", dice.choice("CCAB"), repeat, user=user)
    unpack(study, tmp_path)
    rows = json.loads((tmp_path / "report.json").read_text())["heterogeneity"]
    (puppet,) = [row for row in rows if row["source"] == "sp-history"]
    assert (puppet["n"], puppet["unit"], puppet["units"]) == (36, "simulated user", 8)
    assert puppet["ci"]["entropy_bits"] and puppet["top_items"][0]["ci"]
    (nearest,) = [row for row in rows if row["source"] == "sp-rag"]
    assert (nearest["n"], nearest["unit"], nearest["units"]) == (12, "repeat", 12)
    done = recompute(tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_each_form_of_a_benchmark_is_recomputed_beside_its_own_offline_runs(
    study: Study, no_figures: None, tmp_path: Path
) -> None:
    dice = random.Random(1)
    for number in range(1, 9):
        make_item(number)
    for form, right in (("helm", 0.9), ("bare", 0.3)):
        for condition in ("offline", "sp-history", "sp-rag"):
            run = make_model_run(study, condition, benchmark="sums", prompt_form=form, version=study.current)
            for number in range(4):
                # Three of four simulated users share a name, and the other says what nobody says; or none has a name.
                user = None
                if condition != "offline":
                    name = f"user {number // 3}" if condition == "sp-history" else ""
                    user = SimulatedUser.objects.create(run=run, index=number, name=name)
                letters = ["B" if dice.random() < right else dice.choice("AC") for _ in range(8)]
                letters = ["D"] * 8 if user and user.name == "user 1" else letters
                answer_items(run, letters, 0 if user else number, user)
    unpack(study, tmp_path)
    rows = json.loads((tmp_path / "report.json").read_text())["benchmarks"]
    means = {row["settings"]: row["offline_mean"] for row in rows if row["source"] == "sp-history"}
    assert means["helm"] > means["bare"] + 0.3
    # SP-RAG over a whole corpus puts the same text in front for every user.
    found = {(row["source"], row["unit"], row["units"]) for row in rows if row["source"] != "offline"}
    assert found == {("sp-history", "simulated user", 2), ("sp-rag", "repeat", 4)}
    done = recompute(tmp_path)
    assert done.returncode == 0, done.stdout
