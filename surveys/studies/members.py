"""A study's team: owners, members with other roles, invitations. Changes to its members are audited."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AbstractUser, Permission
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from surveys.models import AuditEvent, Invitation, Membership, Place, Study
from surveys.models.hashes import hash_text
from surveys.studies import audit
from surveys.studies.access import Role, let_make_studies, role_in, studies_of
from surveys.studies.files.definitions import Definition
from surveys.studies.files.lines import Misfit
from surveys.studies.files.matrix import set_misfits
from surveys.studies.lifecycle import (
    StudyError,
    annotation_of,
    benchmark_sizes,
    definition_of,
    labels_of,
    load_definition,
    lock_study,
)


class MemberError(Exception):
    """A change that would leave a study without an owner, add somebody twice or find them gone; the message says so."""


def create_study(definition: Definition, owner: AbstractBaseUser) -> Study:
    """Make a study from a file that this account brought; raises StudyError if its slug is taken."""
    refuse(misfits_of_new(asdict(definition), owner))
    with transaction.atomic():
        study, outcome = load_definition(definition, owner.get_username())
        # Two people may bring the same slug at the same moment: the second one's changes are undone here.
        if outcome != "created":
            refuse([("slug", TAKEN.format(definition.slug))])
        add_member(study, owner, Role.OWNER, owner.get_username())
        return study


def change_study(study: Study, definition: Definition, account: AbstractBaseUser, amendment: str = "") -> str:
    """Make a new version of a study, unless nothing changed; return the outcome of `load_definition`."""
    check_version(study, definition, account, amendment)
    return load_definition(definition, account.get_username(), amendment)[1]


def check_version(study: Study, definition: Definition, account: AbstractBaseUser, amendment: str) -> None:
    """Raise StudyError if this cannot be the study's next version."""
    if definition.slug != study.slug:
        raise StudyError(
            f"This file is for the study `{definition.slug}`, not for `{study.slug}`. "
            "Choose this study's file, or make a new study from this one."
        )
    if len(amendment) > LONGEST_REASON:
        raise StudyError(f"The reason is longer than {LONGEST_REASON:,} characters. Please shorten it.")
    refuse(misfits_of_version(study, asdict(definition), account))


# Misfits that a file's own rules cannot know, reported with theirs. `read`: what could be read of the file.

TAKEN = "is `{0}`, and there is already a study called `{0}`; choose another slug"
LONGEST_REASON = 2000


def misfits_of_new(read: Mapping[str, Any], account: AbstractBaseUser) -> list[Misfit]:
    slug = read.get("slug", "")
    taken = [("slug", TAKEN.format(slug))] if slug and Study.objects.filter(slug=slug).exists() else []
    return [*taken, *misfits_here(read), *foreign_people(read, account, "")]


def misfits_of_version(study: Study, read: Mapping[str, Any], account: AbstractBaseUser) -> list[Misfit]:
    work = annotation_of(study)
    return [*misfits_here(read), *foreign_people(read, account, work.invited_from if work else "")]


def misfits_here(read: Mapping[str, Any]) -> list[Misfit]:
    """Misfits of the file with this server: its benchmark set is missing or too small."""
    return set_misfits(read, benchmark_sizes())


def foreign_people(read: Mapping[str, Any], account: AbstractBaseUser, known: str) -> list[Misfit]:
    """The misfit if the file invites people of a study in which the account is no researcher.

    Admissions would reveal that study's gate decisions. `known`: the study whose people the file invited before.
    """
    source = (read.get("annotation") or {}).get("invited_from", "")
    allowed = source in ("", known, read.get("slug"))
    if allowed or studies_of(account, Role.RESEARCHER).filter(slug=source).exists():
        return []
    why = (
        f"names `{source}`, and you are a researcher of no study of that name; make it first, or let somebody load "
        "this file who is"
    )
    return [("annotation.invited_from", why)]


