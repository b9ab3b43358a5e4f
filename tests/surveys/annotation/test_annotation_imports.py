"""Labels from elsewhere: imported all or none, every fault with its line, never twice, and never mixed up."""

import csv
import json
import os
from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from surveys.annotation.label_imports import import_annotations
from surveys.models import Annotation, AnnotationItem, AuditEvent, Participant, Study
from surveys.studies.imports.files import ImportFault
from surveys.studies.labels import iter_labels, questions_of
from tests.factories import annotate, make_annotation_study, make_annotator, make_study, make_visit

pytestmark = pytest.mark.django_db
SHARED = Path(os.environ.get("FIELDSTUDY_SHARED", settings.BASE_DIR.parent / "shared"))
PANDALM = SHARED / "data" / "annotations" / "pandalm_testset_v1.jsonl"
HEADER = "item,annotator,label"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "labels.csv"


def write(path: Path, *rows: str, header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def faults_of(path: Path, slug: str = "tea-labels", **options: object) -> list[str]:
    before = Annotation.objects.count(), AnnotationItem.objects.count(), Study.objects.count()
    with pytest.raises(ImportFault) as raised:
        import_annotations(slug, path, "tests", **options)
    assert (Annotation.objects.count(), AnnotationItem.objects.count(), Study.objects.count()) == before
    return [str(fault) for fault in raised.value.faults]


def values_of(study: Study) -> dict[tuple[str, str, str], str]:
    return {(label.item, label.rater, label.question): label.value for label in iter_labels(study)}


# --- a study of their own ---------------------------------------------------


def test_study_is_made_closed_with_items_people_and_models(file: Path) -> None:
    header = f"{HEADER},question,seconds,cluster,corpus,is_model"
    rows = ["ann,1,taste,4.5,user-a,real,", "ann,yes,sweet,2,user-a,real,false", "gpt,2,taste,,user-a,real,TRUE"]
    rows = [f"t1,{row}" for row in rows]
    study, done = import_annotations("tea-labels", write(file, *rows, header=header), "tests")
    assert vars(done) == {"labels": 3, "skipped": 0, "items": 1, "annotators": 1, "models": 1, "ignored": []}
    assert (study.state, study.title) == ("closed", "Tea labels")
    person = Participant.objects.get()
    assert (person.pid, person.origin, person.state) == ("ann", "imported", "completed")
    row = Annotation.objects.get(participant=person)
    assert (row.labels, row.active_ms, row.state, row.revision) == ({"taste": "1", "sweet": "yes"}, 6_500, "given", 1)
    labels = {(label.rater, label.question): label for label in iter_labels(study)}
    assert labels["gpt", "taste"].is_model and not labels["ann", "taste"].is_model
    assert (labels["ann", "sweet"].cluster, labels["ann", "sweet"].corpus) == ("user-a", "real")
    assert AuditEvent.objects.get(action="annotations imported").detail["labels"] == 3


def test_label_without_a_question_answers_the_only_one(file: Path) -> None:
    study, _ = import_annotations("tea-labels", write(file, "t1,a,1", "t1,b,2"), "tests")
    assert values_of(study) == {("t1", "a", "label"): "1", ("t1", "b", "label"): "2"}


def test_same_file_again_changes_nothing(file: Path) -> None:
    write(file, "t1,a,1", "t1,b,2", "t2,a,3")
    import_annotations("tea-labels", file, "tests")
    before = list(Annotation.objects.values_list("id", flat=True))
    study, done = import_annotations("tea-labels", file, "tests")
    assert (done.labels, done.skipped, done.items, done.annotators) == (0, 3, 0, 0)
    assert list(Annotation.objects.values_list("id", flat=True)) == before and study.versions.count() == 1


def test_more_labels_and_another_question_are_added(file: Path) -> None:
    import_annotations("tea-labels", write(file, "t1,a,1", "t1,b,2"), "tests")
    study, _ = import_annotations("tea-labels", write(file, "t2,a,2", "t1,c,1"), "tests")
    assert study.versions.count() == 1
    study, done = import_annotations("tea-labels", write(file, "t1,a,yes,sweet", header=f"{HEADER},question"), "tests")
    assert (done.labels, study.versions.count(), study.current.amendment) == (1, 2, "Questions of labels.csv.")
    assert values_of(study) == {
        ("t1", "a", "label"): "1",
        ("t1", "a", "sweet"): "yes",
        ("t1", "b", "label"): "2",
        ("t1", "c", "label"): "1",
        ("t2", "a", "label"): "2",
    }


@pytest.mark.parametrize(
    ("labels", "values", "scale"),
    [
        (["2", "10", "1"], ("1", "2", "10"), "ordinal"),
        (["1.0", "2", "01"], ("1", "2"), "nominal"),
        (["0.5", "-1", "3"], ("-1", "0.5", "3"), "ordinal"),
        (["Yes", "No", "Maybe"], ("No", "Maybe", "Yes"), "ordinal"),
        (["yes", "no"], ("no", "yes"), "nominal"),
        (["green", "black", "mint"], ("black", "green", "mint"), "nominal"),
    ],
)
def test_scale_is_read_off_the_labels(file: Path, labels: list[str], values: tuple[str, ...], scale: str) -> None:
    rows = [f"t1,person-{number},{label}" for number, label in enumerate(labels)]
    study, _ = import_annotations("tea-labels", write(file, *rows), "tests")
    (question,) = questions_of(study)
    assert (question.values, question.scale) == (values, scale)


def test_scale_may_be_declared(file: Path) -> None:
    write(file, "t1,a,good", "t1,b,bad")
    study, _ = import_annotations("tea-labels", file, "tests", labels=("bad", "fair", "good"))
    (question,) = questions_of(study)
    assert (question.values, question.scale) == (("bad", "fair", "good"), "ordinal")
    assert faults_of(write(file, "t1,c,great"), "tea-labels") == [
        "line 2: the label 'great' is not on the scale of label: bad, fair, good"
    ]
    other, _ = import_annotations("other-labels", write(file, "t1,a,1", "t1,b,2", "t1,c,0"), "tests", ordered=False)
    assert questions_of(other)[0].scale == "nominal"


def test_json_lines_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    rows = [{"item": 1, "annotator": "a", "label": 2}, {"item": 1, "annotator": "m", "label": 1, "is_model": True}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    study, _ = import_annotations("tea-labels", path, "tests")
    assert values_of(study) == {("1", "a", "label"): "2", ("1", "m", "label"): "1"}


def test_columns_that_no_label_needs_are_named(file: Path) -> None:
    _, done = import_annotations("tea-labels", write(file, "t1,a,1,hm", header=f"{HEADER},comment"), "tests")
    assert done.ignored == ["comment"]


def test_prolific_ids_are_never_shown_as_names(file: Path) -> None:
    pid = make_visit().pid
    study, _ = import_annotations("tea-labels", write(file, f"t1,{pid},1", "t1,ann,2"), "tests")
    raters = {label.rater for label in iter_labels(study)}
    assert "ann" in raters and pid not in raters


# --- a study of ours --------------------------------------------------------


def test_labels_join_a_study_of_ours(file: Path) -> None:
    study = make_annotation_study(overlap=1, items=2)
    annotate(make_annotator(study))
    write(file, "item-0,ann,no", "item-1,ann,yes", "item-0,gpt,no,true", header=f"{HEADER},is_model")
    file.write_text(file.read_text().replace("ann,no", "ann,no,").replace("ann,yes", "ann,yes,"))
    _, done = import_annotations(study.slug, file, "tests")
    assert (done.labels, done.items, done.annotators, done.models) == (3, 0, 1, 1)
    assert Counter(label.origin for label in iter_labels(study)) == {"prolific": 1, "imported": 2, "model": 1}


def test_parts_of_an_item_are_named_as_fields(file: Path) -> None:
    study = make_annotation_study(kind="preference", items=1)
    rows = ["item-0,ann,5,preference/milk", "item-0,ann,2,preference/budget"]
    import_annotations(study.slug, write(file, *rows, header=f"{HEADER},question"), "tests")
    assert {label.part: label.value for label in iter_labels(study)} == {"milk": "5", "budget": "2"}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("item-0,a,maybe,", "the label 'maybe' is not on the scale of relevance: no, yes"),
        ("item-9,a,yes,", "the study has no item 'item-9'"),
        ("item-0,a,yes,quality", "item-0 is not asked 'quality'; it is asked relevance"),
    ],
)
def test_label_that_does_not_fit_our_study_is_named(file: Path, row: str, says: str) -> None:
    study = make_annotation_study(items=1)
    assert faults_of(write(file, row, header=f"{HEADER},question"), study.slug) == [f"line 2: {says}"]


