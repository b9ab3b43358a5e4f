"""Claims say what the rows say, are the strongest that a page could make, and assert nothing that chance explains."""

import re
from typing import Any

import pytest

from analysis.report.claims.gate import KINDS, PAGES, claims_of, opening_of, said_of
from analysis.report.claims.sentences import apart, between
from analysis.report.parts import groups
from analysis.report.reports import findings, tidy
from analysis.stats.simultaneous import share_gaps
from surveys.studies.wording import FIXED, THIN

FIELD = {"prompt": "companies", "source": "field", "model": "chatgpt", "chatbot": "chatgpt", "n": 400, "unit": "person"}
OFFLINE = {
    "prompt": "companies", "source": "offline", "model": "gpt-4o-mini", "chatbot": "chatgpt", "n": 400,
    "unit": "repeat",
}  # fmt: skip
SHARES = {"tesla": (0.35, 0.93), "patagonia": (0.37, 0.38)}
SAME = {"tesla": (0.4, 0.4)}
Row = dict[str, Any]


def make_report(**parts: Any) -> Row:
    report = {"filters": {"query": ""}, "chatbots": {"chatgpt": "ChatGPT"}} | parts
    claims, families = claims_of(report)
    return report | {"claims": tidy(claims), "families": families}


def gaps_of(shares: dict[str, tuple[float, float]], n: int = 400, calls: int = 400) -> Row:
    mine, theirs = zip(*shares.values(), strict=True) if shares else ((), ())
    found = share_gaps(mine, n, theirs, calls)
    rows = [
        {"item": name, "name": name.title(), "value": value, "other": other, "effect": value - other}
        | {"width": float(found.widths[place]), "strength": float(found.strength[place])}
        for place, (name, (value, other)) in enumerate(shares.items())
    ]
    rows.sort(key=lambda row: -row["strength"])
    return {"units": [n, calls], "strongest": rows[:1], "tail": found.tail}


def make_lists(
    effect: float = 0.0, error: float = 0.1, n: int = 400, calls: int = 400, unknown: int = 0,
    shares: dict[str, tuple[float, float]] = SHARES,
) -> list[Row]:  # fmt: skip
    """P1's example for Tesla, and a difference of entropies."""
    half = 1.966 * error  # Student's t of 399
    test = {"effect": effect, "value": 4.0 + effect, "other": 4.0, "ci": [effect - half, effect + half], "n": n}
    return [
        FIELD | {"n": n, "units": n, "unknown": unknown},
        OFFLINE
        | {"n": calls, "units": calls, "unknown": 0, "item_gaps": gaps_of(shares, n, calls)}
        | {"against_field": {"entropy_bits": test}},
    ]


def make_choices(field: dict[str, int], offline: dict[str, int]) -> list[Row]:
    both = []
    for head, counts in ((FIELD, field), (OFFLINE, offline)):
        n = sum(counts.values())
        row = head | {"prompt": "medicine-1", "counts": counts, "n": n, "units": n, "correct": "A"}
        both.append(row | {"unknown": counts.get("unknown", 0), "correct_share": counts.get("A", 0) / n})
    both[1]["against_field"] = {}
    return both


def spaced(sentence: str) -> str:
    return sentence.replace(FIXED, " ").replace(THIN, " ")


def sentences(report: Row, page: str) -> list[str]:
    return [spaced(claim["sentence"]) for claim in report["claims"] if claim["page"] == page]


def test_the_item_that_differs_most_with_an_interval_that_knows_of_the_others() -> None:
    report = make_report(heterogeneity=make_lists())
    (claim,) = [claim for claim in report["claims"] if claim["page"] == "items"]
    low, high = claim["ci"]
    assert spaced(claim["sentence"]) == (
        "Offline with gpt-4o-mini names Tesla in 93 % of answers to “Companies”, the field of ChatGPT in 35 %: 58 "
        f"points apart (simultaneous 95 % interval {-100 * high:.0f}–{-100 * low:.0f}, n = 400)."
    )
    assert claim["estimate"] == pytest.approx(-0.58)
    assert low < -0.58 < high < 0
    assert (claim["measure"], claim["n"], claim["item"]) == ("item_share", [400, 400], "tesla")
    assert claim["p"] < 1e-6 and claim["family"] == "1 prompt and offline source, each item"
    # Newcombe's interval for this item alone is 11 points wide.
    assert high - low > 0.11


