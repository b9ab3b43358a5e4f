"""Make the demo studies and the demo log-in."""

import json

from django.core.management.base import BaseCommand, CommandError

from surveys.demo import NotADemo, build_demo


class Command(BaseCommand):
    help = "Make the two shipped studies and the demo log-in; running it again changes nothing."

    def add_arguments(self, parser) -> None:
        parser.add_argument("--json", action="store_true")

    def handle(self, *args, **options) -> None:
        try:
            study = build_demo()
        except NotADemo as error:
            raise CommandError(str(error)) from None
        report = {"study": study.slug, "state": study.state, "version": study.current.number}
        self.stdout.write(json.dumps(report) if options["json"] else "{study}: {state}".format(**report))
