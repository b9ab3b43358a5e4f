"""Make or update a study from its file."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from surveys.imports.study_command import ACTOR, UNNAMED, FileCommand
from surveys.models import Membership
from surveys.studies.files.definitions import StudyFileError, parse_study, read_study
from surveys.studies.lifecycle import StudyError, load_definition
from surveys.studies.members import find_account, own_if_nobody_does


class Command(FileCommand):
    help = "Load a study from a TOML file. A launched study changes only with --amend WHY."
    reads = {"file": ".toml"}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--amend", metavar="WHY", default="", help="why a launched study changes")
        parser.add_argument(
            "--owner", metavar="NAME", default="", help="who owns it where nobody does (the first account)"
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        path, account = options["file"], find_account(options["owner"])
        if options["owner"] and account is None:
            raise CommandError(f"There is no account {options['owner']}. `create_owner` makes one.")
        try:
            definition = parse_study(path.read_bytes()) if path.stem == UNNAMED else read_study(path)
            study, outcome = load_definition(definition, ACTOR, options["amend"])
        except StudyFileError as error:
            faults = "\n".join(f"{path}: {fault}" for fault in error.faults)
            raise CommandError(faults) from None
        except StudyError as error:
            raise CommandError(str(error)) from None
        own_if_nobody_does(study, account, ACTOR)
        owners = study.memberships.filter(role=Membership.Role.OWNER).order_by("pk")
        version = study.current
        report = {
            "study": study.slug,
            "outcome": outcome,
            "state": study.state,
            "version": version.number,
            "sha256": version.sha256,
            "prompts": version.prompts.filter(asks="").count(),
            "owners": list(owners.values_list("user__username", flat=True)),
        }
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            line = "{study}: {outcome}, {state}, version {version} ({sha256:.8}), {prompts} prompts; {owned}"
            nobody = "nobody owns it yet: `create_owner NAME` makes an account that does"
            owned = f"owned by {', '.join(report['owners'])}" if report["owners"] else nobody
            self.stdout.write(line.format(**report, owned=owned))
