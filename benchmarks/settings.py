"""The platform's settings, plus the yardstick's address and template."""

from fieldstudy.settings import *  # noqa: F403 - all of them
from fieldstudy.settings import BASE_DIR, STORAGES, TEMPLATES

ROOT_URLCONF = "benchmarks.minimal_view"
TEMPLATES[0]["DIRS"] += [BASE_DIR / "benchmarks" / "templates"]
# Needs no list of files from `collectstatic`.
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