def refuse(misfits: Iterable[Misfit]) -> None:
    if words := "\n".join(f"{place} {fault}" for place, fault in misfits):
        raise StudyError(words)


def find_account(name: str) -> AbstractBaseUser | None:
    """The active account of this name; without a name the oldest active one."""
    accounts = get_user_model().objects.filter(is_active=True)
    return accounts.filter(username=name).first() if name else accounts.order_by("pk").first()


def own_if_nobody_does(study: Study, account: AbstractBaseUser | None, actor: str) -> bool:
    """Make the account owner of a study that has none, so that somebody sees it; return whether it did."""
    if account is None or study.memberships.filter(role=Role.OWNER).exists():
        return False
    if membership := study.memberships.filter(user=account).first():
        change_role(membership, Role.OWNER, actor)
    else:
        add_member(study, account, Role.OWNER, actor)
    return True


def add_member(study: Study, user: AbstractBaseUser, role: str, actor: str) -> Membership:
    with transaction.atomic():
        lock_members(study)
        if Membership.objects.filter(study=study, user=user).exists():
            raise MemberError(f"{user.get_username()} already works on this study.")
        membership = Membership.objects.create(study=study, user=user, role=role)
        audit.record(study, actor, "member added", user.get_username(), role=role)
        return membership


def change_role(membership: Membership, role: str, actor: str) -> None:
    with transaction.atomic():
        lock_member(membership)
        if role != Role.OWNER:
            keep_an_owner(membership)
        before = membership.role
        Membership.objects.filter(pk=membership.pk).update(role=role)
        name = membership.user.get_username()
        audit.record(membership.study, actor, "role changed", name, before=before, role=role)


def remove_member(membership: Membership, actor: str) -> None:
    with transaction.atomic():
        lock_member(membership)
        keep_an_owner(membership)
        membership.delete()
        audit.record(membership.study, actor, "member removed", membership.user.get_username(), role=membership.role)


def lock_members(study: Study) -> None:
    # One change of members at a time: two owners can't remove each other at once.
    Study.objects.select_for_update().get(pk=study.pk)


def lock_member(membership: Membership) -> None:
    """Lock the study's members and read this one's role anew: another change may have come first."""
    lock_members(membership.study)
    role = Membership.objects.filter(pk=membership.pk).values_list("role", flat=True).first()
    if role is None:
        raise MemberError(f"{membership.user.get_username()} no longer works on this study.")
    membership.role = role


def keep_an_owner(membership: Membership) -> None:
    others = Membership.objects.filter(study=membership.study, role=Role.OWNER).exclude(pk=membership.pk)
    if membership.role == Role.OWNER and not others.exists():
        raise MemberError("A study needs an owner. Make somebody else an owner first.")


# --- blinding -----------------------------------------------------------------


def lift_blinding(study: Study, actor: str) -> None:
    """Turn blinded members into viewers. This cannot be undone: nobody forgets a number. Raises StudyError."""
    with transaction.atomic():
        study = lock_study(study)
        if why := why_blinded(study):
            raise StudyError(why)
        study.unblinded_at = timezone.now()
        study.save(update_fields=["unblinded_at"])
        names = study.memberships.filter(role=Role.BLINDED).order_by("user__username")
        audit.record(study, actor, "blinding lifted", members=list(names.values_list("user__username", flat=True)))


def why_blinded(study: Study) -> str:
    """Why the blinding cannot be lifted, in a sentence; empty if it can.

    If there are hypotheses, their plan must be frozen and at its end: all places filled, all labels given in a study of
    annotators, or the study closed. An end that was shown stays the end.
    """
    if study.unblinded_at:
        return "The blinding was lifted before."
    definition = definition_of(study.current_id) if study.current_id else None
    if not definition or not definition.hypotheses:
        return ""
    if not study.is_launched:
        return "The plan is not frozen yet. Launch the study first."
    if study.state == Study.State.CLOSED or AuditEvent.objects.filter(study=study, action=audit.END_REACHED).exists():
        return ""
    if definition.annotation:
        (there, n), what = labels_of(study, definition), "labels are given"
    else:
        places = Place.objects.filter(cell__study=study)
        there, n, what = places.filter(confirmed_at__isnull=False).count(), places.count(), "places are filled"
    if there < n:
        return f"{there:,} of {n:,} {what}. The plan ends when all are, or when the study is closed."
    return ""


