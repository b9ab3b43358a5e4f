"""Every page and API address refuses the role below the least one allowed; the quick companion of the table.

Pages refuse before they look anything up. What a role may do, and others' ids, are tested in test_table.py, which
takes two worlds.
"""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from analysis.models import Run
from surveys.models import Study
from tests.access.table import BLINDED, MAKER, MORE, OWNER, RESEARCHER, RUN, TABLE, VIEWER
from tests.access.worlds import program_of
from tests.analysis.runs.run_samples import make_running
from tests.factories import make_study
from tests.roles import as_account, make_roles

BELOW = {
    BLINDED: ("stranger", 404),
    VIEWER: ("blinded", 403),
    RESEARCHER: ("viewer", 403),
    MAKER: ("viewer", 403),
    OWNER: ("researcher", 403),
}


@pytest.mark.django_db
def test_too_small_a_role_is_refused_on_every_page() -> None:
    make_roles(make_study("draft"))
    clients: dict[str, Client] = {name: as_account(name) for name, _ in BELOW.values()}
    by_person = {name for name, row in MORE if BLINDED in row.may.values()}  # refused once the person is known
    wrong, tried = {}, 0
    for name, row in TABLE.items():
        if name.startswith("api:") or name in by_person:
            continue
        address = reverse(name, kwargs=dict.fromkeys(row.ids, 1) | row.rest | {"slug": "teas"}) + row.query
        for method, least in row.may.items():
            account, refused = BELOW[least]
            status = getattr(clients[account], method.lower())(address).status_code
            tried += 1
            if status != refused:
                wrong[name, method, account] = status
    assert not wrong and tried > 100


@pytest.fixture
def draft(db: None) -> Iterator[Study]:
    """A draft with an account of each role, whose API clients are cached for as long as it lasts."""
    study = make_study("draft")
    make_roles(study)
    program_of.cache_clear()
    yield study
    program_of.cache_clear()


def test_programs_are_refused_at_every_address_of_the_api(draft: Study) -> None:
    run, wrong, tried = make_running(draft), {}, 0
    for name, row in TABLE.items():
        if not name.startswith("api:"):
            continue
        of_run = row.ids == RUN["ids"]  # named by its number alone
        given = dict.fromkeys(row.ids, run.pk) | row.rest | ({} if of_run else {"slug": "teas"})
        for method, least in row.may.items():
            account, refused = BELOW[least]
            for who, status in (("nobody", 401), ("stranger", 404), (account, refused)):
                client = Client() if who == "nobody" else program_of(who)
                found = getattr(client, method.lower())(reverse(name, kwargs=given), content_type="application/json")
                tried += 1
                if found.status_code != status:
                    wrong[name, method, who] = found.status_code
    run.refresh_from_db()
    assert not wrong and tried > 75 and (run.state, Run.objects.count()) == ("running", 1)


def test_viewers_read_runs_by_token(draft: Study) -> None:
    for name, of in (("runs", "teas"), ("completions", "teas"), ("run", make_running(draft).pk)):
        assert program_of("viewer").get(reverse(f"api:{name}", args=[of])).status_code == 200
