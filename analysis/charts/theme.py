"""How figures look: a palette for each scheme, a colour and a shape for each source, and the type."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.models.conditions import SOURCES

# Liberation Sans comes with the renderer; Arial and Helvetica have the same widths, so that labels fit in any browser.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
WIDE, NARROW = 940, 340  # px: a page's column at 1280, and a phone's
# Journal columns in mm (one, one and a half, two) and the px drawn for each, so that the smallest letters, 11 px, come
# out at 7 points or more.
COLUMN_PX = {85: 335, 114: 455, 174: 715}

# Specs use the light colours; each maps to one token, which other schemes and style sheets use.
SCHEMES = ("light", "dark", "print")
COLOURS = {  # by scheme
    "paper": ("#ffffff", "#1c2024", "#ffffff"),
    "ink": ("#1c2126", "#e8e6e1", "#000000"),
    "soft": ("#59626b", "#a3abb2", "#333333"),
    "line": ("#e2ded6", "#30363c", "#cccccc"),
    "strong-line": ("#8f897d", "#69727b", "#777777"),
    "band": ("#ece8df", "#3a424b", "#e6e6e6"),
    "on-option": ("#1b1f24", "#14171a", "#000000"),
    **{source.slug: (source.look.light, source.look.dark, source.look.printed) for source in SOURCES.values()},
    "other-1": ("#32373c", "#e3e1dc", "#111111"),
    "other-2": ("#a87400", "#d9a520", "#8c6100"),
    "other-3": ("#6f4ba3", "#ab8fdc", "#5a378c"),
    "other-4": ("#7a7f85", "#999fa6", "#66696d"),
    "other-5": ("#8a4b2a", "#cf8b66", "#733c1f"),
    "option-1": ("#77aadd", "#6f9fd0", "#77aadd"),
    "option-2": ("#ee9a77", "#dc8a68", "#ee9a77"),
    "option-3": ("#eedd88", "#dccb78", "#f5ebb5"),
    "option-4": ("#66c4a6", "#5bb397", "#66c4a6"),
    "option-5": ("#f2a9bb", "#dd97aa", "#f2a9bb"),
    "option-6": ("#9fd8f2", "#8cc6e0", "#c4e9f8"),
    "option-7": ("#bccb48", "#a9b83d", "#bccb48"),
    "option-8": ("#c7b3e5", "#b5a0d4", "#c7b3e5"),
    "unknown": ("#d9d9d9", "#8b939b", "#d9d9d9"),
}
PALETTES = {
    scheme: {token: colours[place] for token, colours in COLOURS.items()} for place, scheme in enumerate(SCHEMES)
}
LIGHT = PALETTES["light"]
TOKENS = {colour: token for token, colour in LIGHT.items()}

X_SHAPE = "M-1,-0.62L-0.62,-1L0,-0.38L0.62,-1L1,-0.62L0.38,0L1,0.62L0.62,1L0,0.38L-0.62,1L-1,0.62L-0.38,0Z"
STAR = "M0,-1.15L0.34,-0.38L1.1,-0.36L0.5,0.15L0.7,0.95L0,0.5L-0.7,0.95L-0.5,0.15L-1.1,-0.36L-0.34,-0.38Z"
HEXAGON = "M0,-1L0.87,-0.5L0.87,0.5L0,1L-0.87,0.5L-0.87,-0.5Z"
HOURGLASS = "M-0.95,-1L0.95,-1L0.3,0L0.95,1L-0.95,1L-0.3,0Z"
BAR = "M-1,-0.42L1,-0.42L1,0.42L-1,0.42Z"
OTHER_SHAPES = ("triangle-down", "cross", STAR, HEXAGON, BAR, "triangle-left", "triangle-right")
OTHER_COLOURS = ("other-1", "other-2", "other-3", "other-4", "other-5")

SHAPES = {"x": X_SHAPE, "hourglass": HOURGLASS}  # shapes that Vega-Lite has no name for


@dataclass(frozen=True)
class Series:
    """Names told apart by colour and shape, in the order of the legend."""

    names: tuple[str, ...]
    colours: tuple[str, ...]
    shapes: tuple[str, ...]

    def only(self, shown: Iterable[str]) -> "Series":
        """Keep the names shown, with their looks."""
        wanted = set(shown)
        kept = [look for look in zip(self.names, self.colours, self.shapes, strict=True) if look[0] in wanted]
        return Series(*(tuple(look[place] for look in kept) for place in range(3)))


def series_of_sources(sources: Iterable[str]) -> Series:
    """Give known sources their fixed looks, and imported ones looks in alphabetical order."""
    found = set(sources)
    known = {source.label: (name, shape_of(name)) for name, source in SOURCES.items() if name in found}
    return make_series(known | {name: look_of(place) for place, name in enumerate(sorted(found - set(SOURCES)))})


def series_of_groups(names: Iterable[str]) -> Series:
    """Give looks to names other than sources (groups of people, models), in the order given."""
    return make_series({name: look_of(place) for place, name in enumerate(dict.fromkeys(names))})


def make_series(looks: Mapping[str, tuple[str, str]]) -> Series:
    """Make a series from a colour token and a shape for each name."""
    return Series(
        tuple(looks), tuple(LIGHT[token] for token, _ in looks.values()), tuple(shape for _, shape in looks.values())
    )


def look_of(place: int) -> tuple[str, str]:
    """A colour token and a shape by place; five and seven of them make thirty-five pairs."""
    return OTHER_COLOURS[place % len(OTHER_COLOURS)], OTHER_SHAPES[place % len(OTHER_SHAPES)]


def shape_of(source: str) -> str:
    shape = SOURCES[source].look.shape
    return SHAPES.get(shape, shape)


def recolour(spec: Any, scheme: str) -> Any:
    """Replace a spec's light colours by those of another scheme."""
    if isinstance(spec, dict):
        return {key: recolour(value, scheme) for key, value in spec.items()}
    if isinstance(spec, list):
        return [recolour(value, scheme) for value in spec]
    return PALETTES[scheme][TOKENS[spec]] if isinstance(spec, str) and spec in TOKENS else spec


