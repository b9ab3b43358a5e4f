"""The settings of the tests: with their own embedded services, so that they never meet a running demo."""

import os
from pathlib import Path

from fieldstudy.embedded import servers

os.environ.setdefault("OMP_NUM_THREADS", "1")  # other tests use the other cores
os.environ.setdefault("FIELDSTUDY_VAR", str(servers.ROOT / "var" / "test"))
# The services' folder. The first of several test processes starts them for all.
SERVICES_FOLDER = Path(os.environ["FIELDSTUDY_VAR"])
if worker := os.environ.get("PYTEST_XDIST_WORKER"):  # each has its own files and queue database
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
LIMIT_FACTOR = 0  # a worker's log-ins of an hour come from one address; tests of the limits set a factor
