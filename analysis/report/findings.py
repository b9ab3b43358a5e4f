"""A report in sentences: what differs most between field, offline and sock puppets, the largest of each kind first."""

from analysis.charts.figure import Report, Row
from analysis.report.parts import PARTS

MOST_OF_A_KIND = 4
# In the order in which they are told.
FINDERS = sorted((finder for part in PARTS.values() for finder in part.finders), key=lambda finder: finder.place)


def findings(report: Report, most: int = 12) -> list[Row]:
    """Sentences with their `kind` (the page that shows more), `size` (0 to 1), `params` and `query` of that page's
    address, and the names of the definitions that they rest on. Differences that chance explains are left out.

    Sizes of different kinds have nothing in common, so the largest of each kind come first, in the order of FINDERS,
    then the second largest of each.
    """
    chosen = []
    for place, finder in enumerate(FINDERS):
        found = sorted(finder.find(report), key=lambda finding: -finding["size"])[:MOST_OF_A_KIND]
        chosen += [(number, place, finding) for number, finding in enumerate(found)]
    return [finding for _, _, finding in sorted(chosen, key=lambda entry: entry[:2])[:most]]