def test_shares_have_a_decimal_where_rounded_they_contradict_their_difference() -> None:
    report = make_report(heterogeneity=make_lists(shares={"tesla": (0.3925, 0.9775)}))  # 39 % and 98 %, 58 apart
    (said,) = sentences(report, "items")
    assert "Tesla in 97.8 % of answers to “Companies”, the field of ChatGPT in 39.2 %: 58 points apart" in said
    assert "in 97.8 % of answers. Of ChatGPT’s users, 39.2 % get it." in spaced(opening_of(report, "overview"))


def test_the_interval_of_what_is_claimed_never_seems_to_hold_nothing() -> None:
    assert [apart(ci) for ci in ((0.004, 0.424), (-0.85, -0.0004), (0.02, 0.4))] == ["0.4–42.4", "0.04–85.00", "2–40"]
    assert apart((0.001, 1.2), 1, 2) == "0.001–1.200"


def test_no_share_differs_by_more_than_all() -> None:
    report = make_report(heterogeneity=make_lists(n=20, calls=20, shares={"tesla": (0.05, 0.95)}))
    assert [claim["ci"][0] for claim in report["claims"] if claim["page"] == "items"] == [-1.0]


def test_compare_opens_with_shares_of_people() -> None:
    report = make_report(heterogeneity=make_lists())
    assert spaced(opening_of(report, "overview")) == (
        "Asked for companies, the API names Tesla in 93 % of answers. Of ChatGPT’s users, 35 % get it."
    )


def test_a_finding_leads_to_its_page() -> None:
    report = make_report(heterogeneity=make_lists()) | {"filters": {"query": "memory=off&prompt=movies"}}
    (found,) = findings(report)
    assert found["kind"] == "items"
    assert found["query"] == "memory=off&prompt=companies&source=offline&model=gpt-4o-mini&item=tesla"
    assert found["definitions"] == ["item_share", "simultaneous"]


def test_what_chance_explains_somewhere_on_the_page_is_not_claimed() -> None:
    """11 points at 400 against 400 are three standard errors: enough for one item, too little for nine prompts'."""
    alone = make_lists(shares={"tesla": (0.5, 0.61)})
    assert sentences(make_report(heterogeneity=alone), "items")
    others = {f"item {k}": (0.4, 0.4) for k in range(6)}
    many = [
        row | {"prompt": f"list-{k}"}
        for k in range(9)
        for row in make_lists(shares=others | ({} if k else {"tesla": (0.5, 0.61)}))
    ]
    report = make_report(heterogeneity=many)
    assert report["claims"] == []
    (within,) = {family["within"]["items"] for family in report["families"] if family["page"] == "items"}
    assert 0.11 < within < 0.13
    assert spaced(opening_of(report, "items")) == (
        "For no item is a difference between the field and a model sure; from 12 points on one would be."
    )


def test_how_varied_the_field_is() -> None:
    lists = make_lists(1.5, shares=SAME)
    few = [row | {"prompt": "movies"} for row in make_lists(calls=19)]
    report = make_report(heterogeneity=lists + few)
    (found,) = sentences(report, "heterogeneity")
    assert found.startswith(
        "The field is more varied than offline with gpt-4o-mini for “Companies”: entropy 1.50 "
        "bits above 4.00 (simultaneous 95 % interval 1.29–1.71, n = 400)."
    )
    # Compare could have said more, so its interval is wider.
    assert spaced(said_of(report, ("variety",))).startswith(found.partition("(")[0])
    assert sentences(make_report(heterogeneity=make_lists(0.15, shares=SAME)), "heterogeneity") == []
    (less,) = sentences(make_report(heterogeneity=make_lists(-0.9)), "heterogeneity")
    assert less.startswith("The field is less varied than offline")


