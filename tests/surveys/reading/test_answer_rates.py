"""Precision and recall of the reader of answers, and the command that publishes them."""

import json
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from benchmarks.reading import measure_answers
from benchmarks.reading.answer_rates import Read, as_tables, doubt_rates, item_rates, letter_rates, read_all, share_of
from benchmarks.reading.answer_samples import LabelledAnswer, read_labelled_answers
from benchmarks.reading.layouts import Layout, ReadLayout, layout_doubts, layout_rates, layouts_as_tables, read_layouts
from benchmarks.reading.measure_checks import default_data
from surveys.reading.answers import RULES_VERSION, AnswerReading

DATA = Path(default_data())
needs_data = pytest.mark.skipif(
    not (DATA / "profile_vs_generic.jsonl").is_file(), reason="needs the model answers of FIELDSTUDY_SHARED"
)


def make_read(found=(), wanted=(), **changes):
    """A reading of items, or of a letter, beside the wanted one; its text is in the half used in development."""
    kind = changes.get("kind", "recommendation")
    fields = {
        "kind": kind,
        "form": "numbered",
        "drawn": "sample",
        "doubtful": False,
        "text": "d",
        "record": "a:1",
        **changes,
    }
    doubt = fields.pop("doubt", "")
    answer = LabelledAnswer(wanted=tuple(wanted), **fields)
    if kind == "choice":
        return Read(answer, AnswerReading(letter="".join(found), doubt=doubt))
    return Read(answer, AnswerReading(tuple(found), tuple(found), doubt=doubt))


def rates_of(rates, group, half="developed"):
    return next(rate for rate in rates if (rate.half, rate.group) == (half, group))


def test_share_of_has_wilsons_interval_and_none_of_nothing():
    # 8 of 10: centre (0.8 + 3.8415/20) / (1 + 3.8415/10) = 0.7167, half width 0.2266
    share = share_of(10, 8)
    assert (share.share, round(share.low, 3), round(share.high, 3)) == (0.8, 0.490, 0.943)
    assert share_of(0, 0).share is None


def test_item_rates_count_items_over_all_texts():
    # read 2 + 3 = 5 items, wanted 3 + 2 = 5, right 2 + 2 = 4; one text of two has nothing wrong
    read = [make_read(("heat", "alien"), ("heat", "alien", "up")), make_read(("heat", "up", "it"), ("heat", "up"))]
    rates = rates_of(item_rates([*read, make_read(("up",), ("up",))]), "clear")
    assert (rates.precision.hits, rates.precision.n, rates.recall.n) == (5, 6, 6)
    assert rates.f1 == pytest.approx(10 / 12)
    assert (rates.perfect.hits, rates.perfect.n) == (1, 3)


def test_intervals_of_items_are_over_texts():
    """Ten texts of five items, each read wholly right or wholly wrong: as uncertain as ten cases, not as fifty."""
    names = ("heat", "up", "alien", "it", "big")
    read = [make_read(names if number < 8 else (*"abcde",), names) for number in range(10)]
    precision = rates_of(item_rates(read), "clear").precision
    assert (precision.hits, precision.n) == (40, 50)
    assert precision.low < 0.5 and precision.high > 0.93
    alone = rates_of(item_rates(read[:1]), "clear").precision
    assert (alone.share, alone.low, alone.high) == (1.0, None, None)


def test_item_rates_of_items_in_another_order_are_right_but_not_perfect():
    rates = rates_of(item_rates([make_read(("up", "heat"), ("heat", "up"))]), "clear")
    assert (rates.precision.share, rates.recall.share, rates.perfect.share) == (1.0, 1.0, 0.0)


def test_item_rates_count_a_name_within_a_name_as_right_only_leniently():
    rates = rates_of(item_rates([make_read(("gin tonic", "gin"), ("gin tonic with lime",))]), "clear")
    assert rates.precision.hits == 0
    assert (rates.lenient_precision.hits, rates.lenient_recall.hits) == (1, 1)


def test_item_rates_show_doubtful_and_further_texts_apart():
    read = [
        make_read(("heat",), ("heat",)),
        make_read(("heat",), ("up",), doubtful=True),
        make_read((), ("up",), drawn="no list"),
    ]
    rates = item_rates(read)
    assert rates_of(rates, "clear").precision.share == 1.0
    assert rates_of(rates, "doubtful").precision.share == 0.0
    assert rates_of(rates, "clear and doubtful").texts == 2
    further = rates_of(rates, "clear, further ones without marks of a list")
    assert (further.precision.share, further.recall.share) == (None, 0.0)


def test_letter_rates_count_unknown_where_it_is_right():
    # C right, nothing where nothing is: right; B where nothing is, nothing where D is: wrong
    pairs = [("C", "C"), ("", ""), ("B", ""), ("", "D")]
    rates = rates_of(letter_rates([make_read(found, wanted, kind="choice") for found, wanted in pairs]), "clear")
    assert (rates.precision.hits, rates.precision.n) == (1, 2)
    assert (rates.recall.hits, rates.recall.n) == (1, 2)
    assert (rates.accuracy.hits, rates.accuracy.n) == (2, 4)


