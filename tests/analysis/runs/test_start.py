"""A run's first call does not wait for packages that it does not need."""

import os
import subprocess
import sys

from fieldstudy.embedded.servers import ROOT

LOADED = """
import sys
from django.core.management import execute_from_command_line
command = ["manage.py", "run_baseline", "nowhere", "--endpoint", "none", "--condition", "offline"]
try:
    execute_from_command_line(command)
except Exception as error:
    print(type(error).__name__)
print(*sorted({"openai", "pandas", "scipy.stats", "sklearn", "analysis.report.pages.views"} & set(sys.modules)))
"""


def test_command_of_a_run_loads_no_statistics_no_pages_and_no_package_of_a_provider() -> None:
    nowhere = {"DATABASE_URL": "postgresql:///nothing-is-asked", "REDIS_URL": "redis://nothing-is-asked"}
    env = {**os.environ, **nowhere, "DJANGO_SETTINGS_MODULE": "fieldstudy.settings"}
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, env=env, capture_output=True, text=True)
    assert (done.stdout.split(), done.returncode) == (["OperationalError"], 0), done.stderr
