"""Which parts of the site a process imports, and that addresses imported late are what they claim to be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fieldstudy.urls import Later, urlpatterns

LATER = [entry for entry in urlpatterns if isinstance(entry, Later)]
ROOT = Path(__file__).resolve().parents[1]
PARTICIPANT = """
import django, sys
django.setup()
from django.core.wsgi import get_wsgi_application
from django.urls import Resolver404, resolve, reverse
get_wsgi_application()
resolve("/s/teas/token/prompt/1/"), resolve("/a/teas/token/work/")
reverse("survey:prompt", args=["teas", "token", 1]), reverse("console:studies")
try:
    resolve("/s/teas/token/nowhere/")
except Resolver404:
    for_researchers = {"numpy", "rapidfuzz", "pandas", "scipy", "altair", "openai", "sklearn", "pyarrow"}
    print(sorted(for_researchers & set(sys.modules)))
reverse("compare:bundle", args=["teas"]), resolve("/api/v1/studies/")
print("scipy" in sys.modules)
"""


@pytest.mark.parametrize("part", LATER, ids=lambda part: part.namespace)
def test_part_that_is_imported_late_has_the_beginning_it_says(part: Later) -> None:
    assert part.url_patterns
    assert all(f"{part.pattern}{entry.pattern}".startswith(part.under) for entry in part.url_patterns)


def test_process_that_serves_participants_imports_nothing_that_only_researchers_need() -> None:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    told = subprocess.run(
        [sys.executable, "-c", PARTICIPANT], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert told.stdout.splitlines()[-2:] == ["[]", "True"], told.stderr
