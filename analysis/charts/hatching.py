"""Hatching without patterns, which Vega has none of: parallel lines cut off at the edges of a bar.

A path of lines is drawn as the shape of a point mark. Vega scales shapes by half the root of their size, so that a
mark of size 4 has its shape in px.
"""

SPACING = 6.0  # px between lines
PIXELS = 4  # the size of a mark whose shape is in px

Line = tuple[float, float, float, float]


def hatch_lines(left: float, right: float, top: float, bottom: float, spacing: float = SPACING) -> list[Line]:
    """Lines (x, y, x2, y2) that rise at 45 degrees through the rectangle, y downwards, all in px.

    A line that starts at `left + offset` on the lower edge is at height t · (bottom - top) after the same way to the
    right; only the t for which it is inside are kept.
    """
    width, height = right - left, bottom - top
    lines = []
    offset = spacing / 2 - height
    while offset < width and height > 0:
        enters, leaves = max(0.0, -offset / height), min(1.0, (width - offset) / height)
        if enters < leaves:
            ends = [(left + offset + t * height, bottom - t * height) for t in (enters, leaves)]
            lines.append((*ends[0], *ends[1]))
        offset += spacing
    return lines


def hatch_path(width: float, height: float) -> str:
    """The lines of a rectangle as one path, from the middle of its left edge."""
    return "".join(
        f"M{x:.1f},{y:.1f}L{x2:.1f},{y2:.1f}" for x, y, x2, y2 in hatch_lines(0, width, -height / 2, height / 2)
    )
