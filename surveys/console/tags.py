"""Template filters: numbers, researchers' texts as paragraphs, headings and lists, chatbots' bold words."""

import re

from django import template
from django.utils.html import conditional_escape, format_html_join
from django.utils.safestring import SafeString, mark_safe

from surveys.studies.wording import counted, two_digits

register = template.Library()
register.filter("counted", counted)
register.filter("two_digits", two_digits)
CODE = re.compile(r"`([^`\n]+)`")
BOLD = re.compile(r"\*\*(?=\S)((?:<mark>[^<*]*</mark>|[^<*\n])+)(?<=\S)\*\*")


@register.filter
def study_text(text: str) -> SafeString:
    """Blank lines separate paragraphs, `## ` opens a heading, lines with `- ` make a list. No other markup."""
    blocks = [block.strip() for block in text.replace("\r\n", "\n").split("\n\n")]
    return mark_safe("\n".join(part for block in blocks if block for part in render_block(block)))


def render_block(block: str) -> list[str]:
    lines = [line.strip() for line in block.split("\n")]
    if lines[0].startswith("## "):
        heading = f"<h2>{conditional_escape(lines[0][3:])}</h2>"
        return [heading, *(render_block("\n".join(lines[1:])) if lines[1:] else [])]
    if all(line.startswith("- ") for line in lines):
        return [f"<ul>{format_html_join('', '<li>{}</li>', [(line[2:],) for line in lines])}</ul>"]
    return [f"<p>{conditional_escape(' '.join(lines))}</p>"]


@register.filter
def with_bold(text: str) -> SafeString:
    """`**words**` as bold words, all else as it was written; escapes text that is not escaped yet."""
    return mark_safe(BOLD.sub(r"<b>\1</b>", conditional_escape(text)))  # noqa: S308 - escaped in the same line


@register.filter
def with_code(text: str) -> SafeString:
    """`` `words` `` as code, all else as it was written; escapes text that is not escaped yet."""
    return mark_safe(CODE.sub(r"<code>\1</code>", conditional_escape(text)))  # noqa: S308 - escaped in the same line
