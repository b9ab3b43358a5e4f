"""Any two sides compared: planted differences are found, chance is never claimed, all outputs have the same numbers."""

import xml.etree.ElementTree as ET
from pathlib import Path
from random import Random

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from analysis.answers.readings import read_new
from analysis.charts.figure import Options
from analysis.charts.rendering import render
from analysis.report.bundle import bundles
from analysis.report.claims.gate import PAGES, PAIR_ITEMS
from analysis.report.filters import FilterError, Filters
from analysis.report.pairs.sides import OF_MODELS, check_pair, offered_sides, read_side, usual_pair
from analysis.report.parts import FIGURES
from analysis.report.reports import report
from analysis.stats.simultaneous import LEVEL, Family, share_gaps
from surveys.models import ReadBack, Study
from tests.analysis.report.asked_twice import ARM, Truth, make_asked_twice
from tests.analysis.report.compare_samples import FEW, address, heading, links, make_compared, pair_of
from tests.analysis.report.report_samples import listed, make_model_run, reply, tell
from tests.analysis.report.unpacked import agreed_in, recompute, unpack
from tests.factories import make_definition, make_study
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import lines_of, log_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_draws")]
PAIR = ("field/chatgpt", "field/gemini")
TEAS = [f"Tea {number:02}" for number in range(139)]


def make_fields() -> Study:
    """Sixty people with each chatbot: three teas are named more often with one of them, 136 differ by chance only."""
    study = make_compared(places=70)
    random = Random(3)
    for chatbot, planted in (("chatgpt", (0.8, 0.1, 0.55)), ("gemini", (0.15, 0.65, 0.02))):
        for number in range(60):
            teas = [f"Planted {place}" for place, share in enumerate(planted) if random.random() < share]
            teas += random.sample(TEAS, 4)
            letter, plan = "C" if random.random() < 0.5 else "A", ("paid", "free")[number % 2]
            tell(study, teas, letter, chatbot=chatbot, plan=plan)
    read_new(study)
    return study


world = lasting_world(make_fields)


@pytest.fixture
def client(study: Study) -> Client:
    return log_in(study, "researcher")


def test_planted_differences_come_first_with_intervals_that_hold_them(study: Study) -> None:
    pair = pair_of(study, *PAIR)
    assert (pair["a"]["name"], pair["b"]["name"]) == ("ChatGPT in the field", "Gemini in the field")
    found = {row["name"]: row for row in pair["items"][:3]}
    assert sorted(found) == ["Planted 0", "Planted 1", "Planted 2"]
    for name, truth in (("Planted 0", 0.65), ("Planted 1", -0.55), ("Planted 2", 0.53)):
        row = found[name]
        assert row["ci"][0] < truth < row["ci"][1]
        assert row["p"] < 0.04
        assert row["difference"] == pytest.approx(row["a"]["share"] - row["b"]["share"])
    assert all(row["p"] > 0.04 and row["ci"][0] < 0 < row["ci"][1] for row in pair["items"][3:])
    assert {claim["page"] for claim in pair["claims"]} == {"pair"}
    assert "Planted 0" in pair["claims"][0]["sentence"]
    assert pair["claims"][0]["n"] == [64, 60]
    assert pair["claims"][0]["family"] == "1 prompt, each item; 1 prompt, each option; 1 entropy"


def test_items_that_both_sides_name_alike_are_tested_too() -> None:
    shares = np.array([0.5, 0.5, 1.0, 0.01, 0.0]), np.array([0.5, 0.3, 1.0, 0.01, 0.0])
    gaps = share_gaps(shares[0], 100, shares[1], 100)
    # Frequent and equal, different, named by all; hardly anybody names the last two.
    assert gaps.tested.tolist() == [True, True, True, False, False]
    assert (gaps.strength > 0).tolist() == [False, True, False, False, False]


@pytest.mark.parametrize("people", [0, 3])
def test_of_few_people_nothing_is_said_to_differ_or_not_to(people: int) -> None:
    few = make_study(slug="few", places=20)
    for chatbot in ("chatgpt", "gemini"):
        for _ in range(people):
            tell(few, ["Assam"], "A", chatbot=chatbot)
    read_new(few)
    opened = log_in(few, "viewer").get("/console/few/compare/pair/?compare=field/chatgpt&compare=field/gemini")
    few_words = "No prompt has answers of 20 people, simulated users or repeats on both sides: too few to compare."
    assert heading(opened) == (few_words if people else "No prompt has answers of both sides.")
    assert "sure; from" not in lines_of(opened)


