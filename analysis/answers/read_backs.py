"""How often participants agree with the rules' reading of their answers, and what their corrections change.

People's answers are counted incrementally: a `TallyState` covers the responses with keys up to `end`. It is kept and
holds while its `ground` is unchanged; otherwise all responses are counted again.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db import connection
from django.db.models import Max, QuerySet

from analysis.answers.aliases import alias_map
from analysis.answers.compared import families_of, spellings_of
from analysis.answers.kept import hash_of, keep, side_stamps
from analysis.answers.readings import UNREAD, open_completions, open_responses
from analysis.answers.reviews import answers_of, superseded
from analysis.answers.samples import ReadingSample, draw, reading_errors, redraw
from analysis.models import AliasDecision, Answer, MetricValue
from analysis.stats.intervals import share_interval
from analysis.stats.item_measures import measure
from analysis.stats.speed import uncollected
from surveys.models import Participant, Prompt, ReadBack, Response, Study, asked_of_all
from surveys.reading.answers import RULES_VERSION, normalise_item
from surveys.studies.lifecycle import definition_of

Verdict = ReadBack.Verdict
READ = ("response_id", "items", "letter", "decided")
SAID = ("response_id", "read_names", "read_letter", "verdict", "names", "letter", "absent", "no_answer")
PARTS = ("numbers", "no_answer", "before", "after")
LAST = 2**63 - 1  # the largest key
KEPT = "read-backs"
WAY = 1  # of counting; raise it to discard kept counts

Tally = dict[str, Counter[str]]  # by part; `before` and `after` count items named or letters chosen
Tallies = dict[str, dict[str, Tally]]  # by kind and slug of the prompt
FIELD = "field"


def kept_accuracy(study: Study) -> dict[str, Any]:
    """How often people and reader agree (`rows`), `errors` of `reading_errors`, and the number of `unread` texts.

    Kept until an answer or a spelling changes; completions are then counted again only if they changed.
    """
    field, models = side_stamps(study)
    newest = AliasDecision.objects.filter(study=study).aggregate(newest=Max("pk"))["newest"]
    stamp = hash_of([field, models, newest])
    return keep(study, "accuracy", stamp, lambda: _accuracy(study, stamp, models))


def _accuracy(study: Study, stamp: str, models: str) -> dict[str, Any]:
    state, unread = count_field(study, stamp)
    others = keep(study, "models-read", models, lambda: _models_read(study))
    drawn = {source: ReadingSample(*each) for source, each in others["drawn"].items()}
    if state.drawn.readings:
        drawn[FIELD] = state.drawn
    rows, errors = accuracy_rows(study, state.tallies), reading_errors(drawn)
    return {"rows": rows, "errors": errors, "unread": others["unread"] + unread}


def _models_read(study: Study) -> dict[str, Any]:
    of_models = answers_of(study).filter(completion__isnull=False)
    return {"drawn": draw(of_models), "unread": open_completions(study, UNREAD).count()}


# --- how often people and reader agree -----------------------------------------


def accuracy_rows(study: Study, tallies: Tallies) -> list[dict[str, Any]]:
    """How many of the readings that people answered were right, for each prompt and for all of a kind.

    Tallies are of the newest accepted answers, without previews and pilots. Shares have Wilson's interval over answers;
    `before` and `after` are the field's numbers as the rules read and as they count; `changed` is how many differ.
    """
    slugs = Prompt.objects.filter(version__study=study).order_by("position", "pk").values_list("slug", flat=True)
    found: list[dict[str, Any]] = []
    for kind in Prompt.Kind.values:
        of_kind = tallies.get(kind, {})
        asked = [slug for slug in dict.fromkeys(slugs) if slug in of_kind and of_kind[slug]["numbers"]["responses"]]
        for slug in asked:
            before, after = (_numbers(of_kind[slug], part, kind) for part in ("before", "after"))
            found.append({"prompt": slug, "kind": kind, **_row(of_kind[slug]), "before": before, "after": after})
        if len(asked) > 1:
            whole = {part: sum((of_kind[slug][part] for slug in asked), Counter()) for part in ("numbers", "no_answer")}
            found.append({"prompt": "", "kind": kind, **_row(whole)})
    return found if any(tally["numbers"]["shown"] for of_kind in tallies.values() for tally in of_kind.values()) else []


def _row(tally: Tally) -> dict[str, Any]:
    numbers = tally["numbers"]
    said, answers, changed = (numbers[name] for name in ("said", "answers", "changed"))
    right = said - numbers["corrected"]
    return {
        "said": said,
        "right": right,
        "share": right / said if said else None,
        "ci": share_interval(right, said),
        **{name: numbers[name] for name in ("unsaid", "read", "taken_out", "added", "absent")},
        "no_answer": dict(sorted((+tally["no_answer"]).items())),
        "answers": answers,
        "changed": changed,
        "changed_share": changed / answers if answers else None,
        "changed_ci": share_interval(changed, answers),
    }


def _numbers(tally: Tally, part: str, kind: str) -> dict[str, Any]:
    answers, named = tally["numbers"]["answers"], +tally[part]
    if kind == Prompt.Kind.CHOICE:
        return {"answers": answers, "letters": dict(sorted(named.items()))}
    counts = np.array(sorted(named.values()) or [0])
    bits = float(measure(counts)["entropy_bits"]) if named else None
    return {"answers": answers, "mentions": named.total(), "distinct": len(named), "entropy_bits": bits}


# --- incremental counts: after a new answer only the new ones -------------------

# What a count rests on: number of readings by other rules, newest decisions about answers and spellings, whether any
# reading was shown, and how many responses, pilots' and read ones were counted. Then the keys of those that came later.
GROUND = """
WITH given AS (
  SELECT response.id, person.pilot, answer.id IS NOT NULL AS read
  FROM surveys_response response JOIN surveys_participant person ON person.id = response.participant_id
    LEFT JOIN analysis_answer answer ON answer.response_id = response.id
  WHERE person.study_id = %(study)s
)
SELECT
  (SELECT count(*) FROM analysis_answer WHERE rules_version < %(rules)s OR rules_version > %(rules)s),
  (SELECT max(decision.id) FROM analysis_answerdecision decision
    JOIN analysis_answer answer ON answer.id = answer_id JOIN given ON given.id = response_id),
  (SELECT max(id) FROM analysis_aliasdecision WHERE study_id = %(study)s),
  EXISTS (SELECT FROM surveys_readback JOIN given ON given.id = response_id),
  count(*) FILTER (WHERE id <= %(end)s), count(*) FILTER (WHERE id <= %(end)s AND pilot),
  count(*) FILTER (WHERE id <= %(end)s AND read),
  json_agg(id) FILTER (WHERE id > %(end)s), json_agg(id) FILTER (WHERE id > %(end)s AND pilot),
  json_agg(id) FILTER (WHERE id > %(end)s AND read)
