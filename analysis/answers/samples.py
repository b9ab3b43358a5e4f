"""How often the rules misread without a doubt: a random sample of each source, which people check one by one."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Count, F, QuerySet, TextField, Value, Window
from django.db.models.expressions import RawSQL
from django.db.models.functions import MD5, Cast, Concat, RowNumber

from analysis.answers.reviews import answers_of
from analysis.models import Answer, AnswerDecision
from analysis.models.conditions import LABELS
from analysis.stats.intervals import share_interval
from surveys.models import Study
from surveys.studies.wording import percent

SAMPLE = 100  # readings of each source
SEED = 0


# The order in which readings are drawn.
WORDS = TextField()
BY_HASH = MD5(Concat(Value(f"reading-sample:{SEED}:", output_field=WORDS), Cast("pk", WORDS), output_field=WORDS))


class ReadingSample(NamedTuple):
    """A source's number of readings without a doubt; hash and key of those drawn, in order."""

    readings: int
    keys: list[list[Any]]


def sample_of(study: Study) -> QuerySet[Answer]:
    """Each source's sample of readings without a doubt: the first by a hash of seed and key, in that order.

    Checked readings stay in it, so that a decision removes none.
    """
    everything = answers_of(study).filter(doubt="")
    place = Window(RowNumber(), partition_by=[F("source")], order_by=BY_HASH.asc())
    drawn = everything.annotate(place=place).filter(place__lte=SAMPLE)
    # As a subquery, so that later filters on the sample do not change the draw.
    return everything.filter(pk__in=drawn.values("pk")).annotate(hashed=BY_HASH).order_by("source", "hashed")


def draw(answers: QuerySet[Answer]) -> dict[str, ReadingSample]:
    """Draw the sample of each source from these answers."""
    by_source = {"partition_by": [F("source")]}
    readings = answers.filter(doubt="").annotate(
        hashed=BY_HASH,
        place=Window(RowNumber(), order_by=BY_HASH.asc(), **by_source),
        readings=Window(Count("*"), **by_source),
    )
    found: dict[str, ReadingSample] = {}
    rows = readings.filter(place__lte=SAMPLE).order_by("source", "place")
    for source, count, *key in rows.values_list("source", "readings", "hashed", "pk"):
        found.setdefault(source, ReadingSample(count, [])).keys.append(key)
    return found


def redraw(
    drawn: ReadingSample, come: QuerySet[Answer], gone: QuerySet[Answer], there: QuerySet[Answer]
) -> ReadingSample:
    """Update the sample after readings have `come` and `gone`, as if drawn from all that are `there`."""
    out = {*gone.values_list("pk", flat=True)}
    left = [key for key in drawn.keys if key[1] not in out]
    if len(left) < len(drawn.keys) < drawn.readings:  # others take the free places
        return redraw(ReadingSample(0, []), there, gone.none(), there)
    new = come.annotate(hashed=BY_HASH).order_by("hashed").values_list("hashed", "pk")[:SAMPLE]
    return ReadingSample(drawn.readings - len(out) + come.count(), sorted([*left, *map(list, new)])[:SAMPLE])


def reading_errors(drawn: Mapping[str, ReadingSample]) -> list[dict[str, Any]]:
    """By source: readings without a doubt, and how many were drawn, checked and wrong.

    `share` is of the checked ones, with Wilson's interval; a reading is wrong if a person decided otherwise.
    """
    keys = [key for each in drawn.values() for _, key in each.keys]
    drawn_ones = RawSQL("SELECT unnest(%s::bigint[])", [keys])  # hundreds, as one parameter
    decided = AnswerDecision.objects.filter(answer__in=drawn_ones, answer__decided=True)
    checked = {*decided.values_list("answer", flat=True)}
    wrong = _decided_otherwise(checked)
    found = []
    for source, each in sorted(drawn.items()):
        done = [key for _, key in each.keys if key in checked]
        errors = sum(key in wrong for key in done)
        found.append(
            {
                "source": source,
                "readings": each.readings,
                "drawn": len(each.keys),
                "checked": len(done),
                "wrong": errors,
                "share": errors / len(done) if done else None,
                "ci": share_interval(errors, len(done)),
                "seed": SEED,
            }
        )
    return found


def say_errors(rows: Sequence[Mapping[str, Any]]) -> str:
    """The errors of all sources in a sentence, empty if there are no readings."""
    if rows and not any(row["checked"] for row in rows):
        drawn = f"{sum(row['drawn'] for row in rows):,}"
        return f"How often undoubted readings are wrong is not known yet: none of the {drawn} drawn has been checked."
    return f"Reading error by source, of readings without a doubt: {'; '.join(map(_say, rows))}." if rows else ""


def _say(row: Mapping[str, Any]) -> str:
    source = LABELS.get(row["source"], row["source"])
    if not row["checked"]:
        return f"{source} not checked yet"
    return f"{source} {row['wrong']} of {row['checked']} checked ({between(row['ci'])})"


def between(ci: Sequence[float]) -> str:
    return " to ".join(map(percent, ci))


def _decided_otherwise(keys: Collection[int]) -> set[int]:
    """Keys whose decision in force differs in items or letter from what the rules read before anyone decided."""
    last: dict[int, AnswerDecision] = {}
    rules: dict[int, dict[str, Any]] = {}
    for made in AnswerDecision.objects.filter(answer__in=keys).order_by("pk"):
        last[made.answer_id] = made
        if not made.before["decided"]:
            rules[made.answer_id] = made.before
    read = {key: (before["items"], before["letter"]) for key, before in rules.items()}
    return {key for key, made in last.items() if read.get(key) != (made.items, made.letter)}