def test_no_family_denies_what_its_page_claims() -> None:
    report = make_report(heterogeneity=make_lists(-0.9))
    assert len(report["families"]) > 1
    for family in report["families"]:
        claimed = [claim for claim in report["claims"] if claim["page"] == family["page"]]
        assert family["sentence"] == claimed[0]["headline" if family["page"] == "overview" else "sentence"]
        assert not {claim["kind"] for claim in claimed} & {*family["unsaid"]}
    held = {family["page"]: family for family in make_report(heterogeneity=make_lists(shares=SAME))["families"]}
    assert "no difference" in held["overview"]["sentence"].lower() and held["overview"]["unsaid"]


@pytest.mark.parametrize(("n", "calls"), [(19, 400), (400, 19), (3, 3)])
def test_of_too_few_nothing_is_claimed_nor_is_it_said_that_nothing_differs(n: int, calls: int) -> None:
    report = make_report(heterogeneity=make_lists(2.0, n=n, calls=calls))
    assert (report["claims"], report["families"]) == ([], [])
    assert opening_of(report, "overview") == opening_of(report, "items") == ""


def test_answers_in_which_nothing_was_found_hold_a_difference_back() -> None:
    lists = make_lists(2.0, unknown=300)
    report = make_report(heterogeneity=lists)
    assert report["claims"] == []
    (family,) = [family for family in report["families"] if family["page"] == "overview"]
    assert family["held"] == 2
    assert family["sentence"] == "Nothing is compared: in too many answers nothing was found."
    lists[1]["item_gaps"] |= {"strongest": [], "tail": gaps_of({})["tail"]}  # nothing was found in any answer
    assert opening_of(make_report(heterogeneity=lists), "items") == family["sentence"]
    # 10 % unknown cannot reverse 35 against 93 %.
    assert make_report(heterogeneity=make_lists(unknown=40))["claims"]


@pytest.mark.parametrize(("shares", "held"), [((0.35, 0.37), 0), ((0.35, 0.55), 1)])
def test_only_what_would_be_said_is_held_back(shares: tuple[float, float], held: int) -> None:
    """A quarter of the field unknown could reverse either difference, but nobody would claim two points anyway."""
    report = make_report(heterogeneity=make_lists(unknown=100, shares={"tesla": shares}))
    (family,) = [family for family in report["families"] if family["page"] == "overview"]
    assert (family["held"], report["claims"]) == (held, [])


def test_unread_choices_are_not_wrong_ones() -> None:
    unread = make_choices({"A": 0, "B": 0, "unknown": 60}, {"A": 50, "B": 10})
    assert make_report(choices=unread)["claims"] == []
    wrong = make_choices({"A": 0, "B": 60}, {"A": 50, "B": 10})
    (found,) = sentences(make_report(choices=wrong), "choices")
    assert found.startswith(
        "Offline with gpt-4o-mini answers “Medicine 1” correctly in 83 % of cases, the field of ChatGPT in 0 %: 83 "
        "points apart"
    )


def test_letters_that_fewer_answers_miss_by_chance_are_not_called_new() -> None:
    """Of 400 answers 3 % are D; in one of five studies none of 50 answers is."""
    rare = {"A": 300, "B": 60, "C": 28, "D": 12}
    report = make_report(choices=make_choices(rare, {"A": 38, "B": 8, "C": 4, "D": 0}))
    assert report["claims"] == []
    (found,) = sentences(
        make_report(choices=make_choices({"A": 288, "B": 60, "C": 20, "D": 32}, {"A": 300, "B": 70, "C": 30, "D": 0})),
        "choices",
    )
    assert found.startswith(
        "The field of ChatGPT answers “Medicine 1” with D in 8 % of cases, a letter that offline with gpt-4o-mini "
        "never gives (simultaneous 95 % interval "
    )


