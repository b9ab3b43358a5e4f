"""Askings: what each person is asked again, where in their order, and the faults of files that say so."""

import re
from collections import Counter
from itertools import pairwise

import pytest

from surveys.studies.files.askings import Arm, Asking, Repeats, askings_of, is_drawn, most_apart, order_for, put_in
from surveys.studies.files.definitions import Definition, parse_study
from tests.surveys.studies.files.sample_study import (
    ASKED_AGAIN,
    GOOD,
    faults_of,
    make_asking_definition,
    make_definition,
)

PROMPTS = [f"p{number}" for number in range(13)]
REPEATS = Repeats(("p0", "p1"), apart=4, people=0.5)
TEMPORARY = Arm("temporary", "Temporary chat", "Open one.", ("p0",))


def row_of(place: int, prompts: list[str] = PROMPTS) -> list[str]:
    return [prompts[at] for at in order_for(len(prompts), "williams", place, "")]


def orders_of(places: int, repeats: Repeats | None = REPEATS, *arms: Arm) -> list[list[str]]:
    return [put_in(row_of(place), repeats, arms, place, "seed") for place in range(places)]


def of_prompt(order: list[str], prompt: str) -> list[int]:
    return [at for at, slug in enumerate(order) if slug.partition("--")[0] == prompt]


# --- orders -----------------------------------------------------------------


@pytest.mark.parametrize("times", [2, 3, 4])
@pytest.mark.parametrize("n", range(1, 14))
def test_askings_of_one_prompt_are_apart_wherever_the_row_has_it(n: int, times: int) -> None:
    prompts, apart = PROMPTS[:n], most_apart(n, times)
    repeats = Repeats(tuple(prompts[:2]), apart)
    arms = [Arm(f"arm-{number}", "", "", ("p0",)) for number in range(times - 2)]
    for place in range(3 * n):
        row = row_of(place, prompts)
        order = put_in(row, repeats, arms, place, "seed")
        assert sorted(order) == sorted(asking.slug for asking in askings_of(prompts, repeats, arms))
        assert order.index("p0") < order.index("p0--2")
        gaps = [later - earlier for prompt in prompts for earlier, later in pairwise(of_prompt(order, prompt))]
        assert min(gaps) >= apart
        assert [slug for slug in order if slug in prompts[2:]] == [slug for slug in row if slug in prompts[2:]]


def test_one_asking_stands_in_the_place_that_the_row_gives_its_prompt() -> None:
    for place, order in enumerate(orders_of(104)):
        others = [slug for slug in order if slug.partition("--")[0] not in ("p0", "p1")]
        row = row_of(place)
        for prompt in ("p0", "p1"):
            before = [slug for slug in row[: row.index(prompt)] if slug in others]
            stands = [[slug for slug in order[:at] if slug in others] for at in of_prompt(order, prompt)]
            assert before in stands


