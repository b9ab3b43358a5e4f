"""How often the rules misread without a doubt: a random sample of each source, which people check one by one."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, F, QuerySet, TextField, Value, Window
from django.db.models.functions import MD5, Cast, Concat, RowNumber

from analysis.answers.reviews import answers_of
from analysis.models import Answer, AnswerDecision
from analysis.models.conditions import LABELS
from analysis.stats.intervals import share_interval
from surveys.console.wording import percent
from surveys.models import Study

SAMPLE = 100  # readings of each source
SEED = 0


def sample_of(study: Study) -> QuerySet[Answer]:
    """Of each source the readings without a doubt that come first by a hash of seed and key, in that order.

    Those that were checked stay in it, so that a decision takes no reading out.
    """
    key = Cast("pk", TextField())
    by_hash = MD5(Concat(Value(f"reading-sample:{SEED}:", output_field=TextField()), key, output_field=TextField()))
    everything = answers_of(study).filter(doubt="")
    place = Window(RowNumber(), partition_by=[F("source")], order_by=by_hash.asc())
    drawn = everything.annotate(place=place).filter(place__lte=SAMPLE)
    # As a subquery, so that what is asked of the sample later does not change who is drawn.
    return everything.filter(pk__in=drawn.values("pk")).annotate(hashed=by_hash).order_by("source", "hashed")


def reading_errors(study: Study) -> list[dict[str, Any]]:
    """By source: readings without a doubt, how many were drawn and checked, and how many of these were wrong.

    `share` is of the checked ones, with Wilson's interval; a reading is wrong where a person decided otherwise.
    """
    drawn = list(sample_of(study).values_list("pk", "source", "decided", named=True))
    checked = [row.pk for row in drawn if row.decided]
    wrong = _decided_otherwise(checked)
    counts = answers_of(study).filter(doubt="").order_by().values_list("source").annotate(n=Count("pk"))
    readings = dict(counts)
    found = []
    for source in dict.fromkeys(row.source for row in drawn):
        of_source = [row for row in drawn if row.source == source]
        done = [row.pk for row in of_source if row.decided]
        errors = sum(key in wrong for key in done)
        found.append(
            {
                "source": source,
                "readings": readings[source],
                "drawn": len(of_source),
                "checked": len(done),
                "wrong": errors,
                "share": errors / len(done) if done else None,
                "ci": share_interval(errors, len(done)),
                "seed": SEED,
            }
        )
    return found


def say_errors(rows: Sequence[Mapping[str, Any]]) -> str:
    """The errors of all sources in a sentence, empty where there is no reading."""
    if rows and not any(row["checked"] for row in rows):
        drawn = sum(row["drawn"] for row in rows)
        return (
            f"How often readings without a doubt are wrong is not known yet: none of {drawn:,} drawn ones is checked."
        )
    return f"Reading error by source, of readings without a doubt: {'; '.join(map(_say, rows))}." if rows else ""


def _say(row: Mapping[str, Any]) -> str:
    source = LABELS.get(row["source"], row["source"])
    if not row["checked"]:
        return f"{source} not checked yet"
    low, high = row["ci"]
    return f"{source} {row['wrong']} of {row['checked']} checked ({percent(low)} to {percent(high)})"


def _decided_otherwise(keys: list[int]) -> set[int]:
    """Those whose standing decision names other items, or another letter, than the rules read before anyone decided."""
    last: dict[int, AnswerDecision] = {}
    rules: dict[int, dict[str, Any]] = {}
    for made in AnswerDecision.objects.filter(answer__in=keys).order_by("pk"):
        last[made.answer_id] = made
        if not made.before["decided"]:
            rules[made.answer_id] = made.before
    read = {key: (before["items"], before["letter"]) for key, before in rules.items()}
    return {key for key, made in last.items() if read.get(key) != (made.items, made.letter)}
