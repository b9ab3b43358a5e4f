"""Agreement and label shares in each corpus, about each user, and of each kind of item."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from analysis.agreement.annotations import Gathered, line_up
from analysis.stats.agreement.agreement import Agreement, Shape, add_shares, measure_agreement, shape_head
from analysis.stats.resampling import generator
from surveys.annotation.counted import Label

MOST_GROUPS = 200  # of one kind, those with most labels


def corpora_of(row: Label) -> Iterable[str]:
    return [row.corpus]


def users_of(row: Label) -> Iterable[str]:
    return [row.cluster] if row.cluster else []


def tags_of(row: Label) -> Iterable[str]:
    return [f"{name}:{value}" for name, value in sorted(row.tags.items())]


GROUPINGS: dict[str, Callable[[Label], Iterable[str]]] = {"corpus": corpora_of, "user": users_of, "tag": tags_of}


def measure_groups(asked: Gathered, seed: int, draws: int, threshold: int, study: str) -> dict[str, list[Shape]]:
    """`by_corpus`, `by_user` and `by_tag`: people's agreement and label shares, or judges' where nobody else labels."""
    rows = [row for row in asked.rows if not row.is_model] or list(asked.rows)
    return {f"by_{name}": list(measure_each(asked, rows, name, seed, draws, threshold, study)) for name in GROUPINGS}


def measure_each(
    asked: Gathered, rows: list[Label], grouping: str, seed: int, draws: int, threshold: int, study: str
) -> Iterator[Shape]:
    for value, chosen in group_rows(rows, GROUPINGS[grouping]):
        # Within one user there is no other to draw, so items are drawn.
        group = line_up(asked.question, chosen, by_user=grouping != "user")
        rng = generator(seed, study, asked.question.name, grouping, value)
        found = measure_agreement(group.labels, rng, group.scale, threshold, draws)
        yield {grouping: value, "items": found.items, "n": found.labels, "units": found.units} | shape_group(
            found, asked.names
        )


def group_rows(rows: Iterable[Label], find: Callable[[Label], Iterable[str]]) -> list[tuple[str, list[Label]]]:
    groups: dict[str, list[Label]] = defaultdict(list)
    for row in rows:
        for value in find(row):
            groups[value].append(row)
    largest = sorted(groups, key=lambda value: -len(groups[value]))[:MOST_GROUPS]
    return [(value, groups[value]) for value in sorted(largest)]


def shape_group(found: Agreement, names: Sequence[str]) -> Shape:
    """Alpha, mean kappa, AC1 and raw agreement, each an estimate, and the share of each label with its interval."""
    shape: Shape = {**shape_head(found), "ci": {}}
    add_shares(shape, "shares", names, found.coefficients["all"].prevalence)
    return shape
