"""All settings, each from an environment variable with a development default; .env.example lists them."""

import json
import os
import re
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import make_conninfo

from fieldstudy.embedded.servers import var_folder
from fieldstudy.pooled import PooledConnection

# Linear algebra on many small arrays: threads that wait for one another cost more than they save.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
BASE_DIR = Path(__file__).resolve().parent.parent
VAR_FOLDER = var_folder()
SHORTEST_KEY = 32
DEFAULT_SECRET_KEY = "development-only-secret-key-never-used-in-production"


def env(name: str, default: str = "") -> str:
    """The variable, or the content of the file that NAME_FILE names (Docker secrets); the default if that is empty."""
    path = os.environ.get(f"{name}_FILE")
    try:
        return (Path(path).read_text().strip() if path else os.environ.get(name)) or default
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise ImproperlyConfigured(f"{name}_FILE='{path}' cannot be read: {reason}.") from None


def env_bool(name: str, default: bool) -> bool:
    value = env(name, str(default)).lower()
    if value not in ("true", "false", "1", "0", "yes", "no"):
        raise ImproperlyConfigured(f"{name}={value!r} is neither true nor false. Write true or false.")
    return value in ("true", "1", "yes")


def env_int(name: str, default: int, least: int = 0) -> int:
    value = env(name, str(default))
    try:
        if (number := int(value)) >= least:
            return number
    except ValueError:
        pass
    raise ImproperlyConfigured(f"{name}={value!r} is not a whole number from {least} on.")


def env_share(name: str, default: str) -> Fraction:
    value = env(name, default)
    try:
        if 0 <= (share := Fraction(value)) <= 1:
            return share
    except (ValueError, ZeroDivisionError):
        pass
    raise ImproperlyConfigured(f"{name}={value!r} is no share from 0 to 1. Write one such as 1/3 or 0.33.")


def env_url(name: str, default: str, *schemes: str) -> str:
    value = env(name, default).strip()
    starts = tuple(f"{scheme}://" for scheme in schemes)
    if value and not value.startswith(starts):  # and does not show it, as it may hold a password
        raise ImproperlyConfigured(f"{name} does not begin with {', '.join(starts)}. Write the whole address.")
    return value


def env_keys(name: str) -> str:
    """The path of a file of public keys."""
    path = env(name)
    try:
        if path and not json.loads(Path(path).read_text())["keys"]:
            raise ValueError
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = getattr(error, "strerror", None) or "it is no JWKS with keys"
        raise ImproperlyConfigured(f"{name}='{path}' cannot be read: {reason}.") from None
    return path


def env_list(name: str, default: str = "") -> list[str]:
    return [item.strip() for item in env(name, default).split(",") if item.strip()]


def database_from_url(url: str) -> dict:
    parts = urlsplit(url)
    query = {key: values[0] for key, values in parse_qs(parts.query).items()}
    host = query.pop("host", parts.hostname or "")
    try:
        make_conninfo(**query)
    except psycopg.ProgrammingError as error:
        raise ImproperlyConfigured(
            f"DATABASE_URL has a parameter that PostgreSQL does not take: {str(error).strip()}."
        ) from None
    try:
        port = str(parts.port or "")
    except ValueError:
        raise ImproperlyConfigured(
            "DATABASE_URL has a port that is not a number. A password writes / : @ ? # as %2F %3A %40 %3F %23."
        ) from None
    if not parts.path.strip("/"):
        raise ImproperlyConfigured("DATABASE_URL names no database. Write postgresql://user:password@host:port/name.")
    pool_size = env_int("DATABASE_POOL", 16)  # connections that a process keeps open; 0: no pool
    pool = {"min_size": 1, "max_size": pool_size, "timeout": 30, "connection_class": PooledConnection}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or "") or env("POSTGRES_PASSWORD"),
        "HOST": host,
        "PORT": port,
        "CONN_MAX_AGE": 0 if pool_size else 60,
        "CONN_HEALTH_CHECKS": True,  # after a restart of the database none of the old connections is handed out
        "OPTIONS": {**({"pool": pool} if pool_size else {}), **query},
    }


def broker_from_url(url: str) -> str:
    """Celery's spelling of a Redis URL: the two differ for Unix sockets."""
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return url
    return f"redis+socket://{parts.path}?virtual_host={parse_qs(parts.query).get('db', ['0'])[0]}"


