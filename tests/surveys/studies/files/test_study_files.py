"""Study files: all faults are found at once, each named with its place and line."""

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surveys.studies.files.definitions import LARGEST_FILE, StudyFault, StudyFileError, parse_study, read_study
from tests.surveys.studies.files.sample_study import GOOD, SAMPLES, changed, fault_at, faults_of, make_definition

FAULTS = tomllib.loads((SAMPLES / "study_faults.toml").read_text(encoding="utf-8"))["faults"]


def line_with(text: str, wanted: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if wanted in line)


# One fault at a time -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: f"{case['place']}: {case['says']}")
def test_fault_is_named_with_its_place_and_line(case):
    text = changed((case["old"], case["new"]))
    (fault,) = [fault for fault in faults_of(text) if fault.place == case["place"]]
    assert case["says"] in fault.message
    if "line" in case:
        assert fault.line == line_with(text, case["line"])


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ('text = "Thank you."', f'text = "{"x" * 20_001}"', "debrief.text", "the limit is 20,000"),
        ("minutes = 10", "minutes = 7.5", "minutes", "must be a whole number, not a decimal number"),
        ("minutes = 10", "minutes = 0x" + "f" * 6000, "minutes", "a whole number from 1 to 240"),
        ('title = "Teas"', f'title = "{"x" * 201}"', "title", "has 201 characters; the limit is 200"),
        ("contact = ", f'contact = "{"x" * 301}" #', "contact", "has 301 characters; the limit is 300"),
        ("minutes = 10", f"{'m' * 5000} = 1\nminutes = 10", "m" * 5000, "is not a key here"),
    ],
    ids=["text", "decimal", "number", "title", "line", "key"],
)
def test_fault_of_size_is_named(old, new, place, says):
    (fault,) = faults_of(changed((old, new)))
    assert fault.place == place
    assert says in fault.message


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("[[chatbots]]", "[chatbots]", "chatbots", "must be written as [[chatbots]]"),
        ("[[cells]]", "[[cell]]", "cell", "did you mean `cells`?"),
        ("[[prompts]]", "[[prompt]]", "prompts", "at least one [[prompts]] is needed"),
    ],
)
def test_table_written_wrongly_is_named(old, new, place, message):
    text = GOOD.replace(f"\n{old}", f"\n{new}")
    if new == "[chatbots]":
        text = text.replace(text[text.rindex("[chatbots]") : text.index("[chatbot_question]")], "")
    assert any(fault.place == place and message in fault.message for fault in faults_of(text))


# Lines ---------------------------------------------------------------------------------------------------


def test_missing_key_is_named_at_its_table():
    text = changed(('slug = "sea"\n', ""))
    (fault,) = faults_of(text)
    assert (fault.place, fault.message) == ("attention[2].slug", "is missing")
    assert fault.line == text[: text.rindex("[[attention]]")].count("\n") + 1


def test_line_is_right_after_texts_that_look_like_toml():
    text = changed(
        ("We ask about tea.", 'It\'s \\"\\"\\" tea.\n[[chatbots]]\nname = 1 # "'),
        ('title = "Teas"', "title = '[[cells]] # \"'  # [[cells]] '''"),
        ("minutes = 10", "minutes = 10\nprolific_study_ids = [ # ]\n  '0123456789abcdef01234567',\n]"),
        ('login = "Log in."', "login = '''\n[[prompts]] \"\"\"\n'''"),
        ("places = 3", "places = 0"),
    )
    (fault,) = faults_of(text)
    assert fault == StudyFault(
        "cells[1].places", line_with(text, "places = 0"), "must be a whole number from 1 to 100,000"
    )


def test_line_is_right_below_a_table_inside_a_list():
    text = changed(('where = { milk = "No milk" }\nplaces = 3', 'places = 3\n[cells.where]\nmilk = "Soy"'))
    (fault,) = faults_of(text)
    assert (fault.place, fault.line) == ("cells[2].where", line_with(text, "[cells.where]"))


