"""Invitations to make an account: who gives them, how one is taken once, and what it gives."""

import secrets
from datetime import timedelta

from django.contrib.auth.models import AbstractUser, Permission
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from surveys.models import Invitation, Study
from surveys.models.hashes import hash_text
from surveys.studies import audit
from surveys.studies.access import Role, let_make_studies, role_in, studies_of
from surveys.studies.members import add_member

MAY_INVITE = "surveys.add_invitation"  # Django's own permission: to let others make studies
LASTS = timedelta(days=7)


class InvitationError(Exception):
    """An invitation that can't be given or taken; the message says what to do."""


def may_let_make_studies(account: AbstractUser) -> bool:
    return account.is_active and account.has_perm(MAY_INVITE)


def let_invite(account: AbstractUser) -> None:
    app, name = MAY_INVITE.split(".")
    account.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=name))


def may_invite(account: AbstractUser, study: Study | None) -> bool:
    """Into a study its owners; to make studies whom the server's administrators let do so."""
    if study is None:
        return may_let_make_studies(account)
    return account.is_active and role_in(account, study) == Role.OWNER


def may_invite_anybody(account: AbstractUser) -> bool:
    return may_let_make_studies(account) or studies_of(account, Role.OWNER).exists()


def open_invitations(account: AbstractUser) -> QuerySet[Invitation]:
    """Those that can still be taken, of the account's own studies and, where it may give them, of the server."""
    theirs = Q(study__in=studies_of(account, Role.OWNER))
    if may_let_make_studies(account):
        theirs |= Q(study=None)
    rows = Invitation.objects.filter(theirs, used_at=None, revoked_at=None, expires_at__gt=timezone.now())
    return rows.select_related("study", "invited_by")


def invite(account: AbstractUser, study: Study | None, role: str, note: str = "") -> str:
    """The token of a new invitation; it can't be read again. Raises InvitationError."""
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
    """Take an open invitation back; whether there was one that this account may take back."""
    with transaction.atomic():
        row = open_invitations(account).select_for_update(of=("self",)).filter(pk=number).first()
        if row is None:
            return False
        Invitation.objects.filter(pk=row.pk).update(revoked_at=timezone.now())
        note_down(row, account.get_username(), "invitation revoked")
        return True


def find_invitation(token: str, lock: bool = False) -> Invitation:
    """The open invitation of a token. Raises InvitationError for one that was used, revoked, forged or is too old.

    It holds no longer than the right of whoever gave it.
    """
    rows = Invitation.objects.select_related("study", "invited_by")
    if lock:
        rows = rows.select_for_update(of=("self",))
    row = rows.filter(token_sha256=hash_text(token), used_at=None, revoked_at=None).first()
    if row is None or row.expires_at <= timezone.now() or not may_invite(row.invited_by, row.study):
        raise InvitationError("This link was used, taken back or has expired. Ask for a new one.")
    return row


def accept(token: str, account: AbstractUser) -> Invitation:
    """Save the new account with what the invitation gives. Of two at once the second finds it used."""
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