def kept_storage() -> dict:
    """Storage for files that every host must find: a folder, or a bucket of a store that speaks S3's protocol."""
    bucket = env("KEPT_BUCKET")
    if not bucket:
        folder = {"location": env("KEPT_FOLDER") or VAR_FOLDER, "base_url": None}
        modes = {"file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
        return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": folder | modes}
    options = {
        "bucket_name": bucket,
        "location": env("KEPT_PREFIX"),
        "endpoint_url": env_url("KEPT_ENDPOINT", "", "https", "http") or None,
        "region_name": env("KEPT_REGION") or None,
        "access_key": env("KEPT_ACCESS_KEY") or None,
        "secret_key": env("KEPT_SECRET_KEY") or None,
        "max_memory_size": 8 * 1024 * 1024,  # of a file that is read; the rest of it goes to the disk
    }
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


DEBUG = env_bool("DEBUG", False)
LOG_LEVEL = env("LOG_LEVEL", "INFO").upper()
if LOG_LEVEL not in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
    raise ImproperlyConfigured(f"LOG_LEVEL={env('LOG_LEVEL')!r} is none of DEBUG, INFO, WARNING and ERROR.")
SECRET_KEY = env("SECRET_KEY", DEFAULT_SECRET_KEY)
SECRET_KEY_FALLBACKS = env_list("SECRET_KEY_FALLBACKS")
AUDIT_KEY = env("AUDIT_KEY")  # without it SECRET_KEY signs the audit trail too
AUDIT_KEY_FALLBACKS = env_list("AUDIT_KEY_FALLBACKS")
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1],testserver" if DEBUG else "")
SITE_URL = env_url("SITE_URL", "http://localhost:8000", "https", "http").rstrip("/")
DATABASE_URL = env_url("DATABASE_URL", "", "postgresql", "postgres")
REDIS_URL = env_url("REDIS_URL", "", "redis", "rediss", "unix")
PROXIES = env_int("PROXIES", 0)  # how many proxies of our own are in front, for the abuse limits
WEB_THREADS = env_int("WEB_THREADS", 8, 1)  # of each web process
ALLOW_PRIVATE_ENDPOINTS = env_bool("ALLOW_PRIVATE_ENDPOINTS", DEBUG)  # models inside our own network
LIMIT_FACTOR = env_int("LIMIT_FACTOR", 1)  # multiplies every abuse limit; 0 switches them off
EMAIL_HOST = env("EMAIL_HOST")  # a server that takes mail; without it none is sent
EMAIL_PORT = env_int("EMAIL_PORT", 587, 1)
EMAIL_USE_TLS = env_bool("EMAIL_USE_TLS", True)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = env("EMAIL_HOST_USER"), env("EMAIL_HOST_PASSWORD")
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = env("EMAIL_FROM", "fieldstudy@localhost")
NOTICES_MAIL = env_list("NOTICES_MAIL")  # who hears of all studies once a day
PROLIFIC_WEBHOOK_SECRET = env("PROLIFIC_WEBHOOK_SECRET")
PROLIFIC_API = env_url("PROLIFIC_API", "https://api.prolific.com/api/v1/", "https", "http")
PROLIFIC_TOKEN_VARIABLE = env("PROLIFIC_TOKEN_VARIABLE", "PROLIFIC_TOKEN")  # the name of a variable, not the token
PROLIFIC_KEY_SET = env_keys("PROLIFIC_KEY_SET")  # a file with Prolific's public keys, read again when it changes
PROLIFIC_FEE = env_share("PROLIFIC_FEE", "1/3")  # of what people are paid

if not DEBUG:
    needed = {"DATABASE_URL": DATABASE_URL, "REDIS_URL": REDIS_URL, "ALLOWED_HOSTS": ALLOWED_HOSTS}
    missing = [name for name, value in needed.items() if not value]
    if SECRET_KEY == DEFAULT_SECRET_KEY:
        missing.append("SECRET_KEY")
    if missing:
        raise ImproperlyConfigured(
            f"Not safe to start with DEBUG=false: set {', '.join(missing)}. .env.example says what each is. "
            "On your own computer, say DEBUG=true."
        )
    for name, key in (("SECRET_KEY", SECRET_KEY), ("AUDIT_KEY", AUDIT_KEY)):
        if (key or name == "SECRET_KEY") and (len(key) < SHORTEST_KEY or len(set(key)) < 5):
            raise ImproperlyConfigured(
                f"{name} can be guessed: it needs {SHORTEST_KEY} characters by chance. Make one: openssl rand -hex 32."
            )
    if "*" in ALLOWED_HOSTS:
        raise ImproperlyConfigured(
            "ALLOWED_HOSTS=* answers to every name. Write the site's own, for example study.example.org."
        )
    for host in ALLOWED_HOSTS:
        if not re.fullmatch(r"[\w.-]+|\[[\da-fA-F:.]+\]", host):
            raise ImproperlyConfigured(
                f"ALLOWED_HOSTS has {host!r}, which is no host name. Write names alone, separated by commas."
            )

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "django_htmx",
    "rest_framework",
    "rest_framework.authtoken",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "fieldstudy",
    "surveys",
    "analysis",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "surveys.middleware.SamePolicyMiddleware",
    "surveys.middleware.PrivatePagesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "surveys.middleware.NoPathLocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "surveys.middleware.LazyMessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "fieldstudy.urls"
