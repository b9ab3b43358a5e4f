"""The platform's settings with the yardstick's address and page beside its own."""

from fieldstudy.settings import *  # noqa: F403 - all of them
from fieldstudy.settings import BASE_DIR, STORAGES, TEMPLATES

ROOT_URLCONF = "benchmarks.minimal_view"
TEMPLATES[0]["DIRS"] += [BASE_DIR / "benchmarks" / "templates"]
# Without the list of files that `collectstatic` writes.
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
