"""The published rates of the rule that marks sensitive statements are the measured ones."""

from pathlib import Path

from benchmarks import sensitive
from tests.analysis.runs.baseline_factories import SHARED, real_data


def test_published_rates_are_those_of_the_rule() -> None:
    real_data("personas/personachat_sentences.txt")
    real_data("training/relevance_ikat.jsonl")
    rows = sensitive.read_labelled(SHARED / "data")
    assert len(rows) == 972 + 250
    found = sensitive.measure(rows)
    assert found["held out"]["recall"]["ci"][0] > 0.7
    page = (Path(sensitive.__file__).parents[1] / "benchmarks" / "rates" / "sensitive.md").read_text()
    assert sensitive.as_table(found) in page
