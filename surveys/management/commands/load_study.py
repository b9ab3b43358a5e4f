"""Make or update a study from its file."""

from pathlib import Path

from django.core.management.base import CommandError

from surveys.models import Membership, asked_of_all
from surveys.studies.files.definitions import StudyFileError, read_study
from surveys.studies.imports.actions import ACTOR, UNNAMED, Action, Options, Report, arg
from surveys.studies.lifecycle import StudyError, definition_of, load_definition
from surveys.studies.members import find_account, misfits_here, own_if_nobody_does
from surveys.studies.wording import fill

NOBODY = "nobody owns it yet: `create_owner NAME` makes an account that does"


class Command(Action):
    help = "Load a study from a TOML file. A launched study changes only with --amend WHY."
    arguments = (
        arg("file", type=Path),
        arg("--amend", metavar="WHY", default="", help="why a launched study changes"),
        arg(
            "--owner", metavar="NAME", default="", help="the owner of a study without one (default: the first account)"
        ),
    )
    reads = {"file": ".toml"}  # noqa: RUF012
    faults = (StudyError,)
    words = "{study}: {outcome}, {state}, version {version} ({sha256:.8}), {prompts:prompt}; {owned}"

    def run(self, options: Options) -> Report:
        path, account = options["file"], find_account(options["owner"])
        if options["owner"] and account is None:
            raise CommandError(f"There is no account {options['owner']}. `create_owner` makes one.")
        try:
            definition = read_study(path, misfits_here, named=path.stem != UNNAMED)
            study, outcome = load_definition(definition, ACTOR, options["amend"])
        except StudyFileError as error:
            raise CommandError("\n".join(f"{path}: {fault}" for fault in error.faults)) from None
        own_if_nobody_does(study, account, ACTOR)
        owners = study.memberships.filter(role=Membership.Role.OWNER).order_by("pk")
        version = study.current
        return {
            "study": study.slug,
            "outcome": outcome,
            "state": study.state,
            "version": version.number,
            "sha256": version.sha256,
            "prompts": version.prompts.filter(asked_of_all()).count(),
            "benchmark": definition_of(version.pk).benchmark_width,
            "owners": list(owners.values_list("user__username", flat=True)),
        }

    def tell(self, report: Report, options: Options) -> str:
        owned = f"owned by {', '.join(report['owners'])}" if report["owners"] else NOBODY
        return "\n".join(filter(None, (fill(self.words, **report, owned=owned), report["benchmark"])))
