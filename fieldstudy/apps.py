"""Set-up of every Django process: the tasks' broker, the pool, the reader of times, a warning of misleading links."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Warning, register
from django.db import connection
from django.db.backends.postgresql.psycopg_any import BaseTzLoader, errors, get_adapters_template
from django.http.request import validate_host

from fieldstudy.celery import app as celery_app
from fieldstudy.pooled import hand_out_newest_first


class FieldStudyConfig(AppConfig):
    name = "fieldstudy"
    celery_app = celery_app

    def ready(self) -> None:
        # All connections take their readers from this template.
        get_adapters_template(True, UTC).register_loader("timestamptz", NearestTime)
        if connection.pool:
            hand_out_newest_first(connection.pool)


@register
def check_links(**options: Any) -> list[CheckMessage]:
    """Warn of a SITE_URL that is not set, or whose name this site does not answer to."""
    if settings.DEBUG or validate_host(urlsplit(settings.SITE_URL).hostname or "", settings.ALLOWED_HOSTS):
        return []
    words = f"SITE_URL is {settings.SITE_URL}: links for participants, in invitations and notices"
    return [Warning(f"{words} lead to a name that is not in ALLOWED_HOSTS.", id="fieldstudy.W001")]


class NearestTime(BaseTzLoader):
    """Reads times that PostgreSQL holds and Python cannot, which earlier versions imported, as the nearest it can."""

    timezone = UTC

    def load(self, data: Any) -> datetime:
        try:
            return super().load(data)
        except errors.DataError:
            nearest = datetime.min if bytes(data).endswith(b"BC") else datetime.max
            return nearest.replace(tzinfo=UTC)