# Characters that XML forbids but a pasted answer may have.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def printable(text: object) -> str:
    """Turn anything into one line that is valid in any figure file."""
    return " ".join(UNPRINTABLE.sub("", str(text)).split())


# Approximate widths of Liberation Sans letters in ems, to leave room for text.
WIDTHS = {**dict.fromkeys("ijlI.,:;'|!", 0.26), **dict.fromkeys("ftr()-/ ", 0.32), **dict.fromkeys("mwMW%@", 0.85)}


def text_width(text: str, size: float) -> float:
    """Estimate a text's width in px; scripts other than Latin, Greek and Cyrillic count as wide as high."""
    return size * sum(WIDTHS.get(sign, 0.68 if sign.isupper() else 0.555 if sign < "\u0530" else 1.0) for sign in text)


HEADING = "model"  # the style of a title above several panels

# Vega-Lite's config: thin lines, no frames, labels in the soft colour.
CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": LIGHT["paper"],
    "padding": 6,
    "mark": {"aria": False},
    "view": {"stroke": None},
    "axis": {
        "labelColor": LIGHT["soft"],
        "labelFontSize": 12,
        "domainColor": LIGHT["strong-line"],
        "gridColor": LIGHT["line"],
        "tickColor": LIGHT["strong-line"],
        "titleColor": LIGHT["soft"],
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "legend": {"labelColor": LIGHT["ink"], "symbolOpacity": 1, "symbolStrokeWidth": 0, "title": None},
    "title": {"color": LIGHT["ink"], "fontSize": 13, "fontWeight": "bold", "anchor": "start"},
    "style": {HEADING: {"font": FONT, "fontSize": 14, "fontWeight": "bold", "fill": LIGHT["ink"]}},
}
# On paper, words at axes and rows are as small as those beside marks: 7.6 points.
PAPER = CONFIG | {
    "axis": CONFIG["axis"] | {"labelFontSize": 11, "titleFontSize": 11},
    "style": {HEADING: CONFIG["style"][HEADING] | {"fontSize": 12}},
}
