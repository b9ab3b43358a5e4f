"""Serves the platform and the yardstick in one process, the latter with the middleware of a new Django project only."""

import os
from collections.abc import Iterable
from typing import Any

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"

from django.conf import settings  # noqa: E402
from django.core.handlers.wsgi import WSGIHandler  # noqa: E402
from django.test.utils import override_settings  # noqa: E402

from fieldstudy.front import Front  # noqa: E402
from fieldstudy.wsgi import application as platform  # noqa: E402 - reads the settings named above

PLAIN = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
with override_settings(MIDDLEWARE=PLAIN):
    yardstick = WSGIHandler()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    answer = yardstick if environ["PATH_INFO"].startswith("/minimal/") else platform
    return answer(environ, start_response)


front = Front(application, settings.WEB_THREADS, settings.VAR_FOLDER / "incoming")
