"""Templates have lines that people can read; djangofmt (`make lint`) enforces how."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "templates"
PATHS = sorted(FOLDER.rglob("*.html"))
LONGEST = 120
# Django reads a tag on one line only, a sentence is the key of its translation, and a value may hold no white space.
UNBREAKABLE = re.compile(
    r'{% translate "[^"]*" %}'
    r"|{% blocktranslate\b(?:(?!endblocktranslate).)*{% endblocktranslate %}"
    r'|[\w-]+="(?:{%.*?%}|{{.*?}}|[^"])*"'
)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(FOLDER)))
def test_lines_fit_on_a_screen_unless_they_cannot_be_broken(path: Path) -> None:
    long = [line.strip() for line in path.read_text().splitlines() if len(line) > LONGEST]
    assert [line for line in long if not UNBREAKABLE.fullmatch(line)] == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_template_is_read_at_one_go(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 150


OTHERS = ("runs", "people")


@pytest.mark.parametrize(
    "path", [path for path in PATHS if path.parent.name not in OTHERS], ids=lambda path: str(path.relative_to(FOLDER))
)
def test_counts_are_written_by_one_rule(path: Path) -> None:
    """Only `n|counted:"answer"`, which writes 5,200 answers, and no other way of writing the same."""
    text = path.read_text()
    assert not re.search(r'\|intcomma|\|floatformat:"g"|{{ ([\w.|]+) }}\s+\w+{{ \1\|pluralize }}', text)


@pytest.mark.parametrize(
    "line",
    [
        '{% translate "One." %} {% translate "Two." %}',
        "{% blocktranslate %}One.{% endblocktranslate %} {% blocktranslate %}Two.{% endblocktranslate %}",
        '<a href="{{ address }}">Words',
        'class="row" id="words"',
        "{% if one %}{{ one }}{% else %}{{ two }}{% endif %}",
    ],
)
def test_what_can_be_broken_is_known(line: str) -> None:
    assert not UNBREAKABLE.fullmatch(line)


def test_light_and_dark_differ_in_colours_alone() -> None:
    """So what a browser finds in one mode holds for the other, except where it depends on colours."""
    text = "".join(path.read_text() for path in FOLDER.parent.glob("*/static/**/*.css"))
    lines = [line.strip() for line in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).splitlines()]
    schemes = [line for line in lines if re.search(r"data-theme|light-dark|prefers-color-scheme", line)]
    switch = re.compile(r':root\[data-theme="(light|dark)"\] { color-scheme: \1; }')
    colour = re.compile(r"--[\w-]+: light-dark\((#\w+|rgb\(.*?\)), (#\w+|rgb\(.*?\))\);")
    other = {line for line in schemes if not (switch.fullmatch(line) or colour.fullmatch(line))}
    assert other == {"@supports (color: light-dark(#000, #fff)) {"} and len(schemes) > 20
