"""Reads for the pages and the API of people, without personal details."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Count, Q, QuerySet

from analysis.models import Attribute, Conversation, Corpus, CorpusStep, CorpusUser, PersonaSet, Task
from analysis.people.evidence import without_personal
from analysis.people.merging import conflicts_of
from analysis.people.pushing import quotes_of
from analysis.people.steps import is_busy
from surveys.annotation.texts import Highlight, cut_text
from surveys.models import Annotation, Study
from surveys.reading.privacy import remove_personal
from surveys.studies.files.kinds import QUALITY
from surveys.studies.labels import TRAINED, newest
from surveys.studies.wording import percent

SUPPORTED = QUALITY.values[-1]
TOP = 5  # attributes shown per sampled user
OPEN = (CorpusStep.State.WAITING, CorpusStep.State.RUNNING)
DISTANCES = {
    "between_users": "Between attributes of two users",
    "between_centroids": "Between two users’ centroids",
    "within_users": "Within users",
}


def corpora(account: Any, study: Study) -> list[dict[str, Any]]:
    """Every corpus that the account may use here, with its sizes."""
    shown = Corpus.objects.shown_to(account, study)
    rows = shown.order_by("name").annotate(n=Count("conversations"))
    kept = dict(shown.values_list("pk").annotate(n=Count("users", filter=Q(users__left_out_by=""))))
    users = dict(shown.values_list("pk").annotate(n=Count("users")))
    attributes = dict(shown.values_list("pk").annotate(n=Count("users__attributes")))
    return [
        {
            **{name: getattr(row, name) for name in ("name", "format", "source", "licence")},
            **{"conversations": row.n, "users": users[row.pk], "kept": kept[row.pk], "attributes": attributes[row.pk]},
        }
        for row in rows
    ]


def persona_sets(account: Any, study: Study) -> list[dict[str, Any]]:
    """Every set of personas that the account may use here, with its sizes and the number of runs that draw from it."""
    shown = PersonaSet.objects.shown_to(account, study)
    described = Count("personas", filter=~Q(personas__description=""))
    sets = shown.order_by("name").annotate(described=described, rows=Count("personas"))
    runs = dict(shown.values_list("pk").annotate(n=Count("run")))
    return [{"row": row, "sentences": row.rows - row.described, "runs": runs[row.pk]} for row in sets]


def steps_of(corpus: Corpus) -> dict[str, dict[str, Any]]:
    """Each step that was begun, as it is now; one that was killed is `stopped`."""
    rows = {row.name: row for row in corpus.steps.all()}
    busy = any(row.state in OPEN for row in rows.values()) and is_busy(corpus)
    return {
        name: {
            "row": rows[name],
            "state": "stopped" if rows[name].state == CorpusStep.State.RUNNING and not busy else rows[name].state,
            "done": percent(rows[name].share),
        }
        for name in CorpusStep.Name.values
        if name in rows
    }


def distances(steps: dict[str, dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Each distance, of all kept users and of the sample; none if nobody was sampled."""
    report = steps["sample"]["row"].report if "sample" in steps else {}
    return [
        (label, [report[of][name] for of in ("diversity", "diversity_chosen")])
        for name, label in DISTANCES.items()
        if report
    ]


def sampled_users(corpus: Corpus) -> QuerySet[CorpusUser]:
    """The sample in its order; without one, everybody kept who has attributes."""
    sampled = corpus.users.filter(place__isnull=False).order_by("place")
    if sampled.exists():
        return sampled
    kept = corpus.users.filter(left_out_by="", attributes__merged_into__isnull=False)
    return kept.distinct().order_by("key")


def top_attributes(users: Iterable[CorpusUser]) -> dict[int, list[dict[str, Any]]]:
    """Each user's TOP merged attributes: the surest, then those said most often."""
    rows = Attribute.objects.filter(user__in=list(users), cluster_size__isnull=False)
    found: dict[int, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (-(row.cluster_confidence or 0), -(row.cluster_size or 0), row.pk)):
        shown = found.setdefault(row.user_id, [])
        if len(shown) < TOP:
            shown.append({"row": row, "text": remove_personal(row.text)[0]})
    return found


