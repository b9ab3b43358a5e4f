"""The study on Prolific, compared with the study file; making, changing and publishing it.

The row that asks for a draft is committed before the call leaves. A call without an answer is followed by looking for
the study; a second call may follow an hour later. Only a person publishes anything.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from surveys.models import ProlificDraft, ProlificGroup, ProlificStudy, Study
from surveys.models.hashes import fingerprint
from surveys.prolific.client import ProlificClient, Refused, Unsent, Unsure, read_cents, read_text
from surveys.prolific.decisions import lock
from surveys.prolific.transfer import claim
from surveys.studies import audit
from surveys.studies.lifecycle import definition_of

DRAFT = "UNPUBLISHED"
# A draft that does not show by then was not made.
SHOWN_BY = timedelta(hours=1)
REVIEW, RETURN = "MANUALLY_REVIEW", "REQUEST_RETURN"
# The type of each outcome's code, and Prolific's action when somebody enters it. It pays nobody by itself: payments are
# decided here and recorded in the ledger.
CODES = {
    "completed": ("COMPLETED", REVIEW),
    "no_consent": ("NO_CONSENT", RETURN),
    "screened_out": ("OTHER", RETURN),
    "over_quota": ("OTHER", REVIEW),
    "misunderstood": ("OTHER", RETURN),
    "technical": ("OTHER", REVIEW),
    "late": ("OTHER", REVIEW),
    "withdrawn": ("OTHER", RETURN),
    "returned": ("OTHER", RETURN),
}
LABELS = {
    "name": "Title",
    "internal_name": "Internal name",
    "description": "Description",
    "external_study_url": "Study link",
    "prolific_id_option": "How ids are passed on",
    "reward": "Reward",
    "estimated_completion_time": "Minutes",
    "total_available_places": "Places",
    "completion_codes": "Completion codes",
    "filters": "Filters",
}
GROUP_FILTERS: dict[str, str] = {
    ProlificGroup.Kind.INVITED: "participant_group_allowlist",
    ProlificGroup.Kind.BLOCKED: "participant_group_blocklist",
}
NOT_MADE = "group-not-made-yet"


class SetUpError(Exception):
    """A step of the set-up that cannot be taken; the message says why."""


@dataclass(frozen=True)
class DraftField:
    """One field of the study, as the study file wants it and as Prolific has it."""

    name: str
    label: str
    ours: str
    theirs: str

    @property
    def is_same(self) -> bool:
        return self.ours == self.theirs


# --- the study file's side ----------------------------------------------------


def group_sources(study: Study) -> dict[str, list[str]]:
    """The slugs of the studies whose people belong to a group, by kind of group."""
    definition = definition_of(study.current_id)
    work = definition.annotation
    found = {
        ProlificGroup.Kind.INVITED: [work.invited_from] if work and work.invited_from else [],
        ProlificGroup.Kind.BLOCKED: list(definition.blocked_from),
    }
    return {kind: slugs for kind, slugs in found.items() if slugs}


def internal_name(study: Study) -> str:
    """The name by which the draft is found again; participants do not see it."""
    return f"{study.slug} at {urlsplit(settings.SITE_URL).netloc}"


def wanted(study: Study, link: str) -> dict[str, Any]:
    """The study on Prolific as the study file wants it, in the API's terms; `link` is the participants' address."""
    definition = definition_of(study.current_id)
    return {
        "name": definition.title,
        "internal_name": internal_name(study),
        "description": definition.description,
        "external_study_url": link,
        "prolific_id_option": "url_parameters",
        "reward": definition.pay.cents,
        "estimated_completion_time": definition.minutes,
        "total_available_places": definition.planned_people,
        "completion_codes": [
            wanted_code(name, code, definition.pay.screen_out_cents) for name, code in definition.codes.items()
        ],
        "filters": wanted_filters(study),
    }


def wanted_code(outcome: str, code: str, screen_out: int) -> dict[str, Any]:
    kind, action = CODES[outcome]
    if outcome == "screened_out" and screen_out:
        action = REVIEW
    return {"code": code, "code_type": kind, "actions": [{"action": action}]}


def wanted_filters(study: Study) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"filter_id": each.filter, "selected_values": list(each.values)}
        if each.values
        else {"filter_id": each.filter, "selected_range": {"lower": each.lower, "upper": each.upper}}
        for each in definition_of(study.current_id).filters
    ]
    made = dict(ProlificGroup.objects.filter(study=study).values_list("kind", "prolific_id"))
    for kind in group_sources(study):
        found.append({"filter_id": GROUP_FILTERS[kind], "selected_values": [made.get(kind, NOT_MADE)]})
    return found


# --- ours x theirs ------------------------------------------------------------


def compare(study: Study, link: str, theirs: Mapping[str, Any]) -> list[DraftField]:
    """Compare field by field; numbers that come as texts count as numbers."""
    definition, ours = definition_of(study.current_id), wanted(study, link)
    parts = [
        DraftField(name, label, show(name, ours[name]), show(name, theirs.get(name))) for name, label in LABELS.items()
    ]
    if currency := theirs.get("currency_code"):
        parts.append(DraftField("currency_code", "Currency", definition.pay.currency, str(currency)[:10]))
    known, there = definition.prolific_study_ids, str(theirs.get("id"))[:64]
    let_in = there if not known or there in known else ", ".join(known)
    return [*parts, DraftField("id", "Study id that is let in here", let_in, there)]


def show(name: str, value: Any) -> str:
    """A field's value in words, by which both sides are compared; empty if there is none."""
    if value is None:
        return ""
    try:
        return SHOWN.get(name, lambda raw: read_text(raw, 20_000).strip())(value)
    except (ValueError, TypeError, KeyError, AttributeError):
        return f"not understood: {str(value)[:80]}"