def claims_of_nothing(rng: np.random.Generator, units: tuple[int, int], prompts: int = 9, items: int = 139) -> bool:
    """Whether a page would name an item though both sides are drawn from the same people, five items each."""
    found = []
    for _ in range(prompts):
        weights = np.log(1 / np.arange(1, items + 1) ** rng.uniform(0.6, 1.4))
        shares = [
            np.bincount(np.argsort(-(weights + rng.gumbel(size=(n, items))), axis=1)[:, :5].ravel(), minlength=items)
            / n
            for n in units
        ]
        found.append(share_gaps(shares[0], units[0], shares[1], units[1]))
    family = Family(0, [gaps.tail for gaps in found], PAGES["pair"][PAIR_ITEMS])
    return any(family.p(float(gaps.strength.max())) < LEVEL for gaps in found)


@pytest.mark.parametrize("units", [(30, 30), (60, 60), (400, 50)])
def test_of_null_pairs_hardly_any_claims_an_item(units: tuple[int, int]) -> None:
    """In 400 pages of each size 14, 9 and 12 did: at most 5 in 100."""
    rng = np.random.default_rng(7)
    assert sum(claims_of_nothing(rng, units) for _ in range(60)) <= 6


def test_two_plans_of_one_chatbot_differ_in_nothing(study: Study) -> None:
    plans = ("field/gemini/plan=free", "field/gemini/plan=paid")
    whole = report(study, Filters(compare=plans), draws=FEW, parts=["pair"])
    assert whole["pair"]["items"][0]["a"]["n"] == 30
    assert whole["pair"]["claims"] == []
    opening = next(family["sentence"] for family in whole["families"] if family["page"] == "pair")
    assert opening.startswith("For no item is a difference between Gemini in the field, plan free and Gemini in the")


def test_too_few_on_a_side_have_no_p(study: Study) -> None:
    whole = report(study, Filters(compare=("field/gemini", "offline/gpt-4o-mini")), draws=FEW, parts=["pair"])
    pair = whole["pair"]
    assert pair["items"] and all(row["p"] is None and row["ci"] is None for row in pair["items"])
    assert pair["items"][0]["why"] == "Fewer than 20 on one side: too few to test."
    assert pair["claims"] == []
    rows = [*pair["items"], *pair["options"]]
    assert (
        f"the largest of {len(rows)} differences, of which 0 were tested. At"
        in FIGURES["pair"](whole, Options()).caption
    )
    rows[0]["ci"] = [-1.0, 1.0]
    assert "differences, of which 1 was tested. At" in FIGURES["pair"](whole, Options()).caption


def test_sides_that_share_answers_are_not_compared(study: Study, client: Client) -> None:
    pair = pair_of(study, "field", "field/gemini")
    assert pair["items"] == [] and "Both sides have the same 120 answers" in pair["why"]
    opened = client.get(address("pair", "compare=field&compare=field/gemini"))
    assert heading(opened).startswith("Both sides have the same 120 answers")


@pytest.mark.parametrize(
    ("sides", "reason"),
    [
        (("field",), "two different sides"),
        (("field", "field"), "two different sides"),
        (("field/chatgpt", "field/claude"), "names no chatbot"),
        (("field", "offline/gpt-9"), "there is no such side"),
        (("field", "run/0"), "There is no run 0"),
        (("field", "run/x"), "write run and a number"),
        (("field", ""), "is no side"),
        (("field/gemini/plan=gold", "field"), "plan=gold is unknown"),
        (("field/gemini/colour=red", "field"), "colour narrows no such side"),
        (("field", "offline/gpt-4o-mini/plan=free"), "plan narrows no such side"),
    ],
)
def test_a_side_that_is_not_there_is_said(study: Study, sides: tuple[str, ...], reason: str) -> None:
    with pytest.raises(FilterError, match=reason):
        check_pair(study, sides)


def test_a_model_may_have_a_slash_in_its_name() -> None:
    side = read_side("offline/openai/gpt-4o-mini/temperature=0")
    assert (side.source, side.of, side.filters.temperature) == ("offline", "openai/gpt-4o-mini", (0.0,))


def test_the_figure_says_n_and_what_is_simulated_and_keeps_names_as_text(study: Study) -> None:
    hostile = "<script>alert(1)</script>\x00"
    made = report(study, Filters(compare=PAIR), draws=FEW, parts=["pair"])
    pair = made["pair"]
    pair["items"][0]["name"] = hostile
    drawn = FIGURES["pair"](made, Options())
    assert "n\u00a0=\u00a060\u201364; 64 persons and 60 persons" in drawn.caption
    mean = pair["distance"]["mean"]
    assert f"on average {mean['jsd_bits']:.3f} bits apart, {mean['excess']:.3f} above chance" in drawn.caption
    narrow = FIGURES["pair"](made, Options(narrow=True))
    assert narrow.table == drawn.table  # though a phone shows fewer rows
    assert len(drawn.table) == len(pair["items"]) + len(pair["options"])
    root = ET.fromstring(render(drawn, "svg"))
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    assert "\x00" not in drawn.caption + drawn.alt


