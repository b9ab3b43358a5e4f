"""Share a corpus, personas, examples, a model or a run with studies, and say whose it is."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError
from django.db import transaction

from analysis.endpoints.owners.sharing import KINDS, share
from analysis.models import Run
from surveys.studies.imports.actions import ACTOR, Action, Options, Report, arg, find_study


class Command(Action):
    help = (
        "Says whose something is that belongs to no study, and which studies may use it; with options changes both. "
        "What commands import belongs to the server, and no study sees it until it is shared."
    )
    arguments = (
        arg("kind", choices=list(KINDS)),
        arg("name", help="its name, or a run's number"),
        arg("--study", action="append", default=[], metavar="SLUG", help="share it with this study"),
        arg("--take-back", action="append", default=[], metavar="SLUG", help="take it back from this study"),
        arg("--owner", metavar="ACCOUNT", help="its new owner, who may change and share it; '' for none"),
    )

    def run(self, options: Options) -> Report:
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
        self.thing = str(thing)
        owner = thing.owner.get_username() if thing.owner else None
        return {"name": options["name"], "owner": owner, "studies": sorted(study.slug for study in wanted)}

    def tell(self, report: Report, options: Options) -> str:
        owner, studies = report["owner"] or "the server", ", ".join(report["studies"]) or "no study"
        return f"{self.thing} belongs to {owner}; shared with {studies}"


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
