"""Texts of annotators' pages that may hold Markdown."""

from django import template
from django.utils.safestring import SafeString, mark_safe

from surveys.annotation.rich_text import render_markdown

register = template.Library()


@register.filter
def markdown(text: str, top: int = 1) -> SafeString:
    """Safe by its allow-list; `top` is the level of the largest heading."""
    return mark_safe(render_markdown(text, top))