BENCHMARK: Row = {
    "benchmark": "mmlu", "source": "sp-history", "model": "gpt-4o-mini", "questions": 600, "shared_questions": 514,
    "runs": [{}] * 17, "units": 17, "offline_runs": 9, "min": 0.701, "max": 0.749, "mean": 0.72,
    "offline_mean": 0.805, "overlaps_offline": True, "novel_share": 0.23, "novel_ci": [0.196, 0.268],
    "novel_runs": 4, "novel_excess": 0.001, "novel_excess_ci": [-0.02, 0.022],
    "noise_floor": {"range": 0.04, "ci": [0.02, 0.06], "p": 0.3},
}  # fmt: skip


def test_scores_hold_where_as_many_repeats_lie_as_far_apart() -> None:
    report = make_report(benchmarks=[BENCHMARK])
    assert report["claims"] == []
    assert spaced(said_of(report, ("spread",))) == (
        "No score surely moves: 17 runs of SP-History with gpt-4o-mini lie 5 points apart on mmlu, as many offline "
        "repeats 4 (95 % interval 2–6)."
    )


@pytest.mark.parametrize(("runs", "most", "opening"), [
    (17, 0.749, "No score surely moves: 17 runs"), (17, 0.77, "It is open whether scores hold: 17 runs"),
    (2, 0.749, "Fewer than 5 runs do not tell whether scores hold: 2 runs"),
])  # fmt: skip
def test_a_range_beyond_that_of_repeats_does_not_hold(runs: int, most: float, opening: str) -> None:
    report = make_report(benchmarks=[BENCHMARK | {"runs": [{}] * runs, "max": most}])
    assert said_of(report, ("spread",)).startswith(opening)


def test_benchmarks_that_do_not_hold() -> None:
    floor = {"range": 0.02, "ci": [0.01, 0.03], "p": 0.0005}
    changes = {"overlaps_offline": False, "novel_excess": 0.116, "novel_excess_ci": [0.09, 0.14], "noise_floor": floor}
    found = sentences(make_report(benchmarks=[BENCHMARK | changes]), "benchmarks")
    assert found[0].startswith(
        "The choice of simulated user moves the score on mmlu by 5 points over 17 runs of SP-History with "
        "gpt-4o-mini; as many offline repeats alone would move it by 2 (95 % interval 1–3)."
    )
    assert found[1].endswith("scores 70 % to 75 % in 17 runs of mmlu: a range that none of 9 offline runs reaches.")
    assert "with 4 runs of each that is 12 points more than held-out offline runs give" in found[2]


@pytest.mark.parametrize(("unknown", "said"), [(0, 2), (9, 0)])
def test_scores_beside_offline_runs_are_those_on_the_questions_that_both_were_asked(unknown: int, said: int) -> None:
    floor = {"range": 0.02, "ci": [0.01, 0.03], "p": 0.0005}
    changes = {"overlaps_offline": False, "noise_floor": floor, "shared_min": 0.69, "shared_max": 0.77}
    found = sentences(make_report(benchmarks=[BENCHMARK | changes | {"unknown_answers": unknown}]), "benchmarks")
    assert len(found) == said
    if found:
        assert "moves the score on 514 questions of mmlu by 8 points over 17 runs" in found[0]
        assert "scores 69 % to 77 % in 17 runs of 514 questions of mmlu: a range that none of 9" in found[1]
    usual = make_report(benchmarks=[BENCHMARK | {"shared_min": 0.69, "shared_max": 0.77}])
    assert "17 runs of SP-History with gpt-4o-mini lie 8 points apart on 514 questions of" in said_of(
        usual, ("spread",)
    )


@pytest.mark.parametrize(("units", "offline_runs", "said"), [(9, 1, 0), (39, 1, 0), (3, 3, 0), (6, 6, 1), (3, 20, 1)])
def test_a_range_apart_from_so_few_offline_runs_may_be_chance(units: int, offline_runs: int, said: int) -> None:
    """Among three kinds of claim this one has three tenths of the page's 5 in 100; 2 · 6! · 6! / 12! = .002."""
    row = BENCHMARK | {"overlaps_offline": False, "units": units, "offline_runs": offline_runs}
    assert len(sentences(make_report(benchmarks=[row]), "benchmarks")) == said


