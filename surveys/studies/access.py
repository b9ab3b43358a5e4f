"""Access: signed participant links, roles of accounts, rate limits."""

import hashlib
import hmac
import secrets
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache

import redis
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AbstractUser, AnonymousUser, Permission
from django.core.exceptions import PermissionDenied
from django.core.signing import BadSignature, Signer
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.crypto import constant_time_compare

from surveys.models import Membership, Participant, Study

Role = Membership.Role
MAKE_STUDIES = "surveys.add_study"  # Django's own permission
# Blinded ranks below viewer, so that blinded members are refused everything that is not expressly open to them.
RANK = {Role.BLINDED: 0, Role.VIEWER: 1, Role.RESEARCHER: 2, Role.OWNER: 3}
BLINDED = (
    "You are blinded in this study: you see how it goes, the pilot and simulated people, and no comparison "
    "until an owner lifts the blinding."
)
# No vowels, so that a pseudonym never spells a word; no 0/O, 1/l.
ALPHABET = "23456789bcdfghjkmnpqrstvwxz"


def make_pseudonym() -> str:
    """A random name of 12 characters (57 bits) that says nothing about the person."""
    return "".join(secrets.choice(ALPHABET) for _ in range(12))


# Whether this request has a known PID without proof of it: its sender may go on with unfinished work, but neither see
# nor erase earlier answers. Links made during the request have the same limits.
_UNPROVEN: ContextVar[bool] = ContextVar("unproven", default=False)


@contextmanager
def unproven(is_unproven: bool) -> Iterator[None]:
    before = _UNPROVEN.set(is_unproven)
    try:
        yield
    finally:
        _UNPROVEN.reset(before)


def is_unproven() -> bool:
    return _UNPROVEN.get()


def _signer(study_slug: str, without_proof: bool) -> Signer:
    return Signer(salt=f"{'unproven' if without_proof else 'participant'}/{study_slug}", sep="~")


def sign_link(study_slug: str, pseudonym: str) -> str:
    """The token of a participant's link, which works without cookies and on any device."""
    return _signed(settings.SECRET_KEY, study_slug, pseudonym, is_unproven())


@lru_cache(maxsize=4096)
def _signed(key: str, study_slug: str, pseudonym: str, without_proof: bool) -> str:
    """Cached, since each page reads and writes the same link several times."""
    return _signer(study_slug, without_proof).sign(pseudonym)


def read_link(study_slug: str, token: str) -> tuple[str, bool]:
    """The pseudonym in a token, and whether it lacks proof; raises Http404 if we did not sign it for this study."""
    named = token.rpartition("~")[0]
    if constant_time_compare(token, _signed(settings.SECRET_KEY, study_slug, named, False)):
        return named, False
    for without_proof in (False, True):
        try:
            return _signer(study_slug, without_proof).unsign(token), without_proof
        except BadSignature:
            continue
    raise Http404("This link is not complete.")


def studies_of(user: AbstractBaseUser | AnonymousUser, least: Membership.Role = Role.VIEWER) -> QuerySet[Study]:
    """The studies in which an account has at least this role; all of them for a superuser.

    A blinded member counts as a viewer once an owner has lifted the blinding.
    """
    if not user.is_authenticated:
        return Study.objects.none()
    if getattr(user, "is_superuser", False):
        return Study.objects.all()
    has_role = Q(memberships__role__in=[role for role in Role if RANK[role] >= RANK[least]])
    if least == Role.VIEWER:
        has_role |= Q(memberships__role=Role.BLINDED, unblinded_at__isnull=False)
    return Study.objects.filter(has_role, memberships__user=user)


def may_make_studies(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether the account may make studies, and so own them and spend money on the server's endpoints."""
    return getattr(user, "has_perm", lambda name: False)(MAKE_STUDIES)


def let_make_studies(user: AbstractUser) -> None:
    app, name = MAKE_STUDIES.split(".")
    user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=name))


