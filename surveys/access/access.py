"""Who may see what: signed participant links and roles of accounts."""

import secrets

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import PermissionDenied
from django.core.signing import BadSignature, Signer
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from surveys.models import Membership, Study

Role = Membership.Role
RANK = {Role.VIEWER: 1, Role.RESEARCHER: 2, Role.OWNER: 3}
# No vowels, so that a pseudonym never spells a word; no 0/O, 1/l.
ALPHABET = "23456789bcdfghjkmnpqrstvwxz"


def make_pseudonym() -> str:
    """A random name of 12 signs (57 bits); says nothing about the person."""
    return "".join(secrets.choice(ALPHABET) for _ in range(12))


def sign_link(study_slug: str, pseudonym: str) -> str:
    """The token in a participant's address. It works without cookies and on any device."""
    return Signer(salt=f"participant/{study_slug}", sep="~").sign(pseudonym)


def read_link(study_slug: str, token: str) -> str:
    """The pseudonym in a token; 404 when it was not signed by us for this study."""
    try:
        return Signer(salt=f"participant/{study_slug}", sep="~").unsign(token)
    except BadSignature:
        raise Http404("This link is not complete.") from None


# Marks people that `simulate` plays; signed, so that nobody can mark themselves.
SIMULATED = Signer(salt="simulated", sep="~")


def sign_simulated(pid: str) -> str:
    return SIMULATED.sign(pid)


def is_simulated(pid: str, mark: str) -> bool:
    try:
        return SIMULATED.unsign(mark) == pid
    except BadSignature:
        return False


def studies_of(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Study]:
    """The studies an account may see: its own; all of them for a superuser."""
    if not user.is_authenticated:
        return Study.objects.none()
    if getattr(user, "is_superuser", False):
        return Study.objects.all()
    return Study.objects.filter(memberships__user=user)


def role_in(user: AbstractBaseUser, study: Study) -> Membership.Role | None:
    if getattr(user, "is_superuser", False):
        return Role.OWNER
    membership = Membership.objects.filter(user=user, study=study).first()
    return Role(membership.role) if membership else None


def study_for(user: AbstractBaseUser | AnonymousUser, slug: str, least: Membership.Role = Role.VIEWER) -> Study:
    """The study, when the account's role in it is at least `least`.

    404 for an account that has no part in it, so that slugs can't be guessed; 403 for too small a role.
    """
    study = get_object_or_404(studies_of(user).select_related("current"), slug=slug)
    role = role_in(user, study)
    if role is None or RANK[role] < RANK[least]:
        raise PermissionDenied(f"This needs the role of {least.label.lower()} in the study.")
    return study