WSGI_APPLICATION = "fieldstudy.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"annotation_text": "surveys.annotation.texts", "study_text": "surveys.console.tags"},
            "builtins": ["surveys.console.tags"],
            # Cached also in development: uncached templates cost a quarter of a submission's time.
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["django.template.loaders.filesystem.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
        },
    }
]

# Without a URL nothing answers on this name: management commands, the demo and the tests start
# the embedded server first (fieldstudy/embedded/servers.py) and set DATABASE_URL.
DATABASES = {"default": database_from_url(DATABASE_URL or "postgresql:///fieldstudy")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "surveys" / "locale"]
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = Path(env("STATIC_ROOT") or BASE_DIR / "staticfiles")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "kept": kept_storage(),
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = DEBUG

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "console:login"
LOGIN_REDIRECT_URL = "console:studies"
CONSOLE_FRAME = "analysis.notices.entries.frame_of"  # the frame around a study's pages
LOGOUT_REDIRECT_URL = "console:login"

# A 200 kB answer with its HTML flavour and drafts in %-encoding needs room; more is refused with 400.
DATA_UPLOAD_MAX_MEMORY_SIZE = 6 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000  # the editor sends a dozen a prompt

SECURE_CONTENT_TYPE_NOSNIFF = True
# A participant's address holds their signed link, so no other site may learn it; "no-referrer" would also
# make browsers send `Origin: null` with our own forms, which the CSRF check refuses.
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "surveys.studies.pages.refuse_form"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
if not DEBUG:
    SECURE_SSL_REDIRECT = env_bool("SECURE_SSL_REDIRECT", True)
    SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
    SECURE_HSTS_SECONDS = env_int("SECURE_HSTS_SECONDS", 31_536_000)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = env_bool("SECURE_HSTS_INCLUDE_SUBDOMAINS", True)
    SECURE_HSTS_PRELOAD = env_bool("SECURE_HSTS_PRELOAD", False)
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    if PROXIES:
        SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS", SITE_URL if not DEBUG else "")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "analysis.exports.refusals.TrueSchema",
    "EXCEPTION_HANDLER": "analysis.exports.refusals.problem_response",
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
    "PAGE_SIZE": 100,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Field Study API",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {"RunState": "analysis.models.Run.State", "RunCondition": "analysis.models.Run.Condition"},
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

CELERY_BROKER_URL = broker_from_url(REDIS_URL or "redis://localhost:6379/0")
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # however long the broker is away
CELERY_WORKER_CONSUMER = "fieldstudy.consumer:Consumer"
CELERY_TASK_ACKS_LATE = True
# A worker takes only what it does at once: more would wait for it, and be lost with it for an hour.
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A task that is not done by then is delivered again. Lanes end themselves after some minutes.
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "pay-and-read-back": {"task": "surveys.prolific.tasks.pay_and_read_back_all", "schedule": 300.0},
    "release-places": {"task": "surveys.participation.tasks.release_places", "schedule": 60.0},
    "watch-runs": {"task": "analysis.runs.tasks.watch_runs", "schedule": 3.0},
    "read-replies": {"task": "analysis.runs.tasks.read_left_replies", "schedule": 30.0},
    "work-batches": {"task": "analysis.runs.tasks.work_batches", "schedule": 60.0},
    "read-new-texts": {"task": "analysis.answers.tasks.read_new_texts", "schedule": 20.0},
    "train-next": {"task": "analysis.training.tasks.train_next", "schedule": 60.0},
    "forget-uploads": {"task": "analysis.people.tasks.forget_stale_uploads", "schedule": 3600.0},
    "send-notices": {"task": "analysis.notices.tasks.send_notices", "schedule": 300.0},
    "repeat-runs": {"task": "analysis.runs.tasks.repeat_runs", "schedule": 600.0},
}
for entry in CELERY_BEAT_SCHEDULE.values():  # no worker makes up for hours of ticks before it does what people wait for
    entry["options"] = {"expires": max(entry["schedule"], 600)}


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "fieldstudy.logs.PrivateFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        }
    },
    "filters": {"one-line": {"()": "fieldstudy.logs.OneLine"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain", "filters": ["one-line"]}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    # Its warnings name addresses, and a participant's address is their signed link.
    # Addresses of Prolific's API name submissions.
    "loggers": {"django.request": {"level": "ERROR"}, "httpx2": {"level": "WARNING"}},
}