def role_in(user: AbstractBaseUser, study: Study) -> Membership.Role | None:
    if getattr(user, "is_superuser", False):
        return Role.OWNER
    membership = Membership.objects.filter(user=user, study=study).first()
    if membership and membership.role == Role.BLINDED and study.unblinded_at:
        return Role.VIEWER
    return Role(membership.role) if membership else None


def study_and_role(
    user: AbstractBaseUser | AnonymousUser, slug: str, least: Membership.Role = Role.VIEWER
) -> tuple[Study, Membership.Role]:
    """The study and the account's role in it, if that is at least `least`.

    Raises Http404 if the account has no part in it, so that slugs can't be guessed; PermissionDenied for a lesser role.
    """
    study = get_object_or_404(studies_of(user, Role.BLINDED).select_related("current"), slug=slug)
    role = role_in(user, study)
    if role == Role.BLINDED and least == Role.VIEWER:
        raise PermissionDenied(BLINDED)
    if role is None or RANK[role] < RANK[least]:
        raise PermissionDenied(f"This needs the role of {least.label.lower()} in the study.")
    return study, role


def study_for(user: AbstractBaseUser | AnonymousUser, slug: str, least: Membership.Role = Role.VIEWER) -> Study:
    """The study alone, by the same rules as `study_and_role`."""
    return study_and_role(user, slug, least)[0]


def may_see_answers(role: Role, participant: Participant) -> bool:
    """Whether a role may see a person's answers; blinded members see only pilot, preview and simulated people's."""
    made_up = participant.origin in (Participant.Origin.SIMULATED, Participant.Origin.PREVIEW)
    return role != Role.BLINDED or participant.pilot or made_up


# --- rate limits; addresses and names are stored only as keyed hashes --------

HOUR = 3600
# A university or a mobile network sends many honest people through one address.
OWN = ("127.0.0.1", "::1")  # a rehearsal on one's own computer
LIMITS = {"entry": 600, "consent": 300, "login": 20, "webhook": 6000, "draft": 6000, "trial": 60, "notice": 20}
TRIES, PAUSE = 10, 900  # log-ins tried with one name, from all addresses, within so many seconds


@lru_cache(maxsize=1)
def connection() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)


def client_address(request: HttpRequest) -> str:
    """The address that our outermost proxy saw; entries that clients add to the header themselves are ignored."""
    hops = [hop.strip() for hop in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if hop.strip()]
    if settings.PROXIES and len(hops) >= settings.PROXIES:
        return hops[-settings.PROXIES]
    return request.META.get("REMOTE_ADDR", "")


def within_limit(request: HttpRequest, action: str) -> bool:
    """Count one try; False if this address has used up its share for this hour. Without Valkey nobody is refused."""
    return is_own(request) or _count(_key(action, HOUR, client_address(request)), LIMITS[action], HOUR)


def may_try(request: HttpRequest, name: str) -> bool:
    """Count one try to log in with this name; False while the name pauses, even for the right password."""
    return is_own(request) or _count(_key("account", PAUSE, _plain(name)), TRIES, PAUSE)


def forget_tries(name: str) -> None:
    """Reset the count of a name after a successful log-in."""
    with suppress(redis.RedisError):
        connection().delete(_key("account", PAUSE, _plain(name)))


def is_own(request: HttpRequest) -> bool:
    return settings.DEBUG and client_address(request) in OWN


def _plain(name: str) -> str:
    """One form for all ways to write a name."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def _key(action: str, seconds: int, who: str) -> str:
    """The key of a count: a keyed hash of the action, its author and the current period of `seconds`."""
    counted = f"{action} {int(time.time() // seconds)} {who}".encode()
    return "limit:" + hmac.new(settings.SECRET_KEY.encode(), counted, hashlib.sha256).hexdigest()[:32]


def _count(key: str, limit: int, seconds: int) -> bool:
    if not settings.LIMIT_FACTOR:
        return True
    try:
        pipe = connection().pipeline(transaction=False)
        pipe.incr(key)
        pipe.expire(key, seconds - int(time.time() % seconds))
        return pipe.execute()[0] <= limit * settings.LIMIT_FACTOR
    except redis.RedisError:
        return True
