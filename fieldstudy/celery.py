"""The Celery application: `celery -A fieldstudy worker`."""

import os
from contextlib import suppress
from logging.config import dictConfig
from typing import Any

from celery import Celery
from celery.signals import after_setup_logger, beat_init, worker_init
from django.conf import settings
from django.db import OperationalError, connection

from fieldstudy.embedded import schema, servers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fieldstudy.settings")
if not settings.configured:  # imported by the celery command itself; any other process has attached already
    servers.attach(by_hand=False)

app = Celery("fieldstudy")
app.config_from_object("django.conf:settings", namespace="CELERY")
# Some tasks stand beside the rule they call, and keep the names that queued orders use.
app.conf.imports = (
    "surveys.participation.places",
    "surveys.prolific.tasks",
    "surveys.simulation.run",
    "analysis.answers.readings",
    "analysis.notices.tasks",
    "analysis.people.tasks",
    "analysis.plans.kept",
    "analysis.report.tasks",
    "analysis.runs.tasks",
    "analysis.training.jobs",
)


@after_setup_logger.connect
def log_as_everywhere(**given: Any) -> None:
    """Restore our settings of logging, which Celery replaces by its own."""
    dictConfig(settings.LOGGING)


@beat_init.connect
@worker_init.connect
def refuse_pending_migrations(**given: Any) -> None:
    """As servers do, unless the database is away, for which workers wait; forks inherit no connection."""
    if settings.DEBUG:
        return
    with suppress(OperationalError):
        schema.refuse_pending_migrations()
    connection.close()
    connection.close_pool()
