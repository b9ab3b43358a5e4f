"""The settings: listed completely, read strictly, and refused if unsafe."""

import ast
import os
import re
import runpy
import subprocess
import sys
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from celery import Celery, beat
from celery.signals import before_task_publish
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage.handler import StorageHandler

from fieldstudy import settings
from fieldstudy.apps import check_links
from fieldstudy.embedded.servers import ROOT, URL_NAMES, assume_own_computer, attach
from fieldstudy.pooled import PooledConnection

READERS = {"env", "env_bool", "env_int", "env_keys", "env_list", "env_share", "env_url"}
NOT_SETTINGS = {"DJANGO_SETTINGS_MODULE"}
DOCKER_ONLY = {"COMPOSE_PROFILES", "FILES", "BACKUPS", "KEEP"}


def names_read_by(path: Path) -> set[str]:
    """Names passed to env() and the like, and to os.environ.get()."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
            continue
        called = ast.unparse(node.func)
        if called in READERS or called == "os.environ.get":
            names.add(node.args[0].value)
    return names


def names_in_code() -> set[str]:
    read = set().union(*(names_read_by(path) for path in (ROOT / "fieldstudy").rglob("*.py")))
    return read - NOT_SETTINGS


def without_files(names: Iterable[str]) -> set[str]:
    """The settings' own names: any may be in a file named by its name with _FILE."""
    return {name.removesuffix("_FILE") for name in names}


