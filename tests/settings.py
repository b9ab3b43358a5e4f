"""The settings the tests run with: embedded services of their own, so that they never meet a running demo."""

import os
from pathlib import Path

from fieldstudy.embedded import servers

# Other tests have the other cores: threads of linear algebra that wait for one another double what it costs.
for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("FIELDSTUDY_VAR", str(servers.ROOT / "var" / "test"))
# Where the services lie. Of several processes of tests the first one starts them for all.
SERVICES_FOLDER = Path(os.environ["FIELDSTUDY_VAR"])
if worker := os.environ.get("PYTEST_XDIST_WORKER"):  # each has files and a database of the queue of its own
    os.environ["FIELDSTUDY_VAR"] += f"-{worker}"
os.environ.setdefault("FIELDSTUDY_FSYNC", "off")  # a test database need not survive a power cut
os.environ.setdefault("DATABASE_POOL", "0")  # its connections would block dropping the database
if servers.attach():
    SERVICES_FOLDER = servers.var_folder()
if worker:
    os.environ["REDIS_URL"] = os.environ["REDIS_URL"].replace("db=0", f"db={6 + int(worker[2:]) % 10}")

from fieldstudy.settings import *  # noqa: E402, F403 - reads the addresses that attach() has set

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # logging in is not what the tests measure
WHITENOISE_AUTOREFRESH = True  # each test's client would look through all static files first
