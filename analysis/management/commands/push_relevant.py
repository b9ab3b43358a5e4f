"""Hand what people call relevant, with a generic and a personalised response, to annotators who say which is better."""

from analysis.management.corpus_action import PORTION, portion_of, say_portion
from analysis.people.stages.relevant import next_stage, push_relevant
from analysis.people.steps import PeopleError
from surveys.models import Study
from surveys.studies.imports.actions import Options, Report, StudyAction, arg, find_study, flag, pushing
from surveys.studies.labels import RaterError, find_rater


class Command(StudyAction):
    help = (
        "Make items of a preference study of what most people in a relevance study call relevant, with the two "
        "responses of `ask STUDY respond`. All of them or none; those that are there already are left alone."
    )
    arguments = (
        arg(
            "--to",
            metavar="STUDY",
            help="the study in which people say which response is better (default: `next` of the file)",
        ),
        arg(
            "--relevant-by",
            metavar="NAME",
            help="a trained model or a judge that decides what is relevant, instead of people",
        ),
        flag("--pilot", "for that study's pilot"),
        *PORTION,
    )
    faults = (PeopleError, RaterError)
    words = (
        "{to}: {items:item} with {slots:slot} of {relevant:relevant attribute} in {pairs:pair}, "
        "{already_there:,} already there; {without_responses:,} without a response"
    )

    def carry_out(self, study: Study, options: Options) -> Report:
        into = find_study(options["to"] or next_stage(study))
        by = find_rater(study, options["relevant_by"]) if options["relevant_by"] else None
        with pushing(into):
            return push_relevant(study, into, pilot=options["pilot"], by=by, portion=portion_of(options))

    def tell(self, report: Report, options: Options) -> str:
        return super().tell(report, options) + say_portion(report)
