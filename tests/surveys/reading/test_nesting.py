"""One nesting limit for everything from outside, whatever recursion Python allows."""

import base64
import io
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ParseError

from analysis.exports.refusals import WholeJSONParser
from analysis.people.corpora.reading import CorpusFile
from analysis.runs.asking.kinds import objects_in
from analysis.runs.lanes.batches import document_of
from surveys.participation.pasting.capture import read_object
from surveys.participation.prolific import LONGEST_TOKEN, is_signed
from surveys.participation.webhooks import read_event
from surveys.reading.nesting import DEEPEST, NestedTooDeeply, is_deep_json, is_deep_toml, read_json, read_json_at
from surveys.studies.files.definitions import StudyFileError, parse_study
from surveys.studies.imports.files import Faults, read_json_lines
from tests.surveys.participation.test_signed_arrival import VISIT, claims, private_key, sign, write_keys


@pytest.fixture(params=["as it is", "deep"], autouse=True)
def recursion(request: pytest.FixtureRequest) -> Iterator[None]:
    """Python 3.14 follows JSON far deeper than 3.11; on 3.11 a higher recursion limit has the same effect."""
    before = sys.getrecursionlimit()
    if request.param == "deep":
        sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


def nested(levels: int) -> str:
    """Lists and objects by turns, with brackets and a quote inside a string, which open nothing."""
    opening = "".join('["[{\\"[{", ' if level % 2 else '{"a": ' for level in range(levels))
    return opening + "1" + "".join("]" if level % 2 else "}" for level in reversed(range(levels)))


def test_limit_is_met_exactly() -> None:
    assert read_json(nested(DEEPEST)) == json.loads(nested(DEEPEST))
    assert read_json(nested(DEEPEST).encode("utf-16")) == json.loads(nested(DEEPEST))
    for text in (nested(DEEPEST + 1), "[" * 700, "[" * 100_000, '{"a":' * 100_000):
        with pytest.raises(NestedTooDeeply, match="more than 100 levels deep"):
            read_json(text)
        with pytest.raises(NestedTooDeeply):
            read_json(text.encode())
        with pytest.raises(NestedTooDeeply):
            read_json_at(json.JSONDecoder(), "x " + text, 2)


def test_many_brackets_side_by_side_or_in_texts_are_not_deep() -> None:
    wide = json.dumps([[["[[{" * 200, '"', "\\"]] * 500])
    assert read_json(wide) == json.loads(wide)
    assert read_json_at(json.JSONDecoder(), "[1]" + "[" * 700, 0) == ([1], 3)


def depth_of(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(depth_of, inner), default=0) if isinstance(value, dict | list) else 0


VALUES = st.recursive(
    st.text('[]{}"\\\n a', max_size=8) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[]{}"\\', max_size=4), inner, max_size=3),
)


@given(VALUES, st.integers(0, 3))
def test_depth_is_that_of_the_value(value: object, less: int) -> None:
    around = DEEPEST + 1 - less - depth_of(value)
    assert is_deep_json("[" * around + json.dumps(value) + "]" * around) is (less == 0)


TOML = {
    "lines": """a = '[' # [[[ "\nb = "[\\"["\n""",
    "several lines": 'c = """\n["[\\"""["""\n' + "d = '''\n['['''\n",
    "tables": "[[a]]\nb = {c = [1, [2]]}\n",
}


@pytest.mark.parametrize("lines", TOML.values(), ids=TOML)
def test_texts_and_comments_of_toml_open_nothing(lines: str) -> None:
    assert not is_deep_toml(lines * 300)
    assert is_deep_toml(lines * 300 + "e = " + "[" * (DEEPEST + 1))
    assert not is_deep_toml(lines * 300 + "e = " + "[" * DEEPEST)


def test_deep_study_file_is_refused_in_a_sentence() -> None:
    for deep in ("[" * 700 + "]" * 700, "{a = " * 700 + "1" + "}" * 700):
        with pytest.raises(StudyFileError, match="is nested too deeply"):
            parse_study(f"a = {deep}".encode())


# --- every place where somebody else's JSON comes in, nested as deeply as Python 3.14 would follow

DEEP = "[" * 700 + "]" * 700


def test_participants_and_prolific_are_refused_what_is_deep(tmp_path: Path, settings) -> None:
    assert read_object(f'{{"pastes": {DEEP}}}') is None
    with pytest.raises(ValueError, match="nested too deeply"):
        read_event(f'{{"event_type": {DEEP}}}'.encode(), "0")
    settings.SITE_URL, settings.PROLIFIC_KEY_SET = "https://study.example.org", str(tmp_path / "keys.json")
    write_keys(tmp_path / "keys.json", one=private_key())
    assert is_signed(token_with_head(1), VISIT)
    deep = token_with_head(2_700)[:-8] + "AAAAAAAA"  # whether it is read or not, it proves nothing
    assert LONGEST_TOKEN - 500 < len(deep) <= LONGEST_TOKEN and not is_signed(deep, VISIT)


def token_with_head(levels: int) -> str:
    """A properly signed token with this many lists in its head, which PyJWT reads before it checks any signature."""
    _, body, _ = sign(claims()).split(".")
    head = f'{{"alg": "RS256", "kid": "one", "more": {"[" * levels}{"]" * levels}}}'
    signed = f"{base64.urlsafe_b64encode(head.encode()).decode().rstrip('=')}.{body}"
    signature = private_key().sign(signed.encode(), PKCS1v15(), SHA256())
    return f"{signed}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-7"])
def test_programs_are_refused_what_is_deep_in_any_encoding(encoding: str) -> None:
    with pytest.raises(ParseError, match="nested too deeply"):
        WholeJSONParser().parse(io.BytesIO(DEEP.encode(encoding)), None, {"encoding": encoding})


def test_deep_lines_and_records_of_files_are_faults(tmp_path: Path) -> None:
    faults = Faults()
    assert list(read_json_lines(iter([f'{{"a": {DEEP}}}', '{"a": 1}']), faults)) == [(2, {"a": 1})]
    assert [(each.line, each.message) for each in faults.first] == [(1, "is nested too deeply")]
    deeper = "[" * 5_000 + "]" * 5_000  # than Python's own reader goes
    for name, content in (
        ("lines", f"{{}}\n{DEEP[1:-1]}\n"),
        ("array", f"[{{}}, {DEEP}]"),
        ("deeper", f"[{{}}, {deeper}]"),
    ):
        path = tmp_path / name
        path.write_text(content)
        file = CorpusFile(path)
        read = [record for _, record in file.records()]
        assert (read, len(file.faults)) == ([{}], 1) and "nested more than 100 levels" in file.faults[0], name


def test_of_models_what_is_deep_is_no_object() -> None:
    assert list(objects_in(f'{{"a": {DEEP}}} {{"b": 2}}')) == [{"b": 2}]
    assert document_of(f'{{"a": {DEEP}}}') == {}


@pytest.mark.parametrize("piece", ['{"a":', "{", '{"[":[', '{"a":[]} '])
def test_looking_for_objects_takes_no_longer_for_what_is_deep(piece: str) -> None:
    reply = piece * (40_000 // len(piece))
    before = time.process_time()
    list(objects_in(reply))
    assert time.process_time() - before < 2
