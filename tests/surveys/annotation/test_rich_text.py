"""Markdown from models: what it may show, and that it can do no harm."""

import re

import pytest

from surveys.annotation.texts import TAGS, render_markdown

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](https://elsewhere.example/pixel.png)",
    "[press](javascript:alert(1))",
    "[press](https://elsewhere.example)",
    "<https://elsewhere.example>",
    "<a href='javascript:alert(1)' onclick='x'>a</a>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<iframe srcdoc='<script>x</script>'></iframe>",
    "<form action='https://elsewhere.example'><input name=q></form>",
    "<p style='position:fixed'>over</p>",
    "```html\n<script>alert(1)</script>\n```",
    "| a |\n|:-:|\n| <b onmouseover=x>y</b> |",
    "# <script>\n\n&lt;script&gt;&#60;script&#62;",
    "a\x00b<scr\x00ipt>",
    "[x]: javascript:alert(1)\n\n[x]",
    '![" onerror="alert(1)](x)',
]


def tags_of(html: str) -> list[tuple[str, str]]:
    """Every opening tag with its attributes, as a browser would read it."""
    return re.findall(r"<([a-zA-Z][\w-]*)([^>]*)>", html)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_leaves_only_allowed_tags_without_attributes(text: str) -> None:
    html = render_markdown(text)
    for name, attributes in tags_of(html):
        assert name in TAGS
        assert re.fullmatch(r'(?: start="\d+")?', attributes), html


def test_html_is_shown_as_it_was_written() -> None:
    assert render_markdown("<b>x</b>").strip() == "<p>&lt;b&gt;x&lt;/b&gt;</p>"


def test_words_of_a_picture_and_of_a_link_stay() -> None:
    assert render_markdown("![a cat](x.png) and [this](https://elsewhere.example)").strip() == (
        "<p><em>[a cat]</em> and this</p>"
    )


def test_lists_tables_and_code_are_kept() -> None:
    html = render_markdown("3. x\n4. y\n\n| a |\n|---|\n| 1 |\n\n```\ncode <\n```\n\n~~no~~ **yes**")
    for part in ('<ol start="3">', "<td>1</td>", "<pre><code>code &lt;\n</code></pre>", "<s>no</s>", "<strong>yes"):
        assert part in html


@pytest.mark.parametrize(("top", "largest", "next_one"), [(1, "h1", "h2"), (3, "h3", "h4"), (6, "h6", "h6")])
def test_headings_begin_at_the_level_that_the_page_has_left(top: int, largest: str, next_one: str) -> None:
    assert re.findall(r"<(h\d)>", render_markdown("# One\n\n## Two", top)) == [largest, next_one]