# --- invitations ---------------------------------------------------------------


MAY_INVITE = "surveys.add_invitation"  # Django's own permission: to let others make studies
LASTS = timedelta(days=7)


class InvitationError(Exception):
    """An invitation that can't be given or accepted; the message says what to do."""


def may_let_make_studies(account: AbstractUser) -> bool:
    return account.is_active and account.has_perm(MAY_INVITE)


def let_invite(account: AbstractUser) -> None:
    app, name = MAY_INVITE.split(".")
    account.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=name))


def may_invite(account: AbstractUser, study: Study | None) -> bool:
    """Whether the account may invite: into a study if it owns it, to make studies if an administrator lets it."""
    if study is None:
        return may_let_make_studies(account)
    return account.is_active and role_in(account, study) == Role.OWNER


def may_invite_anybody(account: AbstractUser) -> bool:
    return may_let_make_studies(account) or studies_of(account, Role.OWNER).exists()


def open_invitations(account: AbstractUser) -> QuerySet[Invitation]:
    """Invitations that are still open: into the account's own studies and, if it may give those, to make studies."""
    theirs = Q(study__in=studies_of(account, Role.OWNER))
    if may_let_make_studies(account):
        theirs |= Q(study=None)
    rows = Invitation.objects.filter(theirs, used_at=None, revoked_at=None, expires_at__gt=timezone.now())
    return rows.select_related("study", "invited_by")


def invite(account: AbstractUser, study: Study | None, role: str, note: str = "") -> str:
    """Make an invitation; return its token, which can't be read again. Raises InvitationError."""
    if not may_invite(account, study):
        raise InvitationError("Your account may not give this invitation.")
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        row = Invitation.objects.create(
            token_sha256=hash_text(token),
            note=note,
            study=study,
            role=role if study else "",
            invited_by=account,
            expires_at=timezone.now() + LASTS,
        )
        note_down(row, account.get_username(), "invited")
    return token


def revoke(account: AbstractUser, number: int) -> bool:
    """Revoke an open invitation; returns whether there was one that this account may revoke."""
    with transaction.atomic():
        row = open_invitations(account).select_for_update(of=("self",)).filter(pk=number).first()
        if row is None:
            return False
        Invitation.objects.filter(pk=row.pk).update(revoked_at=timezone.now())
        note_down(row, account.get_username(), "invitation revoked")
        return True


def find_invitation(token: str, lock: bool = False) -> Invitation:
    """The open invitation of a token.

    Raises InvitationError if it was used, revoked, forged or has expired, or if its giver may no longer give it.
    """
    rows = Invitation.objects.select_related("study", "invited_by")
    if lock:
        rows = rows.select_for_update(of=("self",))
    row = rows.filter(token_sha256=hash_text(token), used_at=None, revoked_at=None).first()
    if row is None or row.expires_at <= timezone.now() or not may_invite(row.invited_by, row.study):
        raise InvitationError("This link was used, taken back or has expired. Ask for a new one.")
    return row


def accept(token: str, account: AbstractUser) -> Invitation:
    """Save the new account with what the invitation gives; of two at once, the second finds it used."""
    with transaction.atomic():
        row = find_invitation(token, lock=True)
        account.save()
        if row.study:
            add_member(row.study, account, row.role, row.invited_by.get_username())
        else:
            let_make_studies(account)
        row.used_at, row.used_by = timezone.now(), account.get_username()
        row.save(update_fields=["used_at", "used_by"])
        return row


def note_down(row: Invitation, actor: str, action: str) -> None:
    if row.study:
        audit.record(row.study, actor, action, str(row), role=row.role)
