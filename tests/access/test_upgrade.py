"""Things from before there were owners: they go to their makers and stay with the studies that use them."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from analysis.models import Corpus, PersonaSet, Run
from tests.lasting import database_before

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
BEFORE = [("analysis", "0016_uploads_are_kept_files"), ("surveys", "0011_light_writes")]


def test_things_go_to_their_makers_and_stay_with_the_studies_that_use_them() -> None:
    with database_before("before_owners", "analysis", "0016"):
        for app, name in BEFORE:
            call_command("migrate", app, name, verbosity=0)
        old = MigrationExecutor(connection).loader.project_state(BEFORE).apps
        make = {name: old.get_model("analysis", name).objects.create for name in ("Corpus", "PersonaSet", "Run")}
        study = old.get_model("surveys", "Study").objects.create
        note = old.get_model("surveys", "AuditEvent").objects.create
        ada = old.get_model("auth", "User").objects.create(username="ada")
        teas, herbs, cups = (study(slug=slug, title=slug) for slug in ("teas", "herbs", "cups"))
        version = old.get_model("surveys", "StudyVersion").objects.create(
            study=herbs, number=1, document={}, interface_sha256="0" * 64, sha256="0" * 64
        )
        brought, loaded, unused = (make["Corpus"](name=name, format="wildchat") for name in ("a", "b", "c"))
        make["PersonaSet"](name="people")
        chain = {"previous": "0" * 64, "sha256": "0" * 64, "actor": "ada", "number": 1}
        note(study=teas, at=brought.created_at, action="corpus uploaded", subject="a", **chain)
        endpoint = old.get_model("analysis", "Endpoint").objects.create(name="mini", model="mini")
        told = {"endpoint": endpoint, "created_by": "ada"}
        make["Run"](study=herbs, version=version, condition="sp-history", corpus=loaded, **told)
        asked = make["Run"](condition="task", instruction="extract-1", corpus=loaded, **told)
        note(study=cups, at=asked.created_at, action="baseline resumed", subject=f"run {asked.pk}", **chain)
        sums = make["Run"](condition="offline", benchmark="sums", endpoint=endpoint, created_by="command line")
        call_command("migrate", verbosity=0)

        def found(model: Any, **which: object) -> tuple[str | None, list[str]]:
            row = model.objects.get(**which)
            return row.owner and row.owner.username, sorted(study.slug for study in row.shared_with.all())

        assert found(Corpus, name="a") == ("ada", ["teas"])
        assert found(Corpus, name="b") == (None, ["herbs"])
        assert found(Corpus, pk=unused.pk) == found(PersonaSet, name="people") == (None, [])
        assert found(Run, pk=asked.pk) == ("ada", ["cups"])
        assert found(Run, pk=sums.pk) == (None, ["cups", "herbs", "teas"])
        allowed = get_user_model().objects.get(pk=ada.pk).user_permissions
        allowed = set(allowed.values_list("codename", flat=True))
        assert allowed == {"add_study", "add_invitation"}  # it is the first account