def verdicts_of_models(
    corpus: Corpus, studies: QuerySet[Study], user: CorpusUser | None = None
) -> list[dict[str, Any]]:
    """What trained models say of each attribute that is an item of these studies."""
    rows = newest(Annotation.objects.filter(judge__startswith=f"{TRAINED} ", state=Annotation.State.GIVEN))
    rows = rows.filter(item__study__in=studies, item__pilot=False, item__corpus=corpus.name)
    rows = rows.filter(labels__has_key=QUALITY.name).exclude(item__payload__has_key="before")
    if user:
        rows = rows.filter(item__source__in=[str(pk) for pk in user.attributes.values_list("pk", flat=True)])
    fields = ("judge", "item_id", "item__study__slug", "item__source", "detail__version", "labels")
    return [
        {
            "rater": row["judge"],
            "version": row["detail__version"] or "",
            "study": row["item__study__slug"],
            "item": row["item_id"],
            "attribute": row["item__source"],
            "flagged": row["labels"][QUALITY.name] != SUPPORTED,
        }
        for row in rows.order_by("judge", "item__study__slug", "item__position").values(*fields)
    ]


def verifiers(corpus: Corpus, studies: QuerySet[Study]) -> list[dict[str, Any]]:
    """By verifier and study, how many attributes it labelled and flagged, and for how many a revision was asked."""
    said = verdicts_of_models(corpus, studies)
    flagged = [row["item"] for row in said if row["flagged"]]
    asked = Task.objects.filter(annotation_item__in=flagged, run__instruction__startswith="refine-")
    revised = set(asked.values_list("annotation_item", flat=True))
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in said:
        named = {name: row[name] for name in ("rater", "version", "study")}
        counted = found.setdefault((row["rater"], row["study"]), named | {"labelled": 0, "flagged": 0, "asked": 0})
        counted["labelled"] += 1
        counted["flagged"] += row["flagged"]
        counted["asked"] += row["flagged"] and row["item"] in revised
    return list(found.values())


def clusters(user: CorpusUser, studies: QuerySet[Study]) -> list[dict[str, Any]]:
    """The user's attributes: each representative with its cluster's members, then those left out or not merged."""
    flags: dict[str, list[dict[str, Any]]] = {}
    for verdict in verdicts_of_models(user.corpus, studies, user):
        if verdict["flagged"]:
            flags.setdefault(verdict["attribute"], []).append(verdict)
    rows = list(user.attributes.order_by("id"))
    members: dict[int, list[Attribute]] = {}
    for row in rows:
        members.setdefault(row.merged_into_id or row.pk, []).append(row)
    heads = [row for row in rows if row.merged_into_id in (None, row.pk)]
    against = conflicts_of(user, heads)
    heads.sort(key=lambda row: (row.merged_into_id is None, -(row.cluster_confidence or 0), row.pk))
    return [
        {
            "row": row,
            "text": remove_personal(row.text)[0],
            "flags": flags.get(str(row.pk), []),
            "against": [(other.pk, remove_personal(other.text)[0]) for other in against.get(row.pk, ())],
            "reasoning": remove_personal(row.reasoning)[0],
            "others": [remove_personal(other.text)[0] for other in members[row.pk] if other != row],
            "quotes": [
                {"text": remove_personal(quote["quote"])[0], "located": quote["message"] is not None}
                for quote in quotes_of(members[row.pk])
            ],
        }
        for row in heads
    ]


def marked(conversations: Sequence[Conversation], attribute: Attribute | None) -> list[dict[str, Any]]:
    """Cut conversations into pieces, with the evidence of the attribute marked and numbered from 1."""
    quotes = quotes_of(attribute.members.all() or [attribute]) if attribute else []
    return [
        {
            "row": conversation,
            "turns": [
                {"role": message["role"], "pieces": _pieces(message["content"], _places(quotes, conversation, number))}
                for number, message in enumerate(conversation.messages)
                if message["content"].strip()
            ],
        }
        for conversation in conversations
    ]


def _places(quotes: list[dict[str, Any]], conversation: Conversation, number: int) -> dict[int, tuple[int, int]]:
    return {
        place: (quote["start"], quote["end"])
        for place, quote in enumerate(quotes, 1)
        if (quote["conversation"], quote["message"]) == (conversation.sha256, number)
    }


def _pieces(text: str, places: dict[int, tuple[int, int]]) -> list[Any]:
    shown, moved, _ = without_personal(text, list(places.values()))
    return cut_text(shown, [Highlight(*place, number) for number, place in zip(places, moved, strict=True)])
