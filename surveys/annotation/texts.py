"""Texts on pages: Markdown with an allow-list of tags, and pieces cut at evidence and search hits."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import nh3
from django import template
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

TAGS = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
# A list's first number. No link leads away from the task: its words stay, its address goes.
ATTRIBUTES = {"ol": {"start"}}


class Renderer(RendererHTML):
    """A renderer that shows pictures by their descriptions, so that nothing is loaded from elsewhere."""

    def image(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        words = self.renderInlineAsText(tokens[place].children or [], options, env)
        return f"<em>[{escape(words)}]</em>" if words else ""


# HTML in the source is shown as text.
MARKDOWN = MarkdownIt("commonmark", {"html": False}, renderer_cls=Renderer).enable(["table", "strikethrough"])


def render_markdown(text: str, top: int = 1) -> str:
    """HTML of the allowed tags, with no attribute but a list's first number; `# ` opens a heading of level `top`."""
    env: dict[str, Any] = {}
    tokens = MARKDOWN.parse(text.replace("\x00", ""), env)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + top - 1)}"
    html = MARKDOWN.renderer.render(tokens, MARKDOWN.options, env)
    return nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, link_rel=None)


register = template.Library()


@register.filter
def markdown(text: str, top: int = 1) -> SafeString:
    """HTML that is safe by its allow-list; `top` is the level of the largest heading."""
    return mark_safe(render_markdown(text, top))


# --- highlights -------------------------------------------------------------


MOST_FOUND = 500


@dataclass(frozen=True)
class Highlight:
    """A highlight from `start` to before `end`: evidence `number`, or with `found` a search hit."""

    start: int
    end: int
    number: int
    found: bool = False


@dataclass(frozen=True)
class Piece:
    """Text under the same marks; `opens` are the marks that begin here."""

    text: str
    evidence: tuple[int, ...] = ()
    found: tuple[int, ...] = ()
    opens: tuple[Highlight, ...] = ()

    @property
    def is_marked(self) -> bool:
        return bool(self.evidence or self.found)

    @property
    def anchors(self) -> list[str]:
        """Anchors of the marks that begin here, for links to them."""
        return [f"{'found' if mark.found else 'evidence'}-{mark.number}" for mark in self.opens]


def cut_text(text: str, marks: Iterable[Highlight]) -> list[Piece]:
    """The text from its beginning to its end, cut wherever a mark begins or ends; marks may overlap."""
    marks = [mark for mark in marks if 0 <= mark.start < mark.end <= len(text)]
    cuts = sorted({0, len(text), *(mark.start for mark in marks), *(mark.end for mark in marks)})
    return [cut_piece(text, start, end, marks) for start, end in zip(cuts, cuts[1:], strict=False)]


def cut_piece(text: str, start: int, end: int, marks: list[Highlight]) -> Piece:
    over = [mark for mark in marks if mark.start <= start and end <= mark.end]
    return Piece(
        text[start:end],
        tuple(mark.number for mark in over if not mark.found),
        tuple(mark.number for mark in over if mark.found),
        tuple(mark for mark in over if mark.start == start),
    )


def find_quote(text: str, quote: str, number: int) -> Iterator[Highlight]:
    start = text.find(quote)
    if start >= 0:
        yield Highlight(start, start + len(quote), number)


def find_words(text: str, words: str, first: int) -> list[Highlight]:
    """Highlights of the words, in whatever case, numbered from `first`; at most MOST_FOUND in all."""
    if not words:
        return []
    hits = re.finditer(re.escape(words), text, re.IGNORECASE)
    numbers = range(first, MOST_FOUND + 1)
    return [Highlight(hit.start(), hit.end(), number, found=True) for number, hit in zip(numbers, hits, strict=False)]
