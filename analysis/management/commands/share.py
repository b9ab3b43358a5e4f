"""Share a corpus, personas, examples, a model or a run with studies, and say whose it is."""

import json
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from analysis.models import Run
from analysis.owners.sharing import KINDS, share
from surveys.imports.study_command import ACTOR, find_study


class Command(BaseCommand):
    help = (
        "Says whose something is that belongs to no study, and which studies may use it; with options changes both. "
        "What commands import belongs to the server, and no study sees it until it is shared."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=list(KINDS))
        parser.add_argument("name", help="its name; of a run its number")
        parser.add_argument("--study", action="append", default=[], metavar="SLUG", help="share it with this study")
        parser.add_argument("--take-back", action="append", default=[], metavar="SLUG", help="from this study")
        parser.add_argument("--owner", metavar="ACCOUNT", help="who may change and share it from now on; '' is nobody")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        thing = find_thing(options["kind"], options["name"])
        studies = set(thing.shared_with.all())
        wanted = studies | {find_study(slug) for slug in options["study"]}
        wanted -= {find_study(slug) for slug in options["take_back"]}
        with transaction.atomic():
            if options["owner"] is not None:
                thing.owner = find_account(options["owner"])
                thing.save(update_fields=["owner"])
            if wanted != studies:
                share(thing, wanted, ACTOR)
        owner = thing.owner.get_username() if thing.owner else None
        told = {"name": options["name"], "owner": owner, "studies": sorted(study.slug for study in wanted)}
        words = f"{thing} belongs to {owner or 'the server'}; shared with {', '.join(told['studies']) or 'no study'}"
        self.stdout.write(json.dumps(told) if options["json"] else words)


def find_thing(kind: str, name: str) -> Any:
    model = KINDS[kind]
    if model is Run:
        found = Run.objects.filter(pk=int(name)).first() if name.isdecimal() and len(name) < 19 else None
    else:
        found = model.objects.filter(name=name).first()
    if found is None:
        raise CommandError(f"There is no {kind} {name!r}.")
    if getattr(found, "study", None):
        raise CommandError(f"{kind} {name} belongs to the study {found.study.slug}, whose members see it.")
    return found


def find_account(name: str) -> Any:
    found = get_user_model().objects.filter(username=name).first()
    if name and found is None:
        raise CommandError(f"There is no account {name}. `create_owner` makes one.")
    return found