def names_in_example() -> set[str]:
    return without_files(re.findall(r"^(?:# )?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def names_in_page() -> set[str]:
    return without_files(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE))


def run_with(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with this environment alone."""
    environment = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)


def read_settings(**environment: str) -> dict[str, Any]:
    """The settings of a process that has this environment alone."""
    with mock.patch.dict(os.environ, environment, clear=True):
        return runpy.run_path(settings.__file__)


def refuse_settings(**environment: str) -> str:
    """What such a process shows before it ends."""
    with pytest.raises(ImproperlyConfigured) as refused:
        read_settings(**environment)
    return "".join(traceback.format_exception(refused.value))


SAFE = {
    "DEBUG": "false",
    "SECRET_KEY": "0123456789abcdef" * 4,
    "ALLOWED_HOSTS": "study.example.org",
    "DATABASE_URL": "postgresql://user:p%40ss@db:5432/name?sslmode=require",
    "REDIS_URL": "redis://valkey:6379/0",
    "PROXIES": "1",
}


def test_settings_are_listed_completely() -> None:
    assert {"SECRET_KEY", "FIELDSTUDY_VAR"} < names_in_code()
    assert names_in_example() == names_in_code() | DOCKER_ONLY
    assert names_in_page() == names_in_code() | DOCKER_ONLY


def test_complete_production_settings_are_accepted() -> None:
    read = read_settings(**SAFE)
    assert read["SECURE_PROXY_SSL_HEADER"] == ("HTTP_X_FORWARDED_PROTO", "https") and read["DEBUG"] is False


LACKING = "Not safe to start with DEBUG=false: set "


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in SAFE.items() if key != name}


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, LACKING + "DATABASE_URL, REDIS_URL, ALLOWED_HOSTS, SECRET_KEY."),
        (without("SECRET_KEY"), LACKING + "SECRET_KEY."),
        *((SAFE | {name: ""}, f"{LACKING}{name}.") for name in ("ALLOWED_HOSTS", "DATABASE_URL", "REDIS_URL")),
        (SAFE | {"SECRET_KEY": "changeme"}, "SECRET_KEY can be guessed"),
        (SAFE | {"SECRET_KEY": "x" * 50}, "SECRET_KEY can be guessed"),
        (SAFE | {"ALLOWED_HOSTS": "*"}, "ALLOWED_HOSTS=* answers to every name"),
        (SAFE | {"ALLOWED_HOSTS": "study.example.org,*"}, "ALLOWED_HOSTS=* answers to every name"),
        *(
            (SAFE | {"ALLOWED_HOSTS": f"localhost,{host}"}, f"ALLOWED_HOSTS has '{host}', which is no host name")
            for host in ("https://study.example.org", "study.example.org:8000", "a.example.org b.example.org")
        ),
        (SAFE | {"ALLOWED_HOSTS": " , "}, f"{LACKING}ALLOWED_HOSTS."),
        *(
            (SAFE | {"KEPT_BUCKET": "study", name: address}, f"{name} does not begin with {words}://")
            for name, address, words in (
                ("DATABASE_URL", "mysql://user:s3cret@db/name", "postgresql://, postgres"),
                ("DATABASE_URL", "db", "postgresql://, postgres"),
                ("REDIS_URL", "valkey:6379", "redis://, rediss://, unix"),
                ("SITE_URL", "study.example.org", "https://, http"),
                ("PROLIFIC_API", "api.prolific.com", "https://, http"),
                ("KEPT_ENDPOINT", "s3.example.org", "https://, http"),
            )
        ),
        (SAFE | {"DATABASE_URL": "postgresql://user:s3cret@db"}, "DATABASE_URL names no database"),
        (SAFE | {"LOG_LEVEL": "verbose"}, "LOG_LEVEL='verbose' is none of DEBUG, INFO, WARNING and ERROR"),
        *((SAFE | {"PROLIFIC_FEE": fee}, f"PROLIFIC_FEE='{fee}' is no share from 0 to 1") for fee in ("33%", "33")),
    ],
)
def test_production_without_a_needed_setting_or_with_an_unsafe_one_is_refused(
    environment: dict[str, str], words: str
) -> None:
    shown = refuse_settings(**environment)
    assert words in shown and "s3cret" not in shown


@pytest.mark.parametrize(
    ("site", "warns"),
    [
        ({}, True),
        ({"SITE_URL": "https://study.example.com"}, True),
        ({"SITE_URL": "https://study.example.org"}, False),
        ({"DEBUG": "true"}, False),
    ],
)
def test_links_that_lead_to_no_name_of_ours_are_warned_of(
    site: dict[str, str], warns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = read_settings(**SAFE | site)
    for name in ("DEBUG", "SITE_URL", "ALLOWED_HOSTS"):
        monkeypatch.setattr(f"django.conf.settings.{name}", read[name])
    assert bool(check_links()) == warns


def test_complete_production_settings_pass_the_checks_with_a_warning_of_the_links() -> None:
    done = run_with(SAFE, "manage.py", "check")
    assert done.returncode == 0 and "lead to a name that is not in ALLOWED_HOSTS" in done.stderr, done.stderr


def test_production_is_what_happens_when_nothing_is_said() -> None:
    assert read_settings(**without("DEBUG"))["DEBUG"] is False


@pytest.mark.parametrize("module", ["fieldstudy.wsgi", "fieldstudy.asgi"])
def test_servers_start_nothing_of_their_own_when_nothing_is_said(module: str, tmp_path: Path) -> None:
    done = run_with({"FIELDSTUDY_VAR": str(tmp_path / "var")}, "-c", f"import {module}")
    assert "Not safe to start" in done.stderr and not (tmp_path / "var").exists()


@pytest.mark.parametrize("urls", [{}, {"DATABASE_URL": "postgresql:///x"}, {"REDIS_URL": "redis://x"}])
def test_commands_are_for_ones_own_computer_only_where_no_service_is_named(
    urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DEBUG", *URL_NAMES):
        monkeypatch.delenv(name, raising=False)
    for name, url in urls.items():
        monkeypatch.setenv(name, url)
    assume_own_computer()
    assert os.environ.get("DEBUG") == (None if urls else "true")
    monkeypatch.setenv("DEBUG", "false")
    assume_own_computer()
    assert os.environ["DEBUG"] == "false"


def test_hosts_and_levels_are_written_in_several_ways() -> None:
    hosts = ".example.org, [::1],127.0.0.1,localhost,a_b"
    assert read_settings(**SAFE | {"ALLOWED_HOSTS": hosts, "LOG_LEVEL": "info"})["LOG_LEVEL"] == "INFO"


def test_secret_is_read_from_the_file_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("from a file\n")
    monkeypatch.setenv("SOME_KEY_FILE", str(tmp_path / "key"))
    assert settings.env("SOME_KEY") == "from a file"


@pytest.mark.parametrize(("text", "value"), [("true", True), ("YES", True), ("0", False), ("False", False)])
def test_switch_is_read(text: str, value: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SWITCH", text)
    assert settings.env_bool("SOME_SWITCH", not value) is value


def test_kept_files_lie_in_a_folder_or_in_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.kept_storage()["OPTIONS"]["location"] == settings.VAR_FOLDER
    monkeypatch.setenv("KEPT_FOLDER", "/mnt/kept")
    assert settings.kept_storage()["OPTIONS"]["location"] == "/mnt/kept"
    (tmp_path / "secret").write_text("hidden\n")
    for name, value in {"BUCKET": "study", "ENDPOINT": "https://s3.example.org", "ACCESS_KEY": "key"}.items():
        monkeypatch.setenv(f"KEPT_{name}", value)
    monkeypatch.setenv("KEPT_SECRET_KEY_FILE", str(tmp_path / "secret"))
    store = StorageHandler({"kept": settings.kept_storage()})["kept"]
    assert (store.bucket_name, store.endpoint_url) == ("study", "https://s3.example.org")
    assert (store.access_key, store.secret_key) == ("key", "hidden")
    with pytest.raises(NotImplementedError):  # by which it is known that it is no folder of this host
        store.path("models")


def test_misspelt_switch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG", "flase")
    with pytest.raises(ImproperlyConfigured, match="DEBUG='flase' is neither true nor false"):
        settings.env_bool("DEBUG", True)


def test_number_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXIES", "one")
    with pytest.raises(ImproperlyConfigured, match="PROXIES='one' is not a whole number"):
        settings.env_int("PROXIES", 0)


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [
        ("PROXIES", "-1", 0),
        ("WEB_THREADS", "0", 1),
        ("LIMIT_FACTOR", "-1", 0),
        ("DATABASE_POOL", "-1", 0),
        ("SECURE_HSTS_SECONDS", "-1", 0),
        ("EMAIL_PORT", "0", 1),
    ],
)
def test_number_that_means_nothing_is_refused(name: str, value: str, least: int) -> None:
    assert f"{name}={value!r} is not a whole number from {least} on." in refuse_settings(**SAFE | {name: value})


@pytest.mark.parametrize("name", ["LOG_LEVEL", "SITE_URL", "PROLIFIC_API", "EMAIL_FROM", "EMAIL_PORT", "DEBUG"])
def test_setting_without_a_value_has_its_default(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "")
    assert settings.env(name, "default") == "default"
    assert read_settings(**SAFE | {name: ""})["DEBUG"] is False


def test_services_are_not_started_where_debug_has_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldstudy.embedded.servers.hold_services", lambda: pytest.fail("started"))
    monkeypatch.setenv("DEBUG", "")
    monkeypatch.setenv("REDIS_URL", "redis://x")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert attach() == set()


@pytest.mark.parametrize("path", ["missing", "."])
def test_secret_whose_file_cannot_be_read_is_named(path: str, tmp_path: Path) -> None:
    shown = refuse_settings(**without("SECRET_KEY") | {"SECRET_KEY_FILE": str(tmp_path / path)})
    assert f"SECRET_KEY_FILE='{tmp_path / path}' cannot be read" in shown


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file or directory"),
        *((text, "it is no JWKS") for text in ("no json", "[]", "{}", '{"keys": []}')),
    ],
)
def test_key_set_without_keys_is_refused(content: str | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    if content is not None:
        path.write_text(content)
    environment = SAFE | {"PROLIFIC_KEY_SET": str(path)}
    assert f"PROLIFIC_KEY_SET='{path}' cannot be read: {reason}" in refuse_settings(**environment)
    path.write_text('{"keys": [{"kid": "one"}]}')
    assert read_settings(**environment)["PROLIFIC_KEY_SET"] == str(path)


def test_database_address_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_POOL", "7")
    database = settings.database_from_url(SAFE["DATABASE_URL"])
    assert (database["HOST"], database["PORT"], database["NAME"]) == ("db", "5432", "name")
    assert (database["USER"], database["PASSWORD"]) == ("user", "p@ss")
    assert database["OPTIONS"] == {
        "pool": {"min_size": 1, "max_size": 7, "timeout": 30, "connection_class": PooledConnection},
        "sslmode": "require",
    }
    assert database["CONN_MAX_AGE"] == 0


def test_parameters_of_the_database_address_are_passed_on_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_POOL", "0")
    database = settings.database_from_url("postgresql:///name?host=/run/sock&connect_timeout=3&sslcert=a.crt")
    assert (database["HOST"], database["OPTIONS"]) == ("/run/sock", {"connect_timeout": "3", "sslcert": "a.crt"})
    with pytest.raises(ImproperlyConfigured, match='not take: invalid connection option "sslmod"[.]$'):
        settings.database_from_url("postgresql://user:s3cret@db/name?sslmod=require")


def test_password_may_stand_beside_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "password").write_text("/:@?#%\n")
    monkeypatch.setenv("POSTGRES_PASSWORD_FILE", str(tmp_path / "password"))
    assert settings.database_from_url("postgresql://user@db:5432/name")["PASSWORD"] == "/:@?#%"
    assert settings.database_from_url("postgresql://user:own@db:5432/name")["PASSWORD"] == "own"


def test_wrong_host_is_one_line_and_a_fault_of_ours_is_whole() -> None:
    code = """
import logging, django
from django.core.handlers.wsgi import WSGIHandler
from django.test import RequestFactory
from django.test.utils import override_settings
django.setup()
plain = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}  # none are collected
with override_settings(STORAGES=plain):
    request = RequestFactory().get("/", HTTP_HOST="wrong.example.com").environ
    WSGIHandler()(request, lambda status, headers: print(status))
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("surveys").exception("ours")
"""
    done = run_with(SAFE | {"DJANGO_SETTINGS_MODULE": "fieldstudy.settings"}, "-W", "ignore", "-c", code)
    assert done.stdout.startswith("400 Bad Request"), done.stderr
    wrong, ours, *traceback = done.stderr.splitlines()
    assert "ERROR django.security.DisallowedHost: Invalid HTTP_HOST header: 'wrong.example.com'" in wrong
    assert ours.endswith("ERROR surveys: ours") and traceback[0].startswith("Traceback")


@pytest.mark.parametrize(("level", "shown"), [("WARNING", ["WARNING"]), ("INFO", ["INFO", "WARNING"])])
def test_workers_and_beat_log_at_the_level_and_in_the_form_of_the_pages(level: str, shown: list[str]) -> None:
    code = """
import logging
from fieldstudy.celery import app
app.log.setup("INFO", redirect_stdouts=True)  # as `celery worker --loglevel INFO` does
logging.getLogger("celery.worker").info("plain")
logging.getLogger("celery.app.trace").warning("PROLIFIC_PID=somebody")
"""
    environment = SAFE | {"DJANGO_SETTINGS_MODULE": "fieldstudy.settings", "LOG_LEVEL": level}
    lines = run_with(environment, "-W", "ignore", "-c", code).stderr.splitlines()
    assert [line.split()[2] for line in lines] == shown
    assert lines[-1].endswith("WARNING celery.app.trace: PROLIFIC_PID=…")


def test_password_that_breaks_the_address_is_explained() -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL has a port that is not a number"):
        settings.database_from_url("postgresql://user:pass/word@db:5432/name")


def test_pool_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_POOL", "0")
    database = settings.database_from_url("postgresql:///name")
    assert (database["OPTIONS"], database["CONN_MAX_AGE"]) == ({}, 60)


def test_ticks_of_the_schedule_do_not_pile_up_while_no_worker_takes_them() -> None:
    for name, entry in settings.CELERY_BEAT_SCHEDULE.items():
        assert entry["options"]["expires"] == max(entry["schedule"], 600), name
    app = Celery("ticks", broker="memory://", set_as_current=False)
    app.conf.beat_schedule = {"each": settings.CELERY_BEAT_SCHEDULE["watch-runs"]}
    sent = []
    scheduler = beat.Scheduler(app=app)

    def note(headers: dict, **given: object) -> None:
        sent.append(headers["expires"])

    before_task_publish.connect(note)
    scheduler.apply_async(scheduler.schedule["each"], advance=False)
    before_task_publish.disconnect(note)
    assert 590 < (datetime.fromisoformat(sent[0]) - datetime.now(UTC)).total_seconds() <= 600