def test_new_letters_on_too_few_questions_are_no_test() -> None:
    few = BENCHMARK | {"benchmark": "two", "shared_questions": 2, "novel_excess_ci": None}
    families = {family["page"]: family for family in make_report(benchmarks=[BENCHMARK, few])["families"]}
    assert families["benchmarks"]["family"] == "2 ranges beside repeats; 2 places of ranges; 1 share of new letters"


def test_drift_is_held_against_all_repetitions() -> None:
    row = OFFLINE | {
        "kind": "recommendation", "date": "2026-03-09", "first_date": "2026-03-02", "jsd_bits": 0.2, "ci": [0.1, 0.3],
        "p": 0.01, "n_first": 400,
    }  # fmt: skip
    (found,) = sentences(make_report(drift=[row]), "drift")
    assert found == (
        "Offline with gpt-4o-mini answers “Companies” differently on 2026-03-09 than on 2026-03-02: distance 0.20 "
        "(p = 0.010 over all comparisons of the page, n = 400)."
    )
    others = [row | {"prompt": f"list-{k}", "p": 0.5} for k in range(12)]
    assert make_report(drift=[row, *others])["claims"] == []
    untested = [row | {"p": None}, row | {"n_first": 3}]
    assert said_of(make_report(drift=[*others, *untested]), ("drift",)).startswith("In none of 12 comparisons of a run")


def test_groups_are_held_against_all_groups_and_prompts() -> None:
    test = {"effect": 0.5, "value": 4.5, "other": 4.0, "ci": [0.1, 0.9], "n": 100}
    row = FIELD | {"cell": "a", "name": "Some", "kind": "recommendation", "n": 100, "units": 100, "entropy_bits": 4.5}
    row |= {"against_rest": {"entropy_bits": test}}
    assert sentences(make_report(cells=[row]), "demographics")[0].startswith(
        "Answers of Some to “Companies” (ChatGPT) are more varied than everybody else’s: 0.50 bits"
    )
    others = [row | {"cell": f"b{k}", "against_rest": {"entropy_bits": test | {"effect": 0}}} for k in range(71)]
    assert make_report(cells=[row, *others])["claims"] == []


def test_a_group_is_held_against_twenty_other_people_or_nothing_is_said() -> None:
    """Sixty people beside five others, or beside nobody, are no comparison, as the table has no p for them either."""
    test = {"effect": 2.0, "value": 4.5, "other": 2.5, "ci": [1.9, 2.1]}
    row = FIELD | {"cell": "a", "name": "Some", "kind": "recommendation", "n": 60, "units": 60, "entropy_bits": 4.5}
    report = make_report(cells=[row | {"against_rest": {"entropy_bits": test | {"n": 20}}}])
    assert len(sentences(report, "demographics")) == 1
    for few in (row, row | {"against_rest": {"entropy_bits": test | {"n": 5}}}):
        report = make_report(cells=[few])
        assert (report["claims"], report["families"]) == ([], [])
        assert groups.say(report).startswith("No group can be compared: that takes 20 answers to a prompt in the group")
    unread = make_report(cells=[row | {"unknown": 40, "against_rest": {"entropy_bits": test | {"n": 20}}}])
    assert opening_of(unread, "demographics") == "Nothing is compared: in too many answers nothing was found."


def test_a_pair_is_most_varied_where_its_difference_is_largest_not_where_it_is_surest() -> None:
    def varied(prompt: str, effect: float, error: float) -> Row:
        test = {"effect": effect, "value": 4.0 + effect, "other": 4.0, "ci": [effect - 2 * error, effect + 2 * error]}
        return {"prompt": prompt, "n": 200, "differences": {"entropy_bits": test}}

    pair: Row = {"a": {"name": "The field"}, "b": {"name": "Offline with m"}, "items": [], "options": []}
    found = make_report(pair=pair | {"varied": [varied("teas", 0.5, 0.02), varied("movies", 1.5, 0.1)]})
    assert sentences(found, "pair")[0].startswith(
        "The field is more varied than offline with m for 2 of 2 prompts, most for “Movies”: entropy 1.50 bits above"
    )
    mixed = make_report(pair=pair | {"varied": [varied("teas", 0.5, 0.02), varied("movies", -1.5, 0.1)]})
    assert sentences(mixed, "pair")[0].startswith(
        "Offline with m is more varied than the field for 1 of 2 prompts, “Movies”: entropy 1.50 bits above 2.50"
    )


