"""The table of spellings: what its decisions add up to, undoing them, and two people deciding at once."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, connection, transaction

from analysis.answers import aliases
from analysis.answers.alias_proposals import compare, propose, propose_for, strip_marks
from analysis.answers.aliases import AliasError, accept, alias_map, alias_version, reject, split, undo
from analysis.answers.readings import read_new
from analysis.models import Alias, AliasDecision
from surveys.models import AuditEvent, Study
from surveys.participation.recruitment import withdraw
from tests.analysis.answers.answer_samples import give
from tests.factories import make_participant, make_response, make_study


def teas(study: Study) -> dict[str, str]:
    return alias_map(study).get("teas", {})


# --- deciding ---------------------------------------------------------------


def test_accepted_spellings_stand_for_the_item(study: Study) -> None:
    decision = accept(study, "teas", ["tesla motors", "tesla "], "tesla", "ada")
    assert (decision.number, decision.spellings, teas(study)) == (1, ["tesla motors"], {"tesla motors": "tesla"})
    assert alias_version(study) == 1
    assert AuditEvent.objects.get(action="aliases: accept").detail == {"number": 1, "prompt": "teas", "spellings": 1}


def test_prompts_have_tables_of_their_own(study: Study) -> None:
    accept(study, "teas", ["amazon.com"], "amazon", "ada")
    accept(study, "water", ["amazon river"], "amazon", "ada")
    assert alias_map(study) == {"teas": {"amazon.com": "amazon"}, "water": {"amazon river": "amazon"}}


@pytest.mark.parametrize("steps", [[("b", "c"), ("a", "b")], [("a", "b"), ("b", "c")]])
def test_chains_are_resolved_when_written(study: Study, steps: list[tuple[str, str]]) -> None:
    for spelling, item in steps:
        accept(study, "teas", [spelling], item, "ada")
    assert teas(study) == {"a": "c", "b": "c"}


def test_a_circle_is_refused_and_leaves_nothing_behind(study: Study) -> None:
    accept(study, "teas", ["a"], "b", "ada")
    with pytest.raises(AliasError, match="already the same thing"):
        accept(study, "teas", ["b"], "a", "ada")
    assert (teas(study), alias_version(study)) == ({"a": "b"}, 1)


def test_splitting_takes_only_what_was_named(study: Study) -> None:
    accept(study, "teas", ["a", "b"], "c", "ada")
    split(study, "teas", ["a"], "c", "ada")
    assert teas(study) == {"b": "c"}
    with pytest.raises(AliasError, match="do not stand for c"):
        split(study, "teas", ["a"], "c", "ada")


def test_undoing_leaves_later_decisions_standing(study: Study) -> None:
    accept(study, "teas", ["a"], "b", "ada")
    accept(study, "teas", ["b"], "c", "ada")
    undo(study, 1, "eve")
    assert (teas(study), alias_version(study)) == ({"b": "c"}, 3)
    with pytest.raises(AliasError, match="undone already"):
        undo(study, 1, "eve")
    with pytest.raises(AliasError, match="no decision 3"):
        undo(study, 3, "eve")


def test_undoing_a_split_joins_again(study: Study) -> None:
    accept(study, "teas", ["a"], "b", "ada")
    split(study, "teas", ["a"], "b", "ada")
    undo(study, 2, "ada")
    assert teas(study) == {"a": "b"}


@pytest.mark.parametrize(("spellings", "item"), [([], "tea"), (["tea"], "tea"), (["tea"], " "), (["x" * 301], "tea")])
def test_an_empty_or_endless_decision_is_refused(study: Study, spellings: list[str], item: str) -> None:
    with pytest.raises(AliasError):
        accept(study, "teas", spellings, item, "ada")
    assert alias_version(study) == 0


def test_a_spelling_stands_for_one_thing_only(study: Study) -> None:
    decision = accept(study, "teas", ["a"], "b", "ada")
    with pytest.raises(IntegrityError, match="alias_spelling_once"), transaction.atomic():
        Alias.objects.create(study=study, prompt="teas", spelling="a", item="c", decision=decision)


def test_a_decision_is_never_rewritten(study: Study) -> None:
    accept(study, "teas", ["a"], "b", "ada")
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        AliasDecision.objects.update(item="c")


@pytest.mark.django_db(transaction=True)
def test_decisions_at_once_are_numbered_without_gaps() -> None:
    study = make_study()

    def decide(number: int) -> None:
        try:
            aliases.accept(study, "teas", [f"spelling {number}"], "tea", "ada")
        finally:
            connection.close()

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(decide, range(24)))
    numbers = AliasDecision.objects.order_by("number").values_list("number", flat=True)
    assert list(numbers) == list(range(1, 25))
    assert teas(study) == {f"spelling {number}": "tea" for number in range(24)}


# --- proposals --------------------------------------------------------------


def likely(*names: str) -> bool:
    return bool(compare([strip_marks(name) for name in names])[0, 1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("crème brûlée", "creme brulee"),
        ("coca-cola", "coca cola"),
        ("procter & gamble", "procter and gamble"),
        ("green tea", "green teas"),
        ("mcdonald's", "mcdonalds"),
        ("the shawshank redemption", "the shawshank redemtion"),
        ("science, computer", "computer science"),
        ("h&m", "h & m"),
    ],
)
def test_likely_spellings_of_one_thing(one: str, other: str) -> None:
    assert likely(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("toy story 2", "toy story 3"),
        ("final fantasy xv", "final fantasy xvi"),
        ("tesla", "tesla model s"),
        ("ford", "fjord"),
        ("bob", "rob"),
        ("microsoft", "micron"),
        ("iphone 14", "iphone"),
    ],
)
def test_different_things_are_not_proposed(one: str, other: str) -> None:
    assert not likely(one, other)


def test_a_proposal_keeps_the_most_named_spelling_and_counts_by_source() -> None:
    counts = {
        "coca cola": Counter(field=3, offline=1),
        "coca-cola": Counter(field=5, offline=9),
        "pepsi": Counter(field=4),
    }
    (proposal,) = propose_for("drinks", counts, set())
    assert (proposal.item.name, proposal.item.count, proposal.why) == ("coca-cola", 14, "marks")
    assert [(other.name, other.count, other.sources) for other in proposal.others] == [
        ("coca cola", 4, {"field": 3, "offline": 1})
    ]
    assert proposal.count == 4


def test_what_was_decided_is_not_proposed_again(study: Study) -> None:
    give(study, "teas", "1. Earl Grey\n2. Assam\n3. Darjeeling\n4. Sencha\n5. Oolong")
    give(study, "teas", "1. Earl-Grey\n2. Assam\n3. Darjeelingg\n4. Sencha\n5. Oolong")
    assert [(p.item.name, p.others[0].name) for p in propose(study)] == [
        ("darjeeling", "darjeelingg"),
        ("earl grey", "earl-grey"),
    ]
    accept(study, "teas", ["darjeelingg"], "darjeeling", "ada")
    reject(study, "teas", ["earl-grey"], "earl grey", "ada")
    assert propose(study) == []
    undo(study, 2, "ada")
    assert [p.item.name for p in propose(study)] == ["earl grey"]


def test_what_was_split_is_not_proposed_again(study: Study) -> None:
    give(study, "teas", "1. Earl Grey\n2. Assam\n3. Darjeeling\n4. Sencha\n5. Oolong")
    give(study, "teas", "1. Earl-Grey\n2. Assam\n3. Darjeeling\n4. Sencha\n5. Oolong")
    accept(study, "teas", ["earl-grey"], "earl grey", "ada")
    split(study, "teas", ["earl-grey"], "earl grey", "ada")
    assert propose(study) == []


def test_only_the_newest_revision_is_counted(study: Study) -> None:
    person = make_participant(study)
    make_response(person, "teas", text="1. Assam\n2. Asam", keep=True)
    make_response(person, "teas", text="1. Assam\n2. Sencha", keep=True)
    read_new(study)
    assert propose(study) == []


def test_withdrawal_tells_nothing_apart_that_nobody_told_apart(study: Study) -> None:
    give(study, "teas", "1. Earl Grey\n2. Assam")
    give(study, "teas", "1. Earl-Grey\n2. Assam")
    person = make_participant(study)
    make_response(person, "teas", text="1. Pearl Gray\n2. Assam", keep=True)
    read_new(study)
    reject(study, "teas", ["earl grey", "earl-grey"], "pearl gray", "ada")
    withdraw(person)
    assert [(p.item.name, p.others[0].name) for p in propose(study)] == [("earl grey", "earl-grey")]
