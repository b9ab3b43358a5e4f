"""Hand revisions of doubted attributes back to the annotators of their study."""

from analysis.people.stages.judged import push_refined
from analysis.people.steps import PeopleError
from surveys.models import Study
from surveys.studies.imports.actions import Options, Report, StudyAction, pushing, say_closed


class Command(StudyAction):
    help = (
        "Make items of the revisions that `ask STUDY refine` brought, in the same study. All of them or none; those "
        "that are there already are left alone."
    )
    faults = (PeopleError,)
    words = (
        "{study}: {items:item} with {slots:slot} of {asked:attribute} asked about; "
        "{withdrawn:,} withdrawn, {unchanged:,} unchanged, {already_there:,} already there"
    )

    def carry_out(self, study: Study, options: Options) -> Report:
        with pushing(study):
            report = push_refined(study)
        say_closed(study, report["items"], "its revisions")
        return report