def test_what_takes_away_or_lies_nearer_has_an_interval_of_the_size_it_says() -> None:
    """The size has no sign in words such as "takes away 0.30", so the ends of its interval have none either."""
    less = {"effect": -0.3, "ci": [-0.4, -0.2], "p": 1e-9, "p_tail": 1e-9}
    person = FIELD | less | {"prompt": "", "person": -0.3, "ci_person": [-0.4, -0.2], "between": 0.5, "within": 0.8}
    state = FIELD | less | {"prompt": "", "arm": "new", "name": "New chat", "ci_effect": [-0.4, -0.2], "thrice": 60}
    level = FIELD | less | {"label": "Plan", "level": "paid", "level_name": "Paid", "base_name": "Free", "units": 60}
    report = make_report(
        person_or_dice=[person | {"repeated": 60}], arms=[state], explanations=[level | {"by_lot": False}]
    )
    found = [*sentences(report, "person-or-dice"), *sentences(report, "explanations")]
    assert [sentence.partition(" (simultaneous 95 % interval ")[0] for sentence in found] == [
        "Two people’s answers lie 0.50 apart, one person’s own two 0.80: another person takes away 0.30",
        "New chat: the same people’s answers (ChatGPT) lie 0.30 nearer than two in their usual state",
        "Plan: with Paid, answers lie 0.300 nearer to everybody else’s than with Free",
    ]
    ends = [re.findall(r"interval ([−\d.]+) to ([−\d.]+)", sentence)[0] for sentence in found]
    assert all(0 < float(low) < 0.3 < float(high) for low, high in ends)
    assert between((-0.1, 0.3)) == "−0.10 to 0.30"


NEAR: Row = {
    "source": "sp-history", "model": "gpt-4o-mini", "history_size": 20, "nearest": True, "jsd_excess": 0.01,
    "ci": [-0.01, 0.03], "prompts": 9, "units": 400, "p_nearest": 1e-6, "compared_puppets": 2, "main": True,
}  # fmt: skip


def test_the_nearest_sock_puppet_stands_beside_offline() -> None:
    offline = OFFLINE | {"jsd_excess": 0.14, "ci": [0.13, 0.15], "prompts": 9, "main": True}
    assert sentences(make_report(calibration=[offline, NEAR]), "distances") == [
        "The sock puppet nearest to the field is SP-History with gpt-4o-mini, 20 conversations: 0.01 bits "
        "(95 % interval −0.01 to 0.03) above chance over 9 prompts; offline is at 0.14 bits (95 % interval 0.13–0.15)."
    ]
    assert make_report(calibration=[offline, NEAR | {"p_nearest": 0.04}])["claims"] == []


def test_the_strongest_of_each_kind_stand_before_the_second_of_any() -> None:
    lists = make_lists(1.5) + [row | {"prompt": "movies"} for row in make_lists(1.4)]
    kinds = [entry["kind"] for entry in findings(make_report(heterogeneity=lists, calibration=[NEAR]))]
    assert kinds == ["items", "heterogeneity", "calibration", "items"]


def test_an_empty_report_claims_nothing() -> None:
    report = make_report()
    assert (report["claims"], report["families"], findings(report)) == ([], [], [])


def test_every_kind_is_known_to_a_page_and_has_its_part_of_the_level() -> None:
    assert {kind for weights in PAGES.values() for kind in weights} == KINDS.keys()
    assert PAGES["overview"].keys() == KINDS.keys() - PAGES["pair"].keys() - PAGES["explanations"].keys()
