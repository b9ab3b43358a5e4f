"""Who works on a study: its first owner, the others and their roles. Every change is written down."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from surveys.models import Membership, Place, Study
from surveys.studies import audit
from surveys.studies.access import studies_of
from surveys.studies.files.definitions import Definition
from surveys.studies.lifecycle import StudyError, definition_of, load_definition, lock_study

Role = Membership.Role


class MemberError(Exception):
    """A change that would leave a study without an owner, or that names nobody; the message says so."""


def create_study(definition: Definition, owner: AbstractBaseUser) -> Study:
    """A new study whose file this account brought; StudyError when its slug is taken."""
    refuse_foreign_people(definition, owner)
    taken = StudyError(f"There is already a study called `{definition.slug}`. Choose another slug.")
    if Study.objects.filter(slug=definition.slug).exists():
        raise taken
    with transaction.atomic():
        study, outcome = load_definition(definition, owner.get_username())
        # Two people may bring the same slug at the same moment: the second one's changes are undone here.
        if outcome != "created":
            raise taken
        add_member(study, owner, Role.OWNER, owner.get_username())
        return study


def refuse_foreign_people(definition: Definition, account: AbstractBaseUser, known: str = "") -> None:
    """Raise StudyError where the file invites people of a study in which the account is no researcher.

    Whom that study's gate kept would show in who is let in. `known`: whom the file invited before.
    """
    source = definition.annotation.invited_from if definition.annotation else ""
    if source in ("", known, definition.slug) or studies_of(account, Role.RESEARCHER).filter(slug=source).exists():
        return
    raise StudyError(
        f"`invited_from` names `{source}`, and you are a researcher of no study of that name. Make it first, or let "
        "somebody load this file who is."
    )


def find_account(name: str) -> AbstractBaseUser | None:
    """The account of this name; without a name the first that was made, as long as it may log in."""
    accounts = get_user_model().objects.filter(is_active=True)
    return accounts.filter(username=name).first() if name else accounts.order_by("pk").first()


def own_if_nobody_does(study: Study, account: AbstractBaseUser | None, actor: str) -> bool:
    """Let the account own a study that has no owner, so that somebody sees it; whether it does now."""
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
        lock_members(membership.study)
        if role != Role.OWNER:
            keep_an_owner(membership)
        before = membership.role
        Membership.objects.filter(pk=membership.pk).update(role=role)
        name = membership.user.get_username()
        audit.record(membership.study, actor, "role changed", name, before=before, role=role)


def remove_member(membership: Membership, actor: str) -> None:
    with transaction.atomic():
        lock_members(membership.study)
        keep_an_owner(membership)
        membership.delete()
        audit.record(membership.study, actor, "member removed", membership.user.get_username(), role=membership.role)


def lock_members(study: Study) -> None:
    # One change of members at a time: two owners can't remove each other at once.
    Study.objects.select_for_update().get(pk=study.pk)


def keep_an_owner(membership: Membership) -> None:
    others = Membership.objects.filter(study=membership.study, role=Role.OWNER).exclude(pk=membership.pk)
    if membership.role == Role.OWNER and not others.exists():
        raise MemberError("A study needs an owner. Make somebody else an owner first.")


# --- blinding -----------------------------------------------------------------


def lift_blinding(study: Study, actor: str) -> None:
    """Blinded members are viewers from here on. It cannot be taken back: nobody forgets a number."""
    with transaction.atomic():
        study = lock_study(study)
        if why := why_blinded(study):
            raise StudyError(why)
        study.unblinded_at = timezone.now()
        study.save(update_fields=["unblinded_at"])
        names = study.memberships.filter(role=Role.BLINDED).order_by("user__username")
        audit.record(study, actor, "blinding lifted", members=list(names.values_list("user__username", flat=True)))


def why_blinded(study: Study) -> str:
    """Why blinding cannot be lifted yet, in a sentence.

    With hypotheses their plan must be frozen and at its end: all places filled, or the study closed.
    """
    if study.unblinded_at:
        return "The blinding was lifted before."
    if not study.current_id or not definition_of(study.current_id).hypotheses:
        return ""
    if not study.is_launched:
        return "The plan is not frozen yet. Launch the study first."
    places = Place.objects.filter(cell__study=study)
    n, filled = places.count(), places.filter(confirmed_at__isnull=False).count()
    if filled < n and study.state != Study.State.CLOSED:
        return f"{filled:,} of {n:,} places are filled. The plan ends when all are, or when the study is closed."
    return ""
