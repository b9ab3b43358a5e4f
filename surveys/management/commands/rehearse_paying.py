"""A rehearsal of paying: a small study of simulated people, and the mock Prolific's books about them."""

from dataclasses import replace
from pathlib import Path

from django.conf import settings
from django.db import transaction

from surveys.models import Membership, Session, Study
from surveys.prolific.mock.server import Books
from surveys.simulation.demo import ACTOR, FILES, NotADemo, demo_user, open_study, take_part
from surveys.simulation.people import make_people
from surveys.studies import lifecycle
from surveys.studies.files.definitions import Definition, read_study
from surveys.studies.imports.actions import Action, Options, Report, arg

SLUG = "paying"
PROLIFIC_STUDY = "5f000000000000000000de31"
PEOPLE = 24
STRANGER = "5f00000000000000000000ff"


class Command(Action):
    help = "Make a small study of simulated people and the books of a mock Prolific about them."
    arguments = (arg("--books", type=Path, required=True, help="the file in which the mock keeps its books"),)
    faults = (NotADemo,)
    words = "{study}: {state}"

    def run(self, options: Options) -> Report:
        study = rehearse_paying(options["books"])
        return {"study": study.slug, "state": study.state}


def rehearse_paying(path: Path) -> Study:
    """Make the study `paying`, live and owned by the demo account; doing it again changes nothing.

    Most people wait to be paid. Others have another code, returned or timed out after completing, returned on Prolific
    only, were approved with a bonus that is in no ledger, or said no.
    """
    if not settings.DEBUG:
        raise NotADemo("A rehearsal pays simulated people. It runs with DEBUG=true only.")
    if not Study.objects.filter(slug=SLUG).exists():
        make_paying_study()
    study = Study.objects.select_related("current").get(slug=SLUG)
    if not path.exists():
        write_books(study, lifecycle.definition_of(study.current_id), Books(path=path))
    return study


def make_paying_study() -> None:
    with transaction.atomic():
        shipped = read_study(FILES / "demo.toml")
        title = "Paying people: a rehearsal"
        definition = replace(shipped, slug=SLUG, title=title, prolific_study_ids=(PROLIFIC_STUDY,))
        study, _ = lifecycle.load_definition(definition, ACTOR)
        Membership.objects.create(study=study, user=demo_user(), role=Membership.Role.OWNER)
        study = open_study(SLUG)
        for number, person in enumerate(make_people(definition, PEOPLE, faults=False, seed=1)):
            take_part(study, definition, person, finishes=number > 0)


def write_books(study: Study, definition: Definition, books: Books) -> None:
    books.add_study(PROLIFIC_STUDY, definition.pay.cents, name=study.title, currency_code=definition.pay.currency)
    sessions = Session.objects.filter(study=study).order_by("pk").select_related("participant")
    names = [session.session_id for session in sessions]
    for session in sessions:
        began = session.participant.consented_at.isoformat()
        books.add_submission(session.session_id, PROLIFIC_STUDY, session.participant.pid, started_at=began)
        if session.participant.code:
            books.complete(session.session_id, session.participant.code)
    books.submissions[names[1]].entered_code = "DEMODONE"
    books.approve(names[2:5])
    books.submissions[names[2]].bonuses.append(50)
    for name in (names[0], names[5]):
        books.give_back(name)
    books.submissions[names[6]].status = "TIMED-OUT"
    books.add_submission(STRANGER, PROLIFIC_STUDY, "f" * 24)
    books.complete(STRANGER, definition.codes["no_consent"])
    books.save()
