"""How many of the project's own modules a request runs through, and how deep: `python -m benchmarks.hops [--names]`.

A module counts if a function written in its file is called during the request: a view, rule, model method, template
tag, property or lambda, or a generator that resumes. Code written elsewhere does not count (Django and other packages,
templates, `__init__` methods generated for dataclasses), nor do constants that are read. Nor does code run by imports:
every request is made once beforehand, so that all modules are loaded and what a process keeps is kept. Modules are
those below fieldstudy/, surveys/ and analysis/; a package counts as one if a function of its `__init__.py` runs.

Depth is the longest chain of modules that wait for each other: of the project's functions on the stack, from the
outermost to the innermost, one for the first and one more for each whose module differs from that of the function
before it. Frames of other packages between them are skipped, and a chain that returns to a module counts it again. A
decorator of the project is a step of its own; what follows an `await` starts a new chain, since the event loop calls
it, not the function that waits.

Only the thread that serves the request is watched, as a reader would follow it; --threads adds those it starts (a lane
prepares its calls in one).
"""

import argparse
import json
import os
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import django
from django.core.management import call_command

from benchmarks.server import services_folder
from fieldstudy.embedded import servers

FOLDERS = ("fieldstudy", "surveys", "analysis")
TEAS = ("Assam", "Sencha", "Rooibos", "Mate", "Oolong")
# Prepares a request and returns the call that makes it.
Request = Callable[[], Callable[[], Any]]


class Hops(NamedTuple):
    modules: list[str]
    chain: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="the modules and the longest chain too")
    parser.add_argument("--threads", action="store_true", help="what other threads do for the request too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with services_folder():
        os.environ |= {"FIELDSTUDY_FSYNC": "off", "DJANGO_SETTINGS_MODULE": "fieldstudy.settings"}
        servers.attach()
        django.setup()
        call_command("migrate", verbosity=0)
        found = {}
        for name, prepare in make_requests().items():
            prepare()()
            found[name] = count_hops(prepare(), options.threads)
        django.db.connection.close()
    if options.json:
        print(json.dumps({name: hops._asdict() for name, hops in found.items()}, indent=1))
    else:
        print("\n".join(describe(found, options.names)))


def describe(found: dict[str, Hops], names: bool) -> Iterator[str]:
    yield f"{'request':10} modules  deep"
    for name, hops in found.items():
        yield f"{name:10} {len(hops.modules):7} {len(hops.chain):5}"
        if names:
            yield f"  {' '.join(hops.modules)}"
            yield f"  deepest: {' > '.join(hops.chain)}"


def count_hops(request: Callable[[], Any], threads: bool = False) -> Hops:
    modules: set[str] = set()
    longest: list[str] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal longest
        if event == "call" and (module := module_of(frame.f_code)):
            modules.add(module)
            if len(chain := chain_of(frame)) > len(longest):
                longest = chain

    if threads:
        threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        request()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return Hops(sorted(modules), longest)


def chain_of(frame: FrameType | None) -> list[str]:
    """Return the project's modules of this frame and of those waiting for it, outermost first."""
    chain: list[str] = []
    while frame is not None:
        module = module_of(frame.f_code)
        if module and module not in chain[-1:]:
            chain.append(module)
        frame = frame.f_back
    return chain[::-1]


def module_of(code: CodeType) -> str:
    """Return the project's module that this code is written in; "" for other code and for a module's own top level."""
    return "" if code.co_name == "<module>" else module_at(code.co_filename)


@cache
def module_at(file: str) -> str:
    path = Path(file)
    parts = path.relative_to(servers.ROOT).with_suffix("").parts if path.is_relative_to(servers.ROOT) else ()
    return ".".join(parts).removesuffix(".__init__") if parts and parts[0] in FOLDERS else ""


def make_requests() -> dict[str, Request]:
    """Return the requests by name, on studies that test factories make by the rules."""
    from django.core.cache import cache as pages  # imports that need Django set up
    from django.test import Client
    from django.urls import reverse

    from analysis.models import MetricValue
    from analysis.runs.lanes.lanes import run_lane
    from analysis.runs.lanes.runs import start
    from surveys.participation.steps import address
    from tests import factories
    from tests.analysis.report.compare_samples import make_compared
    from tests.analysis.runs.servers import make_fake, make_planned
    from tests.surveys.annotation import page_forms

    study, labelling = make_compared(), factories.make_annotation_study(slug="labelling")
    factories.make_items(labelling)
    visitor, researcher = Client(SERVER_NAME="localhost"), Client(SERVER_NAME="localhost")
    researcher.force_login(factories.make_account("researcher", study, "researcher"))
    numbers = count()

    def sent(response: Any) -> None:
        assert response.status_code in (200, 302), response.status_code

    def paste() -> Callable[[], Any]:
        """Paste a list of five that nobody has pasted before, from a page that was shown."""
        person = factories.make_participant(study)
        text = "\n".join(f"{place}. {tea}, for day {person.pk}." for place, tea in enumerate(TEAS, 1))
        number = person.order.index("teas")
        if number:
            factories.make_response(person, 0)
        page = address(person, "prompt", number + 1)
        sent(visitor.get(page))
        return lambda: sent(visitor.post(page, {"text": text, "key": str(uuid.uuid4())}))

    def label() -> Callable[[], Any]:
        """Label one item, with the form as it is on the page."""
        shown = page_forms.open_work(visitor, factories.make_annotator(labelling))
        page, form = page_forms.path_of(shown), page_forms.read(shown).form
        fields = form.fields | page_forms.CHOSEN["relevance"]
        return lambda: sent(visitor.post(form.data.get("action") or page, fields))

    def monitor() -> Callable[[], Any]:
        return lambda: sent(researcher.get(reverse("console:monitor", args=[study.slug])))

    def compare() -> Callable[[], Any]:
        """Open the page on how varied answers are, with no part of the report kept."""
        pages.clear()
        MetricValue.objects.all().delete()
        return lambda: sent(researcher.get(reverse("compare:page", args=[study.slug, "heterogeneity"])))

    def lane() -> Callable[[], Any]:
        """Send ten calls of a run to an endpoint that answers by itself."""
        run = start(make_planned(study, make_fake(name=f"hops-{next(numbers)}")))
        return lambda: run_lane(run.pk)

    return {"paste": paste, "label": label, "monitor": monitor, "compare": compare, "lane": lane}


if __name__ == "__main__":
    main()
