"""From a figure to a file: SVG for pages, PNG at twice the size, PDF with text that can be searched."""

from collections.abc import Callable

import vl_convert

from analysis.charts.figure import Figure
from analysis.charts.svg import clean_svg
from analysis.charts.theme import PALETTES, recolour

# The first one in a process starts the renderer and takes half a second; whoever shows many keeps the results.
KINDS: dict[str, Callable[[str], bytes]] = {
    "svg": lambda svg: svg.encode(),
    "png": lambda svg: vl_convert.svg_to_png(svg, scale=2),
    "pdf": lambda svg: vl_convert.svg_to_pdf(svg),
}


def render(figure: Figure, kind: str, scheme: str = "light") -> bytes:
    """The figure as svg, png or pdf, in the light, dark or print scheme. ValueError for any other.

    An SVG in the light scheme follows the page's scheme where sources.css is loaded, so pages need no other.
    """
    if kind not in KINDS or scheme not in PALETTES:
        known = f"{', '.join(KINDS)} in {', '.join(PALETTES)}"
        raise ValueError(f"A figure can't be drawn as {kind} in {scheme}. There are: {known}.")
    drawn = vl_convert.vegalite_to_svg(recolour(figure.spec, scheme), allowed_base_urls=[])
    # Pages put figures below each other; a file stands alone and needs no room on the right.
    least = figure.width if kind == "svg" else 0
    return KINDS[kind](clean_svg(drawn, figure.title, figure.alt, least))
