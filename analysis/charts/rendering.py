"""Renders figures to files: SVG for pages, PNG at twice the size, PDF with searchable text."""

import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from xml.etree import ElementTree as ET

import vl_convert

from analysis.charts.figure import Figure
from analysis.charts.theme import FONT, LIGHT, PALETTES, TOKENS, recolour

SVG = "http://www.w3.org/2000/svg"
ET.register_namespace("", SVG)

# The elements of a drawing; others are dropped with their contents.
ELEMENTS = {"svg", "g", "path", "rect", "line", "circle", "text", "tspan", "title", "desc", "defs", "clipPath"}
ATTRIBUTES = {
    "viewBox", "width", "height", "transform", "d", "x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "cx", "cy", "r", "rx",
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
    "stroke-linejoin", "stroke-miterlimit", "opacity", "font-family", "font-size", "font-weight", "font-style",
    "text-anchor", "clip-path", "id",
}  # fmt: skip
LONG_FRACTION = re.compile(r"(\d\.\d{2})\d+")
NUMERIC = ("transform", "d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "stroke-width", "viewBox")


def clean_svg(
    drawn: str, title: str, description: str, least_width: int = 0, mark: str = "", ink: str = LIGHT["ink"]
) -> str:
    """Turn a drawing into an image with a name and a description, whose marks show their numbers on hover.

    Colours of the light scheme also get a class, such as `fill-field` or `stroke-ink`, for sources.css to apply the
    page's scheme. Ids begin with a hash of the drawing, so that figures on a page share none. A drawing narrower than
    `least_width` is padded on the right, so that figures in a column have one font size.
    """
    root = ET.fromstring(drawn)
    name = f"figure-{sha256(drawn.encode()).hexdigest()[:10]}"
    for element in list(root.iter()):
        keep_children(element)
    for element in root.iter():
        clean_element(element, name)
    widen(root, least_width)
    if mark:
        put_below(root, mark, ink)
    root.attrib |= {"class": "figure", "role": "img", "aria-labelledby": f"{name}-title {name}-desc"}
    root.insert(0, text_element("desc", description, f"{name}-desc"))
    root.insert(0, text_element("title", title, f"{name}-title"))
    return ET.tostring(root, encoding="unicode")


def widen(root: ET.Element, least: int) -> None:
    height = root.get("height", "0")
    if float(root.get("width", "0")) < least:
        ground = root.find(f"{{{SVG}}}rect")  # drawn first, as wide as the picture
        for element in [root] if ground is None else [root, ground]:
            element.set("width", str(least))
        root.set("viewBox", f"0 0 {least} {height}")


MARK, MARK_SIZE = 18, 11  # px: of the line below the drawing, and of its letters


def put_below(root: ET.Element, words: str, ink: str) -> None:
    """Add a line of words below the drawing, and room for it."""
    width, height = root.get("width", "0"), float(root.get("height", "0"))
    ground = root.find(f"{{{SVG}}}rect")
    for element in [root] if ground is None else [root, ground]:
        element.set("height", f"{height + MARK:g}")
    root.set("viewBox", f"0 0 {width} {height + MARK:g}")
    line = text_element("text", words)
    line.attrib |= {"x": "6", "y": f"{height + MARK - 7:g}", "font-size": f"{MARK_SIZE}px", "font-family": FONT}
    line.attrib |= {"fill": ink, "font-weight": "bold"} | ({"class": "fill-ink"} if ink == LIGHT["ink"] else {})
    root.append(line)


def local_name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def keep_children(element: ET.Element) -> None:
    """Keep only visible children among ELEMENTS."""
    for child in list(element):
        if local_name(child) not in ELEMENTS or is_unseen(child):
            element.remove(child)


def is_unseen(element: ET.Element) -> bool:
    if element.get("display") == "none":
        return True
    is_unpainted = element.get("class") == "background" and not (element.get("fill") or element.get("stroke"))
    return local_name(element) == "path" and (is_unpainted or not element.get("d"))


def clean_element(element: ET.Element, name: str) -> None:
    told = element.get("aria-label", "") if is_mark(element) else ""
    kept = {key: value for key, value in attributes(element) if key in ATTRIBUTES}
    element.attrib.clear()
    element.attrib |= {
        key: shorten(key, rename(value, name) if key in ("id", "clip-path") else value) for key, value in kept.items()
    }
    if classes := [f"{key}-{TOKENS[kept[key]]}" for key in ("fill", "stroke") if kept.get(key) in TOKENS]:
        element.set("class", " ".join(classes))
    if told:
        element.insert(0, text_element("title", told))


def is_mark(element: ET.Element) -> bool:
    """Whether it is a mark. Axes, legends and titles have labels too, which only repeat visible text."""
    kind = element.get("aria-roledescription", "")
    return element.get("role") == "graphics-symbol" and kind not in ("axis", "legend", "title", "subtitle")


def attributes(element: ET.Element) -> Iterator[tuple[str, str]]:
    """Yield the element's attributes, then its style's declarations as attributes."""
    yield from element.attrib.items()
    for declaration in element.get("style", "").split(";"):
        key, found, value = declaration.partition(":")
        if found:
            yield key.strip(), value.strip()


def rename(value: str, name: str) -> str:
    """Prefix an id, as in `clip0` and `url(#clip0)`, with the figure's name."""
    return re.sub(r"^(url\(#)?", lambda match: f"{match.group()}{name}-", value, count=1)


def shorten(key: str, value: str) -> str:
    return LONG_FRACTION.sub(r"\1", value) if key in NUMERIC else value


def text_element(tag: str, text: str, name: str = "") -> ET.Element:
    element = ET.Element(f"{{{SVG}}}{tag}", {"id": name} if name else {})
    element.text = text
    return element


PNG_PPI = 300  # of a figure for print
# The renderer reads the px of an SVG, 96 an inch, as points.
POINTS, POINTS_OF_MM = 72 / 96, 72 / 25.4


def for_print(svg: str, width: float, unit: str = "mm") -> str:
    """Scale a drawing to this width."""
    root = ET.fromstring(svg)
    drawn, height = (float(root.get(side, "0")) for side in ("width", "height"))
    root.set("width", f"{width:g}{unit}")
    root.set("height", f"{width * height / drawn:.2f}{unit}")
    return ET.tostring(root, encoding="unicode")


# The first call in a process starts the renderer, in half a second; pages cache its results.
KINDS: dict[str, Callable[[str], bytes]] = {
    "svg": lambda svg: svg.encode(),
    "png": lambda svg: vl_convert.svg_to_png(svg, scale=2),
    "pdf": vl_convert.svg_to_pdf,
}


def render(figure: Figure, kind: str, scheme: str = "light", column: int = 0) -> bytes:
    """Render the figure as svg, png or pdf, in the light, dark or print scheme. ValueError for any other.

    `column`: the mm of the journal column that it was drawn for; a PNG then has 300 dots an inch. An SVG in the light
    scheme follows the page's scheme if sources.css is loaded.
    """
    if kind not in KINDS or scheme not in PALETTES:
        known = f"{', '.join(KINDS)} in {', '.join(PALETTES)}"
        raise ValueError(f"A figure can't be drawn as {kind} in {scheme}. There are: {known}.")
    drawn = vl_convert.vegalite_to_svg(recolour(figure.spec, scheme), allowed_base_urls=[])
    # Pages put figures below each other; a file stands alone and needs no room on the right.
    least = figure.width if kind == "svg" or column else 0
    svg = clean_svg(drawn, figure.title, figure.alt, least, figure.mark, PALETTES[scheme]["ink"])
    if not column:
        return KINDS[kind](svg)
    if kind == "png":
        return bytes(vl_convert.svg_to_png(for_print(svg, column), scale=POINTS, ppi=PNG_PPI))
    return KINDS[kind](for_print(svg, column * POINTS_OF_MM, "") if kind == "pdf" else for_print(svg, column))