def show_codes(codes: Any) -> str:
    return "\n".join(
        sorted(
            f"{each['code']} {each['code_type']}: "
            + ", ".join(sorted(str(one["action"]).lower().replace("_", " ") for one in each["actions"]))
            for each in codes or ()
        )
    )


def show_choice(entry: Mapping[str, Any]) -> str:
    if chosen := entry.get("selected_range"):
        return f"{read_cents(chosen['lower'])} to {read_cents(chosen['upper'])}"
    return ", ".join(sorted(str(value) for value in entry["selected_values"]))


def show_money(value: Any) -> str:
    cents = read_cents(value)
    return f"{cents // 100}.{cents % 100:02}"


SHOWN: dict[str, Callable[[Any], str]] = {
    "reward": show_money,
    "estimated_completion_time": lambda value: str(read_cents(value)),
    "total_available_places": lambda value: str(read_cents(value)),
    "completion_codes": show_codes,
    "filters": lambda filters: "\n".join(sorted(f"{each['filter_id']}: {show_choice(each)}" for each in filters or ())),
}


def remote_id(study: Study) -> str:
    """The id on Prolific of the study made from here, else of the only one that the study file names; else empty."""
    draft = ProlificDraft.objects.filter(study=study).first()
    if draft and draft.prolific_id:
        return draft.prolific_id
    named = definition_of(study.current_id).prolific_study_ids
    return named[0] if len(named) == 1 else ""


# --- making, changing, publishing ---------------------------------------------


def make_draft(study: Study, link: str, actor: str, client: ProlificClient) -> str:
    """Make the draft, or find the one that an earlier call made; return its id.

    Raises SetUpError if there is one, if it cannot be made yet, and if nobody knows whether it was made.
    """
    if there := remote_id(study):
        raise SetUpError(f"The study is on Prolific already: {there}.")
    content = checked(study, link)
    found = client.studies_called(internal_name(study))
    if len(found) > 1:
        raise SetUpError(f"Prolific has {len(found)} studies of this internal name: {', '.join(found)}. Keep one.")
    draft = request_draft(study, actor, is_there=bool(found))
    if found:
        return record_draft(study, draft, found[0], actor, "study on Prolific found")
    try:
        made = client.make_study(content)
    except (Refused, Unsent):
        draft.delete()  # nothing has happened
        raise
    except Unsure as fault:
        raise SetUpError(
            f"{fault} The draft may have been made. Look for it in a moment; no second one is made."
        ) from None
    return record_draft(study, draft, made, actor, "study on Prolific made")


