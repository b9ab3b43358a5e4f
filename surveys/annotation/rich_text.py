"""Markdown as HTML from a strict allow-list: what models answer is shown as they meant it, and can do nothing."""

from collections.abc import Sequence
from html import escape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

TAGS = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
# The number that a list begins with. No link leads away from the task: its words stay, its address goes.
ATTRIBUTES = {"ol": {"start"}}


class Renderer(RendererHTML):
    """Pictures are shown by what they say of themselves, so that nothing is loaded from elsewhere."""

    def image(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        words = self.renderInlineAsText(tokens[place].children or [], options, env)
        return f"<em>[{escape(words)}]</em>" if words else ""


# What somebody wrote as HTML is shown as they wrote it, as text.
MARKDOWN = MarkdownIt("commonmark", {"html": False}, renderer_cls=Renderer).enable(["table", "strikethrough"])


def render_markdown(text: str, top: int = 1) -> str:
    """HTML of these tags without any attribute but a list's first number; `# ` opens a heading of level `top`."""
    env: dict[str, Any] = {}
    tokens = MARKDOWN.parse(text.replace("\x00", ""), env)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + top - 1)}"
    html = MARKDOWN.renderer.render(tokens, MARKDOWN.options, env)
    return nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, link_rel=None)