def test_line_is_right_with_windows_line_ends_and_unusual_keys():
    text = changed(("places = 3", "places = 0"))
    assert faults_of(text.replace("\n", "\r\n"))[0].line == line_with(text, "places = 0")
    (fault,) = faults_of(changed(("minutes = 10", '"mi nutes" = 1\nminutes = 10')))
    assert (fault.place, fault.line) == ('"mi nutes"', 4)


def test_all_faults_come_at_once_in_the_order_of_the_file():
    text = changed(
        ("minutes = 10", 'minutes = "ten"'),
        ("https://chatgpt.com/", "chatgpt.com"),
        ('late = "CODE6"', 'late = "CODE1"'),
        ("after = 2", "after = 9"),
        ('answer = "C"', 'answer = "E"'),
    )
    assert [fault.place for fault in faults_of(text)] == [
        "minutes",
        "chatbots[1].address",
        "codes.late",
        "attention[2].after",
        "prompts[2].answer",
    ]


HIDDEN = [
    # Each entry of a list, and how many there are.
    (
        'options = ["Yes", "No"]',
        'options = [1, "", 3]',
        ["entry 1 must be text", "entry 2 is empty", "entry 3 must be"],
    ),
    ('options = ["Yes", "No"]', "options = [1]", ["has 1 entries, but must have from 2", "entry 1 must be text"]),
    # Keys that belong to one kind of prompt, whatever kind the file gives.
    (
        'kind = "recommendation"',
        'kind = "x"\nitems = "many"\nrequest = 5',
        ["kind is 'x'", "items must be", "request must be"],
    ),
]


@pytest.mark.parametrize(("old", "new", "wanted"), HIDDEN)
def test_faults_of_one_value_or_entry_are_told_together(old, new, wanted):
    faults = [str(fault) for fault in faults_of(changed((old, new)))]
    assert [words for words in wanted if not any(words in fault for fault in faults)] == []
    assert not any("not a key here" in fault for fault in faults)


def test_translation_is_read_though_the_own_text_is_broken():
    german = "\n[languages.de]\ntitle = 6\n[languages.de.prompts.x]\ntitle = 7\n"
    broken = changed(('title = "', "title = 5 # ")) + german
    assert "must be text in quotes" in fault_at("languages.de.title", broken).message
    nameless = faults_of(broken.replace("[[prompts]]\nslug =", "[[prompts]]\nslug = 1 #", 1))
    said = [fault.message for fault in nameless if fault.place == "languages.de.prompts.x.title"]
    assert len(said) == 1 and "must be text in quotes" in said[0]
    assert not any("is not a text of this study" in fault.message for fault in nameless)


def test_error_text_has_one_line_a_fault():
    with pytest.raises(StudyFileError) as caught:
        parse_study(changed(("after = 2", "after = 9"), ('title = "Teas"\n', "")).encode(), "teas")
    assert str(caught.value) == "title is missing\nline 104: attention[2].after is 9, but there are 2 prompts"


# Files that cannot be read at all ------------------------------------------------------------------------


def test_missing_file_and_a_folder_are_one_fault(tmp_path):
    with pytest.raises(StudyFileError) as caught:
        read_study(tmp_path / "teas.toml")
    assert caught.value.faults == [StudyFault("file", None, "cannot be read: No such file or directory")]
    with pytest.raises(StudyFileError, match="Is a directory"):
        read_study(tmp_path)


def test_file_is_read_under_its_own_name(tmp_path):
    (tmp_path / "teas.toml").write_text(GOOD)
    assert read_study(tmp_path / "teas.toml") == make_definition()
    (tmp_path / "copy.toml").write_text(GOOD)
    with pytest.raises(StudyFileError, match=r"line 1: slug is `teas`, but the file is called copy\.toml"):
        read_study(str(tmp_path / "copy.toml"))


