"""Hand what people call relevant, with a generic and a personalised response, to annotators who say which is better."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.management.portions import add_portion_options, portion_of, say_portion
from analysis.people.stages.relevant import next_stage, push_relevant
from analysis.people.steps import PeopleError
from surveys.annotation.model_raters import RaterError, find_rater
from surveys.imports.files import ImportFault
from surveys.imports.study_command import StudyCommand, find_study
from surveys.models import Study


class Command(StudyCommand):
    help = (
        "Make items of a preference study of what most people in a relevance study call relevant, with the two "
        "responses of `ask STUDY respond`. All of them or none; those that are there already are left alone."
    )

    faults = (PeopleError, RaterError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--to", metavar="STUDY", help="where people say which response is better (default: `next` of its file)"
        )
        parser.add_argument(
            "--relevant-by", metavar="NAME", help="a trained model or a judge that says what is relevant, not people"
        )
        parser.add_argument("--pilot", action="store_true", help="for that study's pilot")
        add_portion_options(parser)

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        into = find_study(options["to"] or next_stage(study))
        try:
            by = find_rater(study, options["relevant_by"]) if options["relevant_by"] else None
            report = push_relevant(study, into, pilot=options["pilot"], by=by, portion=portion_of(options))
        except ImportFault as fault:
            raise CommandError(f"{into.slug}: nothing was added. Faults: {fault.count}\n{fault}") from None
        words = (
            "{to}: {items:,} items with {slots:,} slots of {relevant:,} relevant attributes in {pairs:,} pairs, "
            "{already_there:,} already there; {without_responses:,} lack a response"
        )
        self.tell(options, report, words.format(**report) + say_portion(report))