def test_annotator_who_took_part_here_is_not_imported(file: Path) -> None:
    study = make_annotation_study(items=1)
    person = make_annotator(study)
    (fault,) = faults_of(write(file, f"item-0,{person.pid},yes"), study.slug)
    assert "give imported people other names" in fault


def test_study_where_people_paste_answers_takes_no_labels(file: Path) -> None:
    make_study()
    assert "not a study of annotators" in faults_of(write(file, "a,b,1"), "teas")[0]


# --- faults -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (",a,1,,,,,", "item is empty"),
        ("t1,,1,,,,,", "annotator is empty"),
        ("t1,a,,,,,,", "label is empty"),
        ("t1,a,NaN,,,,,", "the label is 'NaN', which is not a label"),
        ("t1,a,n/a,,,,,", "the label is 'n/a', which is not a label"),
        ("t1,a,1,,fast,,,", "seconds is 'fast', which is not a number of seconds"),
        ("t1,a,1,,-3,,,", "seconds is '-3'"),
        ("t1,a,1,,nan,,,", "seconds is 'nan'"),
        ("t1,a,1,,1e999,,,", "seconds is '1e999'"),
        ("t1,a,1,,,,,perhaps", "is_model is 'perhaps'; it must be true or false"),
        (f"t1,{'a' * 65},1,,,,,", "annotator must be at most 64 printable characters"),
        ("t1,a,1,taste/milk,,,,", "must not hold a /"),
    ],
)
def test_fault_of_a_row_is_named_and_nothing_is_stored(file: Path, row: str, says: str) -> None:
    header = f"{HEADER},question,seconds,cluster,corpus,is_model"
    (fault,) = faults_of(write(file, "t0,a,1,,,,,", row, header=header))
    assert fault.startswith("line 3: ") and says in fault


