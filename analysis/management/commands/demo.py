"""Make the demo studies, the demo log-in and, if asked, simulated people and scripted models' answers."""

import time

from analysis.management.demo import analyse, analyse_repeats, fill_people, give_to_demo, make_sources
from analysis.models import Completion
from analysis.people.steps import PeopleError
from surveys.models import Participant, Study
from surveys.simulation.demo import COMPARED, LARGE, STAGES, NotADemo, build_demo
from surveys.studies.imports.actions import IN_LOG, ON_TERMINAL, Action, Options, Report, arg


class Command(Action):
    help = "Make the shipped studies and the demo log-in; running it again changes nothing."
    arguments = (
        arg("--stage", choices=list(STAGES), default="empty", help="how far field-13 has come (empty: a draft)"),
        arg("--seed", type=int, default=1, help="repeat the same simulated people"),
    )
    faults = (NotADemo, PeopleError)
    words = (
        "{study}: {state}; {simulated:simulated person,simulated people} in all studies, "
        "{completions:scripted completion}"
    )
    shown = 0.0  # when the last line of progress was written

    def run(self, options: Options) -> Report:
        stage = options["stage"]
        study = build_demo(stage, options["seed"], self.show_people)
        large = Study.objects.select_related("current").get(slug=LARGE)
        make_sources(large)
        if stage in COMPARED:
            analyse(large, self.show_step)
            analyse_repeats(self.show_step)
        if stage == "people":
            fill_people(self.show_step)
        give_to_demo()
        return {"study": study.slug, "state": study.state, "stage": stage, **counts()}

    def show_people(self, done: int, total: int) -> None:
        self.show_line(f"{done} of {total} simulated people", is_last=done == total)

    def show_step(self, done: int, total: int, name: str) -> None:
        self.show_line(f"{done} of {total}: {name:<70}".rstrip(" :"), is_last=done == total)

    def show_line(self, words: str, is_last: bool) -> None:
        """Overwrite the last line on a terminal; elsewhere write a line now and then."""
        now, live = time.monotonic(), self.stderr.isatty()
        if not is_last and now - self.shown < (ON_TERMINAL if live else IN_LOG):
            return
        self.shown = now
        self.stderr.write(f"\r\x1b[K{words}" if live else words, ending="\n" if is_last or not live else "")
        self.stderr.flush()


def counts() -> Report:
    return {
        "simulated": Participant.objects.filter(origin=Participant.Origin.SIMULATED).count(),
        "completions": Completion.objects.filter(run__endpoint__provider="fake", status="done").count(),
    }