FROM given
"""


class ResponseSpan(NamedTuple):
    """A study's responses with keys above `after` and up to `end`; later ones are ignored."""

    study: Study
    after: int
    end: int

    @property
    def own(self) -> dict[str, Any]:
        return {"participant__study": self.study, "id__gt": self.after, "id__lte": self.end}

    @property
    def newest(self) -> QuerySet[Response]:
        """Accepted responses of the span that none up to its end replaces."""
        return Response.objects.filter(~superseded(id__lte=self.end), accepted=True, **self.own)

    def replaced(self) -> list[int]:
        """Keys of earlier responses that were the newest until one of the span replaced them."""
        if not self.after:
            return []
        come = Response.objects.filter(accepted=True, revision__gt=1, **self.own)
        older = Response.objects.filter(participant__in=come.values("participant"), accepted=True, id__lte=self.after)
        until, since = superseded(id__lte=self.after), superseded(id__gt=self.after, id__lte=self.end)
        return list(older.filter(~until, since).values_list("id", flat=True))


class TallyState(NamedTuple):
    end: int
    ground: tuple[Any, ...]
    tallies: Tallies
    drawn: ReadingSample


NOTHING: tuple[Any, ...] = (0, (), {}, (0, []))


def count_field(study: Study, stamp: str) -> tuple[TallyState, int]:
    """Tallies of all responses, and how many are unread; only those before the first unread one are kept."""
    settled = _restored(keep(study, KEPT, stamp, lambda: _settle(study)))
    unread = _unread(study, settled).count()
    if unread:
        settled = _advance(settled, ResponseSpan(study, settled.end, LAST), settled.ground)
    return settled, unread


