"""Hand rejected attributes to annotators who say what is wrong with them."""

from analysis.agreement.follow_ups.doubted import record_categories
from analysis.people.stages.judged import RULES, push_rejected
from analysis.people.steps import PeopleError
from surveys.models import Study
from surveys.studies.imports.actions import ACTOR, Options, Report, StudyAction, arg, find_study, flag, pushing
from surveys.studies.wording import fill


class Command(StudyAction):
    help = (
        "Make items of an error-category study (kind `error`) of the attributes that people rejected in an attribute "
        "study. All of them or none; those that are there already are left alone."
    )
    arguments = (
        arg("into", help="the study in which people or judges say what is wrong"),
        arg(
            "--rule",
            choices=list(RULES),
            default="majority",
            help="most people say that it does not make sense (default), one says so, or one says so or maybe",
        ),
        flag("--revised", "also what models revised (`push_refined`)"),
        flag("--pilot", "the pilots of both studies"),
    )
    faults = (PeopleError,)

    def carry_out(self, study: Study, options: Options) -> Report:
        into, rule = find_study(options["into"]), options["rule"]
        with pushing(into):
            done = push_rejected(study, into, ACTOR, rule, pilot=options["pilot"], revised=options["revised"])
        categories = 0 if options["pilot"] else record_categories(study, into)
        return {"study": study.slug, "into": into.slug, "rule": rule, **vars(done), "categories": categories}

    def tell(self, report: Report, options: Options) -> str:
        words = "{into}: {items:item} with {slots:slot} from {study}, {skipped} already there"
        named = "; {categories:category,categories} that models named" if report["categories"] else ""
        return fill(words + named, **report)