def test_the_page_opens_with_the_usual_pair_and_can_be_swapped(study: Study, client: Client) -> None:
    assert usual_pair(study) == PAIR
    opened = client.get(address("pair"))
    assert heading(opened).startswith("ChatGPT in the field names Planted")
    assert b"compare=field%2Fgemini&amp;compare=field%2Fchatgpt" in opened.content


def test_no_usual_pair_has_a_run_without_answers_to_prompts() -> None:
    study = make_study(slug="one-chatbot", chatbots=make_definition().chatbots[:1])
    run = make_model_run(study)
    reply(run, "teas", listed(["Assam"]))
    assert usual_pair(study) == () and OF_MODELS not in dict(offered_sides(study, Study.objects.none()))
    read_new(study)
    assert usual_pair(study) == ("field", "offline/gpt-4o-mini")
    assert [*dict(offered_sides(study, Study.objects.none()))[OF_MODELS]] == ["offline/gpt-4o-mini"]


def test_one_run_and_a_puppet_can_be_sides(study: Study) -> None:
    run = study.runs.filter(first_run=None).earliest("pk")
    pair = pair_of(study, f"run/{run.pk}", "sp-history/gpt-4o-mini")
    assert pair["b"]["unit"] == "simulated user"
    assert {row["prompt"] for row in pair["options"]} == {"water"}


def test_the_command_asks_for_both(study: Study) -> None:
    with pytest.raises(CommandError, match="--compare takes one side and --with the other"):
        call_command("report", "teas", "--compare", "field")


# --- another state of the account, and another time


@pytest.fixture
def asked_twice() -> Study:
    return make_asked_twice(Truth(people=30, calls=0), slug="asked-twice")


def test_a_state_and_an_occasion_are_sides(asked_twice: Study) -> None:
    usual, arm, again = "field/chatgpt", f"field/chatgpt/arm={ARM}", "field/chatgpt/occasion=2"
    pair = pair_of(asked_twice, usual, arm)
    assert [pair[key]["name"] for key in "ab"] == ["ChatGPT in the field", "ChatGPT in the field, Temporary chat"]
    lost = ReadBack.objects.filter(no_answer=ReadBack.NoAnswer.UNREACHED).count()
    (row, *_) = pair["items"]
    assert {row["prompt"] for row in pair["items"]} == {"teas"}  # water was not asked in this state
    assert (row["a"]["n"], row["b"]["n"]) == (30, 30 - lost) and lost
    second = pair_of(asked_twice, again, arm)
    assert second["a"]["name"] == "ChatGPT in the field, occasion 2"
    assert {row["prompt"] for row in pair_of(asked_twice, usual, again)["options"]} == {"water"}
    assert pair_of(asked_twice, usual, again)["items"] != pair["items"]


def test_the_texts_behind_a_state_are_those_of_the_state(asked_twice: Study) -> None:
    client = log_in(asked_twice, "researcher")
    sides = ["field/chatgpt", f"field/chatgpt/arm={ARM}"]
    opened = client.get(reverse("compare:page", args=[asked_twice.slug, "pair"]), {"compare": sides})
    shown = client.get(next(href for href in links(opened, "texts/") if f"arm={ARM}" in href))
    texts = lines_of(shown)
    assert f"ChatGPT, {ARM}" in texts and f"teas--{ARM}" in texts


@pytest.mark.parametrize(
    ("side", "said"),
    [
        ("field/chatgpt/arm=nowhere", "people were not asked so. There is field/occasion=2, field/arm=temporary."),
        ("field/chatgpt/occasion=3", "people were not asked so."),
        ("field/chatgpt/occasion=two", "occasion is the number of the time"),
        (f"field/chatgpt/arm={ARM}/occasion=2", "a side has one arm or one occasion"),
        (f"offline/gpt-4o-mini/arm={ARM}", "arm narrows no such side."),
    ],
)
def test_a_state_that_nobody_was_asked_in_is_no_side(asked_twice: Study, side: str, said: str) -> None:
    with pytest.raises(FilterError, match=said.replace(".", r"\.")):
        check_pair(asked_twice, ("field/chatgpt", side))


@pytest.mark.parametrize("again", [f"arm={ARM}", "occasion=2"])
@pytest.mark.slow
def test_a_bundle_recomputes_a_state(
    asked_twice: Study, tmp_path: Path, again: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "figures_of", lambda report: [])
    unpack(asked_twice, tmp_path, compare=("field/chatgpt", f"field/chatgpt/{again}"))
    done = recompute(tmp_path)
    assert agreed_in(done.stdout)["pair"] > 10