def test_uploaded_content_needs_no_file_name():
    assert parse_study(GOOD.encode()).slug == "teas"


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b'title = "Teas\n', 1, "is not valid TOML at column 14"),
        (b'title = "Teas"\n[consent\n', 2, "is not valid TOML at column 9"),
        (b"a = 1\na = 2\n", 2, "Cannot overwrite a value"),
        (b'a = 1\nb = """\n\n', 4, "is not valid TOML"),
        (b"a = 1\nb = [1,\n", 3, "is not valid TOML"),
        (b'title = "a"\nname = "caf\xe9"\n', 2, "is not UTF-8 text"),
        ("title = 1".encode("utf-16"), 1, "is not UTF-8 text"),
        (b"a = " + b"[" * 100_000, None, "is nested too deeply"),
        (b"a = " + b"9" * 5000, None, "is not valid TOML"),
        (b"a = 1e99999999999999999999", None, "is not valid TOML"),
        (b"a = \x00", 1, "is not valid TOML"),
        (b"a = 1\nb" + b".b" * 400_000 + b" = 1", 2, "has a key of more than 100 parts"),
        (b"a = 1\n" + b"'b' . " * 100_000 + b"b = 1", 2, "has a key of more than 100 parts"),
        (b"x" * (LARGEST_FILE + 1), None, "is larger than 1,000,000 bytes"),
    ],
    ids=lambda value: None if isinstance(value, bytes) else str(value),
)
def test_unreadable_content_is_one_fault_with_its_line(content, line, message):
    (fault,) = faults_of(content)
    assert (fault.place, fault.line) == ("file", line)
    assert message in fault.message


def test_large_file_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "teas.toml"
    with path.open("wb") as file:
        file.truncate(10**12)  # sparse: takes no space
    with pytest.raises(StudyFileError, match="larger than"):
        read_study(path)


@pytest.mark.parametrize("content", [b"", b" \n", b"\xef\xbb\xbf# To be written.\r\n"])
def test_loading_an_empty_file_says_that_it_is_empty(tmp_path, content):
    path = tmp_path / "teas.toml"
    path.write_bytes(content)
    with pytest.raises(StudyFileError) as caught:
        read_study(path)
    assert [str(fault) for fault in caught.value.faults] == [
        "file is empty or has only comments; choose another file, or begin with a template"
    ]


def test_empty_file_names_all_that_is_missing_and_a_byte_order_mark_is_passed_over():
    missing = {fault.place for fault in faults_of(b"") if fault.message.startswith("is missing")}
    assert {"slug", "title", "minutes", "pay", "consent", "codes", "debrief", "chatbots", "cells", "prompts"} <= missing
    assert parse_study(b"\xef\xbb\xbf" + GOOD.encode(), "teas") == make_definition()


@settings(max_examples=300)
@given(st.data())
def test_damaged_file_gives_faults_and_nothing_else(data):
    """Cutting, doubling or overwriting a piece of a good file never raises anything but StudyFileError."""
    start = data.draw(st.integers(0, len(GOOD)))
    end = data.draw(st.integers(start, min(start + 80, len(GOOD))))
    piece = data.draw(
        st.sampled_from(["", "[", "1", '"', "= {}", "\n[x]\n", "[]", "true", GOOD[start:end] * 2, "\U0001f375"])
    )
    try:
        parse_study((GOOD[:start] + piece + GOOD[end:]).encode(), "teas")
    except StudyFileError as error:
        assert error.faults
        assert all(fault.message and "\n" not in fault.message for fault in error.faults)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 300) | st.sampled_from(["", "x", "choice", "Yes", "A", "milk"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["slug", "kind", "milk"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def to_toml(value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {to_toml(entry)}" for name, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(to_toml(entry) for entry in value) + "]"
    return json.dumps(value) if value is not None else "2.5"


@settings(max_examples=300)
@given(st.integers(0, GOOD.count(" = ") - 1), VALUES)
def test_any_value_for_any_key_is_read_or_named(number, value):
    lines = GOOD.split("\n")
    index = [at for at, line in enumerate(lines) if " = " in line and '"minutes = 1"' not in line][number % 80]
    lines[index] = f"{lines[index].split(' = ')[0]} = {to_toml(value)}"
    try:
        parse_study("\n".join(lines).encode(), "teas")
    except StudyFileError as error:
        assert error.faults