@pytest.mark.parametrize(
    ("rows", "faults"),
    [
        (["t1,a,1", "t1,a,1"], ["line 3: a labels t1 twice; first on line 2"]),
        (["t1,a,1", "t1,a,2"], ["line 3: a labels t1 twice; first on line 2"]),
        (
            ["t1,a,1", "t2,a,yes", "t3,a,2"],
            ["line 3: 'yes' is a word, but '1' on line 2 is a number: two scales in one question"],
        ),
        (["t1,a,Green", "t2,a,green"], ["line 3: 'green' and 'Green' on line 2 differ only in capital letters"]),
    ],
)
def test_rows_that_contradict_each_other_are_named(file: Path, rows: list[str], faults: list[str]) -> None:
    assert faults_of(write(file, *rows)) == faults


def test_question_named_on_one_line_and_left_out_on_another_is_the_same(file: Path) -> None:
    header, twice = f"{HEADER},question", "line 3: a labels item-0 twice; first on line 2"
    study = make_annotation_study(items=1)
    rows = ["item-0,a,yes,", "item-0,a,no,relevance"]
    assert faults_of(write(file, *rows, header=header), study.slug) == [twice.replace("twice", "on relevance twice")]
    assert faults_of(write(file, "item-0,a,1,label", "item-0,a,2,", header=header)) == [twice]