def test_doubt_rates_show_what_the_doubts_are_worth():
    held_out = "e"
    assert make_read(text=held_out).answer.held_out
    read = [
        make_read(("heat",), ("heat",), text=held_out),
        make_read(("heat",), ("up",), text=held_out, doubt="prose-list"),
    ]
    assert [(rate.doubt, rate.perfect.share) for rate in doubt_rates(read)] == [("none", 1.0), ("prose-list", 0.0)]


def test_measure_answers_without_data_says_what_to_do(tmp_path):
    with pytest.raises(CommandError, match=r"^No sample: .*Name the folder with --data\.$"):
        call_command(measure_answers.Command(), data=tmp_path)


@pytest.fixture(scope="module")
def answers():
    return read_labelled_answers(DATA)


@pytest.fixture(scope="module")
def read(answers):
    return read_all(answers)[0]


@pytest.fixture(scope="module")
def layouts():
    return read_layouts()


@needs_data
def test_sample_is_large_and_labels_no_text_twice(answers):
    lists = [answer for answer in answers if answer.kind == "recommendation"]
    assert len([answer for answer in lists if answer.source == "repeated_answers_recommendations"]) >= 130
    assert len([answer for answer in lists if answer.source == "profile_vs_generic"]) >= 60
    assert len([answer for answer in answers if answer.kind == "choice"]) >= 100
    assert len({answer.text for answer in lists}) == len(lists)


@needs_data
def test_reader_is_as_good_as_it_is_said_to_be(read):
    items = rates_of(item_rates(read), "clear", "held-out")
    assert min(items.precision.share, items.recall.share) >= 0.95
    letters = rates_of(letter_rates(read), "clear", "held-out")
    assert min(letters.precision.share, letters.recall.share, letters.accuracy.share) >= 0.98


@needs_data
def test_measure_answers_prints_one_json_object(answers):
    out = StringIO()
    call_command(measure_answers.Command(), json=True, stdout=out)
    printed = json.loads(out.getvalue())
    assert (printed["rules"], printed["texts"]) == (RULES_VERSION, len(answers))
    assert printed["items"][0]["half"] == "held-out"


@needs_data
def test_measure_answers_refuses_a_text_that_was_not_labelled(tmp_path):
    for path in DATA.glob("*.jsonl"):
        shutil.copyfile(path, tmp_path / path.name)
    changed = tmp_path / "profile_vs_generic.jsonl"
    changed.chmod(0o644)
    lines = changed.read_text(encoding="utf-8").splitlines()
    lines[6] = json.dumps({**json.loads(lines[6]), "answer": "1. Heat"})
    changed.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(CommandError, match="profile_vs_generic:6 is not the text that was labelled"):
        call_command(measure_answers.Command(), data=tmp_path)


@needs_data
def test_published_page_shows_what_is_measured(read, layouts):
    page = (settings.BASE_DIR / "benchmarks" / "rates" / "answers.md").read_text(encoding="utf-8")
    tables = f"{as_tables(read)}\n{layouts_as_tables(layouts)}"
    assert f"<!-- rates -->\n\n{tables}\n<!-- end of rates -->" in page


def test_layouts_are_many_and_each_kind_has_as_many_held_out_as_developed(layouts):
    layouts = [one.answer for one in layouts]
    assert len({layout.text for layout in layouts}) == len(layouts) >= 200
    assert sum(layout.held_out and layout.further for layout in layouts) >= 60
    for kind in {(layout.layout, layout.further) for layout in layouts}:
        halves = [layout.held_out for layout in layouts if (layout.layout, layout.further) == kind]
        assert 2 * sum(halves) == len(halves), kind


def test_labels_of_layouts_stand_in_their_texts(layouts):
    for one in layouts:
        text = " ".join(one.answer.text.casefold().replace("\u2019", "'").split())
        assert one.answer.further is False or all(item in text for item in one.answer.wanted)


def test_reader_is_as_good_on_todays_layouts_as_it_is_said_to_be(layouts):
    rates = rates_of(layout_rates(layouts), "all", "held-out")
    assert min(rates.precision.share, rates.recall.share) >= 0.95
    shares = rates_of(layout_doubts(layouts), "all", "held-out")
    assert shares.silent.share <= 0.02
    assert shares.needless.share <= 0.06


def test_layout_doubts_tell_the_silent_from_the_needless():
    def read(found, wanted, doubt=""):
        reading = AnswerReading(tuple(found), tuple(found), doubt=doubt)
        return ReadLayout(Layout("a", "b", "c", tuple(wanted), asked=1), reading)

    four = [read(["heat"], ["up"]), read(["heat"], ["up"], "two-lists"), read(["up"], ["up"], "cut-off"), read([], [])]
    shares = rates_of(layout_doubts(four), "all")
    assert (shares.silent.hits, shares.silent.n) == (1, 4)
    assert (shares.due.hits, shares.due.n) == (1, 2)
    assert (shares.needless.hits, shares.needless.n) == (2, 3)
