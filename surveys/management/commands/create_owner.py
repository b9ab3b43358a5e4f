"""Make an account for the console, and let it own studies that exist already."""

import getpass
import secrets
import sys

from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import transaction

from surveys.models import Membership, Study
from surveys.studies.access import let_make_studies
from surveys.studies.imports.actions import Action, Options, Report, arg, find_study, flag
from surveys.studies.members import MemberError, add_member, let_invite, own_if_nobody_does


class Command(Action):
    help = (
        "Makes an account that can log in to the console. Its password is typed, or made and printed once. The first "
        "account owns the studies that nobody owns yet."
    )
    arguments = (
        arg("name", help="the account's name"),
        flag("--generate", "make a password instead of asking for one"),
        arg("--study", action="append", default=[], metavar="SLUG", help="let it own this study too"),
        flag("--makes-studies", "let it make studies of its own, as the first account may"),
    )
    faults = (MemberError,)

    def run(self, options: Options) -> Report:
        name, studies = options["name"], [find_study(slug) for slug in options["study"]]
        if get_user_model().objects.filter(username=name).exists():
            raise CommandError(f"There is already an account called {name}. Choose another name.")
        password = secrets.token_urlsafe(15) if options["generate"] else ask_password(name)
        owned = make_owner(name, password, studies, options["makes_studies"])
        return {"name": name, "password": password if options["generate"] else None, "studies": owned}

    def tell(self, report: Report, options: Options) -> str:
        owns = f" and owns {', '.join(report['studies'])}" if report["studies"] else ""
        shown = f" Its password, shown only now: {report['password']}" if report["password"] else ""
        return f"The account {report['name']} is there{owns}.{shown}"


def ask_password(name: str) -> str:
    if not sys.stdin.isatty():
        raise CommandError("A password can only be typed at a terminal. Add --generate to have one made.")
    password = getpass.getpass(f"Password of {name}: ")
    if password != getpass.getpass("Once more: "):
        raise CommandError("The two passwords differ. Nothing was made; please start again.")
    return password


def make_owner(name: str, password: str, studies: list[Study], makes_studies: bool) -> list[str]:
    """Make the account; return the slugs of the studies that it owns then."""
    accounts = get_user_model().objects
    account = get_user_model()(username=name)
    try:
        account.full_clean(exclude=["password"])
        validate_password(password, account)
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    with transaction.atomic():
        is_first = not accounts.exists()
        account.set_password(password)
        account.save()
        if is_first or makes_studies:
            let_make_studies(account)
        if is_first:
            let_invite(account)
        for study in studies:
            add_member(study, account, Membership.Role.OWNER, "system")
        for study in Study.objects.order_by("pk") if is_first else ():
            own_if_nobody_does(study, account, "system")
    return list(Study.objects.filter(memberships__user=account).order_by("pk").values_list("slug", flat=True))
