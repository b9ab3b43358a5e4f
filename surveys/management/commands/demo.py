"""Make the demo studies, the demo log-in and, if asked, made-up people."""

import json

from django.core.management.base import BaseCommand, CommandError

from surveys.demo import STAGES, NotADemo, build_demo
from surveys.models import Participant


class Command(BaseCommand):
    help = "Make the two shipped studies and the demo log-in; running it again changes nothing."

    def add_arguments(self, parser) -> None:
        parser.add_argument(
            "--stage", choices=list(STAGES), default="empty", help="how far field-13 has come (empty: a draft)"
        )
        parser.add_argument("--seed", type=int, default=1, help="repeat the same made-up people")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args, **options) -> None:
        try:
            study = build_demo(options["stage"], options["seed"], self.show)
        except NotADemo as error:
            raise CommandError(str(error)) from None
        simulated = Participant.objects.filter(origin=Participant.Origin.SIMULATED).count()
        report = {"study": study.slug, "state": study.state, "stage": options["stage"], "simulated": simulated}
        line = "{study}: {state}; {simulated} simulated people in all studies"
        self.stdout.write(json.dumps(report) if options["json"] else line.format(**report))

    def show(self, done: int, total: int) -> None:
        end = "\n" if done == total else ""
        self.stderr.write(f"\r{done} of {total} made-up people", ending=end)
        self.stderr.flush()