def test_row_that_says_other_things_about_item_or_rater_is_named(file: Path) -> None:
    header = f"{HEADER},cluster,is_model"
    rows = ["t1,a,1,user-a,", "t1,b,1,user-b,", "t2,a,1,,true"]
    assert faults_of(write(file, *rows, header=header)) == [
        "line 3: gives another cluster or corpus for t1 than line 2",
        "line 4: a is a model on one line and a person on another (line 2)",
    ]


def test_another_label_of_the_same_item_later_is_refused(file: Path) -> None:
    import_annotations("tea-labels", write(file, "t1,a,1", "t1,b,2"), "tests")
    assert faults_of(write(file, "t2,a,1", "t1,a,2")) == [
        "line 3: a already has another label for t1 in the study (1, not 2)"
    ]


def test_column_of_values_is_no_scale(file: Path) -> None:
    (fault,) = faults_of(write(file, *(f"t{number},a,{number}" for number in range(102))))
    assert fault == "line 2: label has 102 different labels; a scale has at most 101"


def test_column_that_is_nearly_one_of_ours_is_a_slip(file: Path) -> None:
    faults = faults_of(write(file, "a,b,c,d", header="item,annotator,label,secnds"))
    assert "line 1: 'secnds' is not a column here (did you mean `seconds`?)" in faults


def test_columns_of_a_table_are_known_in_any_case(file: Path) -> None:
    study, done = import_annotations(
        "tea-labels", write(file, "t1,a,1,3", header="Item, ANNOTATOR,Label,Seconds"), "tests"
    )
    assert (done.labels, done.ignored) == (1, [])
    assert study.annotation_items.get().annotations.get().active_ms == 3_000


def test_file_without_labels_and_a_name_that_no_study_can_have_are_refused(file: Path) -> None:
    assert faults_of(write(file)) == ["the file has no annotations"]
    assert "is not a valid name for a study" in faults_of(write(file, "t1,a,1"), "Tea Labels")[0]


# --- the command ------------------------------------------------------------


def test_command_prints_one_json_object(file: Path, capsys) -> None:
    call_command("import_annotations", "tea-labels", write(file, "t1,a,1", "t1,b,2"), "--json")
    assert json.loads(capsys.readouterr().out) == {
        "study": "tea-labels",
        "labels": 2,
        "skipped": 0,
        "items": 1,
        "annotators": 2,
        "models": 0,
        "ignored": [],
    }


def test_command_says_what_is_wrong_and_where(file: Path) -> None:
    with pytest.raises(CommandError, match=r"Faults: 1\nline 2: the label is 'nan'"):
        call_command("import_annotations", "tea-labels", write(file, "t1,a,nan"))
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        call_command("import_annotations", "tea-labels", file.with_name("none.csv"))
    with pytest.raises(CommandError, match="at least two different labels"):
        call_command("import_annotations", "tea-labels", file, "--labels", "a,a")


# --- real labels ------------------------------------------------------------


@pytest.mark.skipif(not PANDALM.is_file(), reason="needs pandalm_testset_v1.jsonl of FIELDSTUDY_SHARED")
def test_pandalm_has_its_published_labels(file: Path) -> None:
    with PANDALM.open(encoding="utf-8") as lines, file.open("w", newline="", encoding="utf-8") as table:
        writer = csv.writer(table)
        writer.writerow(HEADER.split(","))
        for row in map(json.loads, lines):
            writer.writerows([row["idx"], f"annotator{n}", row[f"annotator{n}"]] for n in (1, 2, 3))
    study, done = import_annotations("pandalm", file, "tests")
    assert (done.labels, done.items, done.annotators) == (2_997, 999, 3)
    votes: dict[str, Counter] = {}
    for label in iter_labels(study):
        votes.setdefault(label.item, Counter())[label.value] += 1
    agreed = Counter(found.most_common(1)[0][0] for found in votes.values() if max(found.values()) >= 2)
    assert all(agreed[label] <= published for label, published in (("0", 105), ("1", 422), ("2", 472)))
    # Published majorities count what is left, items with three different labels, somewhere too.
    assert sum(agreed.values()) + sum(len(found) == 3 for found in votes.values()) == 999
