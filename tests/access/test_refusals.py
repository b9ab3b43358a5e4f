"""Every console page refuses the role below the least that may, before it looks for anything; quick, beside the table.

What a role may do, the API, and others' ids stand in test_table.py, which takes two worlds.
"""

import pytest
from django.test import Client
from django.urls import reverse

from tests.access.table import BLINDED, MAKER, MORE, OWNER, RESEARCHER, TABLE, VIEWER
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