def test_the_share_is_kept_within_every_cell_and_in_every_row_of_the_scheme() -> None:
    orders = orders_of(260)
    drawn = [place for place, order in enumerate(orders) if "p0--2" in order]
    assert len(drawn) == 130
    assert all(sum(at // 4 == block for at in drawn) == 2 for block in range(65))
    assert {place % 26 for place in drawn} == set(range(26))
    assert all(("p0--2" in order) == ("p1--2" in order) for order in orders)


@pytest.mark.parametrize("share", [0.1, 0.33, 0.5, 0.75, 1.0])
def test_a_share_comes_out_after_any_number_of_blocks(share: float) -> None:
    for blocks in (1, 3, 10, 25):
        drawn = sum(is_drawn(share, place, "seed") for place in range(4 * blocks))
        assert abs(drawn - 4 * blocks * share) <= 0.5


def test_an_arm_comes_before_the_usual_state_for_half_of_the_places() -> None:
    orders = orders_of(104, None, TEMPORARY)
    first = [order.index("p0--temporary") < order.index("p0") for order in orders]
    assert sum(first) == 52
    assert all(sum(first[at : at + 4]) == 2 for at in range(0, 104, 4))


@pytest.mark.parametrize("side", ["before", "after"])
def test_an_arm_may_be_on_one_side_always(side: str) -> None:
    arm = Arm("temporary", "", "", ("p0",), order=side)
    found = {order.index("p0--temporary") < order.index("p0") for order in orders_of(52, REPEATS, arm)}
    assert found == {side == "before"}


def test_second_occasions_stand_at_many_places() -> None:
    at = Counter(order.index("p1--2") for order in orders_of(520) if "p1--2" in order)
    assert min(at) <= 5 and len(at) >= 10


def test_an_order_follows_from_place_and_cell_alone() -> None:
    definition = make_asking_definition()
    assert definition.order_of(7, "chatgpt\nmilky", "one") == definition.order_of(7, "chatgpt\nmilky", "another")
    orders = [definition.order_of(place, "chatgpt\nmilky", "") for place in range(8)]
    assert orders != [definition.order_of(place, "gemini\nplain", "") for place in range(8)]


def test_without_askings_the_order_is_that_of_the_scheme() -> None:
    definition = make_definition()
    slugs = [prompt.slug for prompt in definition.prompts]
    for place in range(4):
        row = order_for(2, "williams", place, "person")
        assert definition.order_of(place, "cell", "person") == [slugs[at] for at in row]


# --- what a file says -------------------------------------------------------


def test_askings_come_after_the_prompts_and_survive_their_document() -> None:
    definition = make_asking_definition()
    assert definition.askings == [
        *map(Asking, ("teas", "water", "cakes", "pots")),
        Asking("teas", occasion=2),
        Asking("teas", arm="temporary"),
        Asking("water", occasion=2),
    ]
    assert [asking.slug for asking in definition.askings[4:]] == ["teas--2", "teas--temporary", "water--2"]
    assert Definition.from_document(definition.to_document()) == definition
    assert not {"repeats", "arms", "rating"} & make_definition().to_document().keys()


@pytest.mark.parametrize(
    ("paste", "asks"), [("", True), ('\n[checks]\npaste = ["empty"]\n', True), ("\n[checks]\npaste = []\n", False)]
)
def test_who_asks_again_asks_about_the_same_again(paste: str, asks: bool) -> None:
    assert ("same-again" in parse_study((GOOD + ASKED_AGAIN + paste).encode(), "teas").paste_checks) == asks
    assert "same-again" not in make_definition().paste_checks


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ('prompts = ["teas", "water"]', 'prompts = ["tea"]', "repeats.prompts", "did you mean `teas`?"),
        ('prompts = ["teas", "water"]', "prompts = []", "repeats.prompts", "from 1 to 100"),
        ("apart = 2", "apart = 3", "repeats.apart", "is 3, but with 4 prompts, of which one is asked 3 times"),
        ("apart = 2", "apart = 0", "repeats.apart", "a whole number from 1 to 100"),
        ("people = 0.5", "people = 1.5", "repeats.people", "above 0 and at most 1"),
        ("people = 0.5", "people = 0", "repeats.people", "above 0 and at most 1"),
        ('instruction = "Press the dotted circle."\n', "", "arms[1].instruction", "is missing"),
        ('slug = "temporary"', 'slug = "2"', "arms[1].slug", "that word is reserved"),
        ('slug = "temporary"', f'slug = "{"a" * 46}"', "arms[1].prompts", "has more than 50 characters"),
        ('slug = "pots"', 'slug = "teas--2"', "repeats.prompts", "which another prompt is called"),
        ('slug = "pots"', 'slug = "teas--temporary"', "arms[1].prompts", "which another prompt is called"),
        ('prompts = ["teas"]\n', 'prompts = ["milk"]\n', "arms[1].prompts", "which does not exist"),
        ('prompts = ["teas"]\n', 'prompts = ["teas"]\norder = "first"\n', "arms[1].order", "it can be `balanced`"),
        ('prompts = ["teas", "cakes"]', 'prompts = ["juice"]', "rating.prompts", "which does not exist"),
        ('text = "How useful is it?', 'txt = "How useful is it?', "rating.txt", "is not a key here"),
    ],
)
def test_fault_of_what_is_asked_again_has_place_and_line(old: str, new: str, place: str, says: str) -> None:
    assert old in ASKED_AGAIN
    text = GOOD + ASKED_AGAIN.replace(old, new, 1)
    (fault,) = [fault for fault in faults_of(text) if fault.place == place]
    assert says in fault.message
    table = place.partition(".")[0].partition("[")[0]
    begin = next(at for at, line in enumerate(text.splitlines(), 1) if re.fullmatch(rf"\[+{table}\]+", line))
    assert fault.line is not None and begin <= fault.line < begin + 6


def test_apart_may_be_as_large_as_the_survey_allows() -> None:
    assert make_asking_definition(('prompts = ["teas"]', 'prompts = ["cakes"]'), ("apart = 2", "apart = 3"))


def test_rating_of_all_is_asked_of_each_prompt() -> None:
    some, every = (
        make_asking_definition(*changes).rating
        for changes in ((), [('prompts = ["teas", "cakes"]', 'prompts = "all"')])
    )
    assert (some.is_asked_of("teas"), some.is_asked_of("water")) == (True, False)
    assert every.is_asked_of("water")


def test_names_and_texts_of_askings_are_wanted_in_each_language() -> None:
    faults = faults_of(GOOD + ASKED_AGAIN + "\n[languages.de]\ntitle = 'Tees'\n")
    missing = {fault.place for fault in faults if fault.message == "is missing"}
    wanted = {"arms.temporary.name", "arms.temporary.instruction", "rating.text"}
    assert {f"languages.de.{place}" for place in wanted} <= missing


def test_without_prompts_nothing_is_said_about_their_distance() -> None:
    text = (GOOD + ASKED_AGAIN).replace("[[prompts]]", "[[prompt]]")
    assert "repeats.apart" not in {fault.place for fault in faults_of(text)}
