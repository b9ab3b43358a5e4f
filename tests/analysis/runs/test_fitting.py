"""What fits into a context window: whole conversations, the first ones left out first."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from analysis.models import Endpoint
from analysis.runs.recipes import fitting
from analysis.runs.recipes.fitting import ESTIMATE, Fitted, TokenizerError, counter_for, estimate_tokens, fit


@pytest.mark.parametrize(
    ("sizes", "room", "fitted"),
    [
        ((1, 2, 3), 6, Fitted(["a", "b", "c"], 0, 0, 6)),
        # From the back: c 3, b 2 make 5; a 1 would make 6 > 5.
        ((1, 2, 3), 5, Fitted(["b", "c"], 1, 0, 5)),
        # c 3 fits, b 4 does not, so a 1 is left out too although there is room for it.
        ((1, 4, 3), 5, Fitted(["c"], 2, 0, 3)),
        # A conversation that alone exceeds the window is skipped and counted.
        ((1, 9, 3), 5, Fitted(["a", "c"], 0, 1, 4)),
    ],
)
def test_first_are_left_out_first(sizes: tuple[int, ...], room: int, fitted: Fitted) -> None:
    assert fit("abc", dict(zip("abc", sizes, strict=True)), room) == fitted


@given(some.lists(some.integers(0, 50), max_size=30), some.integers(0, 200))
def test_fit_accounts_for_everything(sizes: list[int], room: int) -> None:
    names = [str(at) for at in range(len(sizes))]
    fitted = fit(names, dict(zip(names, sizes, strict=True)), room)

    assert len(fitted.kept) + fitted.left_out + fitted.skipped == len(sizes)
    assert fitted.tokens == sum(sizes[int(name)] for name in fitted.kept) <= room
    assert fitted.skipped == sum(size > room for size in sizes)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abcdefg", 2), ("abcdefgh", 3), ("日本語", 3)])
def test_estimate_counts_bytes(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens  # bytes / 3.5, rounded up; each of the three characters has 3 bytes


def test_estimate_adds_what_a_message_takes() -> None:
    counter = counter_for(Endpoint())

    assert counter.name == ESTIMATE
    assert counter.messages([{"role": "user", "content": "abcdefg"}] * 3) == 3 * (2 + 4)


def write_tokenizer(folder: Path) -> str:
    tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"one": 0, "two": 1, "?": 2}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.enable_truncation(3)
    made.save(str(folder / "tokenizer.json"))
    return str(folder / "tokenizer.json")


def test_endpoint_with_a_tokenizer_is_counted_by_it(tmp_path: Path) -> None:
    counter = counter_for(Endpoint(tokenizer=write_tokenizer(tmp_path)))

    assert counter.name.startswith("tokenizer.json ")
    assert counter.count("one two two one one") == 5  # the file's own truncation is ignored


@pytest.mark.parametrize("content", [None, "no tokenizer"])
def test_tokenizer_that_is_none_is_named(tmp_path: Path, content: str | None) -> None:
    pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    path = tmp_path / "file.json"
    if content:
        path.write_text(content)

    with pytest.raises(TokenizerError, match=f"{path} is not a tokenizer.json"):
        counter_for(Endpoint(tokenizer=str(path)))


def test_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "Tokenizer", None)

    with pytest.raises(TokenizerError, match=r"pip install --no-deps -r requirements-local.txt"):
        counter_for(Endpoint(tokenizer="some.json"))
