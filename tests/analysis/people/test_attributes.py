"""Importing attributes: from faulty files, with quotes that are somewhere or nowhere, twice, and all or none."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import IntegrityError, transaction

from analysis.models import Attribute, Conversation, Corpus, CorpusUser
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.evidence import locate, without_personal
from analysis.people.sensitive import mark_sensitive
from tests.analysis.people.people_samples import command, make_person, people, write_lines
from tests.analysis.runs.baseline_factories import make_corpus

pytestmark = pytest.mark.django_db
CHAT = {"conversation": [{"role": "user", "content": "Hi"}], "hashed_ip": "ann", "language": "English"}


def import_rows(folder: Path, *rows: Any, corpus: str = "corpus") -> dict[str, Any]:
    return command("import_attributes", corpus, str(write_lines(folder / "attributes.jsonl", rows)))


def test_attributes_are_kept_with_evidence_in_its_place(tmp_path: Path) -> None:
    make_person("ann", [["I bake every Sunday.", "My dog is called Rex."], ["What is yeast?"]])
    told = import_rows(
        tmp_path,
        {
            "user": "ann",
            "text": "Bakes.",
            "confidence": 0.9,
            "evidence": ["bake every sunday"],
            "conversation": "ann-1",
        },
        {"user": "ann", "text": "Has a dog.", "evidence": "“My dog is  called Rex”", "reasoning": "It has a name."},
        {"user": "ann", "text": "Has a cat.", "confidence": 0.3, "evidence": [{"quote": "my cat"}]},
    )
    assert told == {
        **{"corpus": "corpus", "new_corpus": False, "attributes": 3, "new": 3, "there": 0, "users": 1},
        **{"quotes": 3, "unlocated": 1, "low_confidence": 1, "sensitive": 0, "erased": 0},
    }
    bakes, dog, cat = Attribute.objects.all()
    first = bakes.conversation
    assert bakes.evidence == [
        {"quote": "bake every sunday", "conversation": first.sha256, "message": 0, "start": 2, "end": 19}
    ]
    assert (dog.conversation, dog.evidence[0]["message"], dog.reasoning) == (None, 2, "It has a name.")
    assert (cat.left_out_by, cat.unlocated) == ("confidence", 1)


def test_importing_twice_adds_nothing(tmp_path: Path) -> None:
    row = {"user": "ann", "text": "Bakes."}
    import_rows(tmp_path, row, row)
    told = import_rows(tmp_path, row, {**row, "conversation": "2"}, {**row, "generator": "model-b"})
    assert (told["new"], told["there"], Attribute.objects.count()) == (2, 1, 3)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("no json\n", "line 2: is not valid JSON"),
        ('["a list"]\n', "line 2: must be a JSON object"),
        ({"text": "Bakes."}, "line 2: user is missing"),
        ({"user": " ", "text": "Bakes."}, "line 2: user is empty"),
        ({"user": "x" * 101, "text": "Bakes."}, "line 2: user has 101 characters; the limit is 100"),
        ({"user": "ann", "text": " \n"}, "line 2: text is empty"),
        ({"user": "ann", "text": ["Bakes."]}, "line 2: text is no text"),
        ({"user": "ann", "text": "x" * 10_000}, "line 2: text has 10,000 characters; the limit is 2,000"),
        ({"user": "ann", "text": "Bakes.", "confidence": 40}, "line 2: confidence is 40; it must be a number from 0"),
        ({"user": "ann", "text": "Bakes.", "confidence": "high"}, "line 2: confidence is high"),
        ({"user": "ann", "text": "Bakes.", "confidence": True}, "line 2: confidence is True"),
        ({"user": "ann", "text": "Bakes.", "evidence": ["a", ""]}, "line 2: quote 2 of the evidence is empty"),
        ({"user": "ann", "text": "Bakes.", "evidence": [7]}, "line 2: quote 1 of the evidence is empty or no text"),
        ({"user": "ann", "text": "Bakes.", "score": 1}, "line 2: there is no place for the column 'score'"),
    ],
)
def test_bad_line_refuses_the_file_and_is_named(tmp_path: Path, row: Any, fault: str) -> None:
    good = {"user": "bob", "text": "Sings."}
    with pytest.raises(CommandError, match=fault):
        import_rows(tmp_path, good, row, good | {"text": "Runs."})
    assert (Attribute.objects.count(), CorpusUser.objects.count()) == (0, 0)


def test_every_bad_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Faults: 2\nline 1: .*\nline 3: "):
        import_rows(tmp_path, "{\n", {"user": "ann", "text": "Bakes."}, "nothing\n")


def test_users_named_like_sql_and_with_odd_characters(tmp_path: Path) -> None:
    names = ["'; DROP TABLE analysis_attribute; --", "Zoë 🦉", "a\tb", "nul\x00"]
    import_rows(tmp_path, *[{"user": name, "text": "Bakes."} for name in names])
    assert set(CorpusUser.objects.values_list("key", flat=True)) == {*names[:3], "nul"}


def test_file_that_is_not_there_and_name_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        command("import_attributes", "corpus", str(tmp_path / "none.jsonl"))
    with pytest.raises(CommandError, match="is no name for a corpus"):
        import_rows(tmp_path, {"user": "ann", "text": "Bakes."}, corpus="a corpus")


def test_other_peoples_conversations_are_not_searched() -> None:
    make_person("bob", [["I bake."]])
    kept = keep_attributes(
        make_corpus(),
        [
            NewAttribute("ann", "Bakes.", evidence=["I bake."]),
            NewAttribute("ann", "Bakes.", None, ["I bake."], "bob-1"),
        ],
    )
    assert kept.unlocated == 2
    assert list(Attribute.objects.values_list("conversation", "place")) == [(None, ""), (None, "bob-1")]


def test_quote_is_found_with_the_person_before_the_model() -> None:
    messages = [{"role": "assistant", "content": "So you bake?"}, {"role": "user", "content": "Yes, I bake?"}]
    assert locate("bake?", messages) == (1, 7, 12)
    assert locate("So you", messages) == (0, 0, 6)
    assert locate("you   BAKE", messages) == (0, 3, 11)
    assert locate("… ", messages) is None
    assert locate("I baked", messages) is None


def test_quotes_with_marks_of_patterns_are_only_texts() -> None:
    assert locate("cost (a+b)* [x]", [{"role": "user", "content": "The COST (a+b)*  [x] is high"}]) == (0, 4, 20)


def test_personal_details_are_taken_out_and_places_move_along() -> None:
    text = "Mail ann@example.org, then I bake."
    assert without_personal(text, [(27, 33), (0, 8), (8, 27)]) == (
        "Mail [e-mail address], then I bake.", [(28, 34), (0, 21), (5, 28)], 1,
    )  # fmt: skip
    assert without_personal("I bake.", [(0, 6)]) == ("I bake.", [(0, 6)], 0)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Has health considerations, including asthma.", ["health"]),
        ("Is a Muslim who prays five times a day.", ["religion"]),
        ("Comes from Nigeria.", ["origin"]),
        ("Voted for the Green party.", ["politics"]),
        ("Is gay and out to friends.", ["sex"]),
        ("Interested in omegaverse fanfiction.", ["sex"]),
        ("Has only one leg after an injury.", ["health"]),
        ("The user's wife is Korean.", ["origin"]),
        ("Grew up in the Netherlands.", ["origin"]),
        ("Cares about climate policy.", ["politics"]),
        ("Likes Korean food and nail polish.", []),
        ("Was born in 1990.", []),
        ("Prefers Python to Java.", []),
        ("Is a developer familiar with Flutter.", []),
        ("Likes to race cars and to cook Sussex stew.", []),
    ],
)
def test_sensitive_attributes_are_marked(text: str, kinds: list[str]) -> None:
    assert mark_sensitive(text) == kinds


@pytest.mark.parametrize(
    "change",
    [{"text": " "}, {"confidence": 1.2}, {"left_out_by": "mood"}, {"cluster_size": 3}, {"cluster_confidence": 0.5}],
    ids=str,
)
def test_database_refuses_what_can_never_be(change: dict[str, Any]) -> None:
    keep_attributes(make_corpus(), [NewAttribute("ann", "Bakes.")])
    with pytest.raises(IntegrityError), transaction.atomic():
        Attribute.objects.update(**change)


def test_conversations_may_come_after_the_attributes(tmp_path: Path) -> None:
    import_rows(tmp_path, {"user": "ann", "text": "Bakes."})
    command("import_corpus", "corpus", str(write_lines(tmp_path / "chats.jsonl", [CHAT])), "--format", "wildchat")
    assert people("corpus", "filter")["users"] == 1
    assert Attribute.objects.get().user.conversations == 1


def test_a_file_that_cannot_be_read_decides_no_format(tmp_path: Path) -> None:
    import_rows(tmp_path, {"user": "ann", "text": "Bakes."})
    path = write_lines(tmp_path / "chats.jsonl", [{"conversation": []}, {"other": 1}])
    with pytest.raises(CommandError, match="holds no whole sharegpt conversation"):
        command("import_corpus", "corpus", str(path), "--format", "sharegpt")
    command("import_corpus", "corpus", str(write_lines(path, [CHAT])), "--format", "wildchat")
    assert Corpus.objects.get().format == "wildchat"


def test_csv_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "attributes.csv"
    path.write_text('user,text,confidence,evidence\nann,Bakes.,0.7,"[""I bake""]"\nbob,Sings.,,\n')
    assert command("import_attributes", "corpus", str(path))["new"] == 2
    assert list(Attribute.objects.values_list("confidence", flat=True)) == [0.7, None]


def test_an_id_of_two_conversations_names_neither(tmp_path: Path) -> None:
    make_person("ann", [["I bake every Sunday."], ["My dog is called Rex."]])
    Conversation.objects.update(source_id="same")
    row = {"user": "ann", "text": "Bakes.", "evidence": ["bake every Sunday"]}
    import_rows(tmp_path, row | {"conversation": "same"})
    assert Attribute.objects.get().conversation is None
    own = Conversation.objects.get(messages__0__content__icontains="bake")
    import_rows(tmp_path, row | {"text": "Bakes bread.", "conversation": own.sha256})
    assert Attribute.objects.get(text="Bakes bread.").conversation == own


def test_an_attribute_without_a_conversation_gets_none_of_another(tmp_path: Path) -> None:
    make_person("ann", [["I bake every Sunday."], ["My dog is called Rex."]])
    Conversation.objects.update(source_id="")
    own = Conversation.objects.get(messages__0__content__icontains="dog")
    rows = [{"user": "ann", "text": "Has a dog.", "conversation": own.sha256}, {"user": "ann", "text": "Bakes."}]
    import_rows(tmp_path, *rows)
    assert dict(Attribute.objects.values_list("text", "conversation")) == {"Has a dog.": own.pk, "Bakes.": None}