def _settle(study: Study) -> TallyState:
    """Advance the last kept state to just before the first unread response."""
    last = MetricValue.objects.filter(study=study, name=KEPT).values_list("value", flat=True).first()
    state = _restored(last or NOTHING)
    # Taken first, so that changes during the count make a different ground next time.
    ground, come = _ground(study, state.end)
    if ground != state.ground and state.end:
        state = _restored(NOTHING)
        ground, come = _ground(study, 0)
    unread = _unread(study, state).values_list("pk", flat=True).first()
    settled = [[key for key in keys or () if unread is None or key < unread] for keys in come]
    more = (before + len(keys) for before, keys in zip(ground[-3:], settled, strict=True))
    end = max(settled[0], default=state.end)
    return _advance(state, ResponseSpan(study, state.end, end), (*ground[:-3], *more))


def _unread(study: Study, state: TallyState) -> QuerySet[Response]:
    return open_responses(study, UNREAD).filter(pk__gt=state.end)


def _ground(study: Study, end: int) -> tuple[tuple[Any, ...], Sequence[Sequence[int] | None]]:
    with connection.cursor() as cursor:
        cursor.execute(GROUND, {"study": study.pk, "rules": RULES_VERSION, "end": end})
        found = cursor.fetchone()
        return (WAY, RULES_VERSION, study.current_id, *found[:-3]), found[-3:]


def _restored(value: Any) -> TallyState:
    end, ground, tallies, drawn = value
    counted = {
        kind: {slug: {part: Counter(counts) for part, counts in tally.items()} for slug, tally in of_kind.items()}
        for kind, of_kind in tallies.items()
    }
    return TallyState(end, tuple(ground), counted, ReadingSample(*drawn))


def _advance(state: TallyState, span: ResponseSpan, ground: tuple[Any, ...]) -> TallyState:
    replaced, (*_, has_readings, _, _, _) = span.replaced(), ground
    with uncollected():
        tallies = add_span(state.tallies, span, replaced) if has_readings else {}
    return TallyState(span.end, ground, tallies, redraw(state.drawn, *_readings(span, replaced)))


def _readings(span: ResponseSpan, replaced: list[int]) -> tuple[QuerySet[Answer], QuerySet[Answer], QuerySet[Answer]]:
    """Readings without a doubt: new in the span, replaced by it, and all up to its end."""
    shown = Answer.objects.filter(doubt="").exclude(response__participant__origin=Participant.Origin.PREVIEW)
    come, there = (
        shown.filter(~superseded("response__", id__lte=span.end), **_of_responses(each.own))
        for each in (span, span._replace(after=0))
    )
    return come, shown.filter(response__in=replaced), there


def _of_responses(own: Mapping[str, Any]) -> dict[str, Any]:
    return {f"response__{name}": value for name, value in own.items()}


# --- what people said, by prompt ---------------------------------------------


