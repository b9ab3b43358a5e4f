"""Hand rejected attributes to annotators who say what is wrong with them."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.agreement.follow_ups.categories import record_categories
from analysis.people.stages.rejected import RULES, RejectedError, push_rejected
from surveys.imports.files import ImportFault
from surveys.imports.study_command import ACTOR, StudyCommand, find_study
from surveys.models import Study


class Command(StudyCommand):
    help = (
        "Make items of an error-category study (kind `error`) of the attributes that people rejected in an attribute "
        "study. All of them or none; those that are there already are left alone."
    )

    faults = (RejectedError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("into", help="where people or judges say what is wrong")
        parser.add_argument(
            "--rule",
            choices=list(RULES),
            default="majority",
            help="most people say that it does not make sense (default), one says so, or one says so or maybe",
        )
        parser.add_argument("--revised", action="store_true", help="also what models revised (`push_refined`)")
        parser.add_argument("--pilot", action="store_true", help="the pilots of both studies")

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        into = find_study(options["into"])
        which = {name: options[name] for name in ("pilot", "revised")}
        try:
            done = push_rejected(study, into, ACTOR, options["rule"], **which)
        except ImportFault as fault:
            raise CommandError(f"{into.slug}: nothing was added. Faults: {fault.count}\n{fault}") from None
        categories = 0 if options["pilot"] else record_categories(study, into)
        report = {
            "study": study.slug,
            "into": into.slug,
            "rule": options["rule"],
            **vars(done),
            "categories": categories,
        }
        words = "{into}: {items} items with {slots} slots from {study}, {skipped} already there"
        words += "; {categories} categories that models named" if categories else ""
        self.tell(options, report, words.format(**report))
