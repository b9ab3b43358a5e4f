"""Wherever Django runs: tasks reach our Celery's broker, the pool hands out its newest first, any time can be read."""

from datetime import UTC, datetime
from typing import Any

from django.apps import AppConfig
from django.db import connection
from django.db.backends.postgresql.psycopg_any import BaseTzLoader, errors, get_adapters_template

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


class NearestTime(BaseTzLoader):
    """Reads times that PostgreSQL holds and Python cannot, which earlier versions imported, as the nearest it can."""

    timezone = UTC

    def load(self, data: Any) -> datetime:
        try:
            return super().load(data)
        except errors.DataError:
            nearest = datetime.min if bytes(data).endswith(b"BC") else datetime.max
            return nearest.replace(tzinfo=UTC)
