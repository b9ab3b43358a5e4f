"""Make an account for the console, and let it own studies that are there already."""

import getpass
import json
import secrets
import sys

from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from surveys.imports.study_command import find_study
from surveys.models import Membership, Study
from surveys.studies.access import let_make_studies
from surveys.studies.members import MemberError, add_member, own_if_nobody_does


class Command(BaseCommand):
    help = (
        "Makes an account that can log in to the console. Its password is typed, or made and printed once. The first "
        "account owns the studies that nobody owns yet."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the account's name")
        parser.add_argument("--generate", action="store_true", help="make a password instead of asking for one")
        parser.add_argument("--study", action="append", default=[], metavar="SLUG", help="let it own this study too")
        parser.add_argument(
            "--makes-studies", action="store_true", help="let it make studies of its own, as the first account may"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(
        self, name: str, generate: bool, study: list[str], makes_studies: bool, json: bool, **options: object
    ) -> None:
        studies = [find_study(slug) for slug in study]
        if get_user_model().objects.filter(username=name).exists():
            raise CommandError(f"There is already an account called {name}. Choose another name.")
        password = secrets.token_urlsafe(15) if generate else ask_password(name)
        owned = make_owner(name, password, studies, makes_studies)
        self.stdout.write(describe(name, password if generate else None, owned, json))


def ask_password(name: str) -> str:
    if not sys.stdin.isatty():
        raise CommandError("A password can only be typed at a terminal. Add --generate to have one made.")
    password = getpass.getpass(f"Password of {name}: ")
    if password != getpass.getpass("Once more: "):
        raise CommandError("The two passwords differ. Nothing was made; please start again.")
    return password


def make_owner(name: str, password: str, studies: list[Study], makes_studies: bool) -> list[str]:
    """The account, and which studies it owns then."""
    accounts = get_user_model().objects
    account = get_user_model()(username=name)
    try:
        account.full_clean(exclude=["password"])
        validate_password(password, account)
        with transaction.atomic():
            is_first = not accounts.exists()
            account.set_password(password)
            account.save()
            if is_first or makes_studies:
                let_make_studies(account)
            for study in studies:
                add_member(study, account, Membership.Role.OWNER, "system")
            for study in Study.objects.order_by("pk") if is_first else ():
                own_if_nobody_does(study, account, "system")
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    except MemberError as error:
        raise CommandError(str(error)) from None
    return list(Study.objects.filter(memberships__user=account).order_by("pk").values_list("slug", flat=True))


def describe(name: str, password: str | None, studies: list[str], as_json: bool) -> str:
    if as_json:
        return json.dumps({"name": name, "password": password, "studies": studies})
    made = f"The account {name} is there" + (f" and owns {', '.join(studies)}." if studies else ".")
    return made if password is None else f"{made} Its password, shown only now: {password}"
