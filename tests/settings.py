"""The settings the tests run with: embedded services of their own, so that they never meet a running demo."""

import os

from fieldstudy.embedded import servers

os.environ.setdefault("FIELDSTUDY_VAR", str(servers.ROOT / "var" / "test"))
if worker := os.environ.get("PYTEST_XDIST_WORKER"):  # each has services of its own, so that none waits for another
    os.environ["FIELDSTUDY_VAR"] += f"-{worker}"
os.environ.setdefault("FIELDSTUDY_FSYNC", "off")  # a test database need not survive a power cut
os.environ.setdefault("DATABASE_POOL", "0")  # its connections would block dropping the database
servers.attach()

from fieldstudy.settings import *  # noqa: E402, F403 - reads the addresses that attach() has set

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # logging in is not what the tests measure