def add_span(tallies: Tallies, span: ResponseSpan, replaced: Collection[int]) -> Tallies:
    """Add the span's newest accepted answers to the tallies and subtract the replaced ones."""
    families = families_of(definition_of(span.study.current_id)) if span.study.current_id else {}
    spellings = spellings_of(alias_map(span.study), families)
    items: dict[str, str] = {}  # by name; a cache, since names repeat
    gone = {"id__in": replaced}
    for sign, responses, those in ((1, span.newest, span.own), (-1, Response.objects.filter(**gone), gone)):
        # Superseded revisions too: only `responses` asks which are the newest, once.
        answers, said = _by_response(Answer, READ, those), _by_response(ReadBack, SAID, those)
        for key, slug, kind in _counted(responses):
            of_kind = tallies.setdefault(kind, {})
            if slug not in of_kind:
                of_kind[slug] = {part: Counter() for part in PARTS}
            tally = of_kind[slug]
            aliases = spellings.get(families.get(slug, slug), {})
            tally["numbers"]["responses"] += sign
            if key in said:
                _add_verdict(tally, said[key], sign)
            if key in answers:
                _add_change(tally, answers[key], said.get(key), sign, kind, aliases, items)
    return tallies


def _counted(responses: QuerySet[Response]) -> Iterable[tuple[int, str, str]]:
    """Key, slug and kind of responses to first askings, without previews and pilots."""
    ours = responses.filter(asked_of_all("prompt__"), participant__pilot=False)
    shown = ours.exclude(participant__origin=Participant.Origin.PREVIEW)
    return shown.order_by().values_list("pk", "prompt__slug", "prompt__kind")


def _by_response(model: type[Answer | ReadBack], fields: Sequence[str], those: Mapping[str, Any]) -> dict[int, Any]:
    rows = model.objects.filter(**_of_responses(those)).order_by("rules_version").values_list(*fields, named=True)
    return {row.response_id: row for row in rows}


def _add_verdict(tally: Tally, said: Any, sign: int) -> None:
    numbers = tally["numbers"]
    numbers["shown"] += sign
    if said.no_answer:
        tally["no_answer"][said.no_answer] += sign
    elif said.verdict == Verdict.UNSAID:
        numbers["unsaid"] += sign
    else:
        numbers["said"] += sign
        numbers["read"] += sign * (len(said.read_names) + bool(said.read_letter))
        numbers["absent"] += sign * len(said.absent)
    if said.verdict == Verdict.CORRECTED:  # otherwise both are the same
        is_other = said.letter != said.read_letter
        out, added = {*said.read_names} - {*said.names}, {*said.names} - {*said.read_names}
        numbers["corrected"] += sign
        numbers["taken_out"] += sign * (len(out) + (is_other and bool(said.read_letter)))
        numbers["added"] += sign * (len(added) + (is_other and bool(said.letter)))


def _add_change(
    tally: Tally, answer: Any, said: Any, sign: int, kind: str, aliases: Mapping[str, str], items: dict[str, str]
) -> None:
    """Count the answer before and after its correction, which has an effect only if no researcher has decided."""
    after = before = _as_one(answer.items, answer.letter, aliases)
    if said and not answer.decided:
        before = _as_one(_items(said.read_names, items), said.read_letter, aliases)
    tally["numbers"]["answers"] += sign
    tally["numbers"]["changed"] += sign * (before != after)
    for part, (named, letter) in (("before", before), ("after", after)):
        count = tally[part].update if sign > 0 else tally[part].subtract
        count((letter,) if kind == Prompt.Kind.CHOICE else named)


def _as_one(items: Collection[str], letter: str, aliases: Mapping[str, str]) -> tuple[set[str], str]:
    """Items, each once under its merged spelling, and letter of a text."""
    return {aliases.get(item, item) for item in items}, letter


def _items(names: Collection[str], items: dict[str, str]) -> list[str]:
    """Items of these names; `items` caches names already seen."""
    for name in names:
        if name not in items:
            items[name] = normalise_item(name)
    return [item for item in map(items.__getitem__, names) if item]
