"""Repeated answers of twelve real models, imported, read and reported, against plain counting."""

import csv
import json
from collections import Counter
from dataclasses import replace
from math import log2
from pathlib import Path

import pytest

from analysis.answers.readings import read_new
from analysis.models import Answer
from analysis.report.reports import report
from analysis.runs.imports import import_completions
from surveys.models import Study
from tests.analysis.runs.baseline_factories import real_data
from tests.factories import make_definition, make_study

pytestmark = pytest.mark.django_db


def import_real(tmp_path: Path) -> Study:
    rows = [json.loads(line) for line in real_data("model_answers/repeated_answers_recommendations.jsonl").open()]
    texts = sorted({row["prompt"] for row in rows})
    teas, _ = make_definition().prompts
    prompts = [replace(teas, slug=f"real-{number}", title=text[:50], text=text) for number, text in enumerate(texts)]
    study = make_study("draft", prompts=tuple(prompts))
    path = tmp_path / "repeated.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "model", "prompt", "text"])
        for row in rows:
            writer.writerow(["sampling", row["model"], f"real-{texts.index(row['prompt'])}", row["answer"]])
    import_completions(study, path, "tests")
    read_new(study)
    return study


def test_twelve_real_models_by_plain_counting(tmp_path: Path) -> None:
    study = import_real(tmp_path)
    whole = report(study, draws=100, parts=["heterogeneity", "items", "distances"])
    rows = whole["heterogeneity"]
    assert (len({row["model"] for row in rows}), len(rows)) == (12, 12 * 5)
    assert {row["source"] for row in rows} == {"sampling"}
    assert Counter(row["prompt"] for row in rows for _ in range(row["n"])) == {f"real-{n}": 106 for n in range(5)}
    for row in rows:
        counted = count(study, row["prompt"], row["model"])
        mentions = sum(counted.values())
        entropy = -sum(c / mentions * log2(c / mentions) for c in counted.values())
        assert row["unique"] == len(counted)
        assert row["entropy_bits"] == pytest.approx(entropy, abs=1e-6)
        assert row["top5_coverage"] == pytest.approx(sum(sorted(counted.values())[-5:]) / mentions)
        top = {item["item"]: item["share"] for item in row["top_items"]}
        assert all(share == pytest.approx(counted[item] / row["n"]) for item, share in top.items())
    assert whole["distances"] == []  # nobody was asked in the field
    # Models are rarefied to the smallest number of answers that is at least twenty.
    of_one_prompt = [row for row in rows if row["prompt"] == "real-0"]
    enough = [row for row in of_one_prompt if row["n"] >= 20]
    assert {row["rarefied"]["n"] for row in enough} == {min(row["n"] for row in enough)} == {22}
    assert all(row["rarefied"]["unique"] <= row["unique"] for row in enough)
    assert all("too few" in row["rarefied"]["why"] for row in of_one_prompt if row not in enough)


def count(study: Study, prompt: str, model: str) -> Counter[str]:
    """Count how many of the model's answers name each item."""
    mine = Answer.objects.filter(completion__run__study=study, completion__run__imported_model=model)
    lists = mine.filter(completion__prompt__slug=prompt).values_list("items", flat=True)
    return Counter(item for items in lists for item in set(items))