def checked(study: Study, link: str) -> dict[str, Any]:
    content = wanted(study, link)
    if not content["description"]:
        raise SetUpError("The study file has no description for Prolific: add it in [recruiting].")
    if not content["total_available_places"]:
        raise SetUpError("The study has no places.")
    # A group is made in the workspace of the draft, so its filter comes with the first update.
    content["filters"] = [each for each in content["filters"] if NOT_MADE not in each.get("selected_values", ())]
    return content


def request_draft(study: Study, actor: str, is_there: bool) -> ProlificDraft:
    """Commit the row before the call. Raises SetUpError while an earlier call may still show on Prolific."""
    now = timezone.now()
    with transaction.atomic():
        lock(study)
        draft = ProlificDraft.objects.filter(study=study).first()
        if draft is None:
            audit.record(study, actor, "draft on Prolific asked for", internal_name(study))
            return ProlificDraft.objects.create(study=study, asked_by=actor, asked_at=now)
        if draft.prolific_id:
            raise SetUpError(f"The study is on Prolific already: {draft.prolific_id}.")
        if is_there:
            return draft
        if now - draft.asked_at < SHOWN_BY:
            raise SetUpError(
                f"{draft.asked_by} asked for the draft at {draft.asked_at:%H:%M} UTC without an answer, and Prolific "
                "does not show it yet. Look again; it is asked for anew an hour after that."
            )
        draft.asked_by, draft.asked_at = actor, now
        draft.save()
        audit.record(study, actor, "draft on Prolific asked for", internal_name(study), again=True)
        return draft


def record_draft(study: Study, draft: ProlificDraft, prolific_id: str, actor: str, action: str) -> str:
    with transaction.atomic():
        claim(study, prolific_id)
        draft.prolific_id = prolific_id
        draft.save()
        audit.record(study, actor, action, prolific_id)
    return prolific_id


def update_draft(study: Study, link: str, actor: str, client: ProlificClient) -> list[str]:
    """Change what differs in the draft; return the names of the fields. Raises SetUpError for a published study."""
    remote, content = remote_id(study), checked(study, link)
    theirs = draft_of(remote, client)
    names = [part.name for part in compare(study, link, theirs) if not part.is_same and part.name in content]
    if not names:
        return []
    claim(study, remote)
    audit.record(study, actor, "draft on Prolific changed", remote, fields=names)
    client.change_study(remote, {name: content[name] for name in names})
    return names


def draft_of(remote: str, client: ProlificClient) -> dict[str, Any]:
    if not remote:
        raise SetUpError("There is no study on Prolific yet.")
    theirs = client.content_of(remote)
    if theirs.get("status") != DRAFT:
        raise SetUpError("It is published. Change it on Prolific's own pages; what differs is shown here.")
    return theirs


def seen_of(study: Study, link: str) -> str:
    """A hash over the study that a person is about to publish."""
    return fingerprint([remote_id(study), wanted(study, link)])


def publish(study: Study, link: str, actor: str, client: ProlificClient, seen: str) -> None:
    """Publish the study that the person saw, if it is as the study file wants it and its link works.

    Raises SetUpError if it is not, and if nobody knows whether it was published.
    """
    if seen != seen_of(study, link):
        raise SetUpError("The study has changed since you saw it. Nothing was published; look again.")
    if study.state not in (Study.State.PILOT, Study.State.LIVE):
        raise SetUpError("The link does not work yet: start the pilot or launch first. Nothing was published.")
    remote = remote_id(study)
    theirs = draft_of(remote, client)
    if differs := [part.label.lower() for part in compare(study, link, theirs) if not part.is_same]:
        raise SetUpError(f"Prolific has another {', '.join(differs)} than the study file. Nothing was published.")
    claim(study, remote)
    audit.record(study, actor, "publishing on Prolific", remote, places=wanted(study, link)["total_available_places"])
    try:
        client.publish(remote)
    except Unsure as fault:
        if client.content_of(remote).get("status") == DRAFT:
            raise SetUpError(f"{fault} Prolific still shows a draft. Look again before you publish again.") from None
    status = read_text(client.content_of(remote).get("status"), 20)
    ProlificStudy.objects.filter(prolific_id=remote, study=study).update(status=status)
