"""Settings. Every environment variable is read here and nowhere else.

Everything works with an empty environment: DEBUG off, loopback hosts only, SQLite and a
secret key made once in the data folder. `.env.example` documents each variable.
"""

import ipaddress
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from prepare import limits

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
if (BASE_DIR / ".env").is_file():
    env.read_env(BASE_DIR / ".env")

PREFIX = "POWERCONTEXT_SERVER_"


def _number(name: str, default: float, lowest: float, highest: float) -> float:
    value = float(env.float(PREFIX + name, default))
    if not lowest <= value <= highest:
        raise ImproperlyConfigured(
            f"{PREFIX}{name} must be between {lowest} and {highest}, not {value}."
        )
    return value


def _positive_integer(name: str, default: int) -> int:
    raw = env.str(PREFIX + name, str(default)).strip()
    if not raw.isascii() or not raw.isdigit() or int(raw) < 1:
        raise ImproperlyConfigured(
            f"{PREFIX}{name} must be a positive integer, not {raw!r}."
        )
    return int(raw)


def _choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    value = str(env.str(PREFIX + name, default))
    if value not in choices:
        raise ImproperlyConfigured(
            f"{PREFIX}{name} must be one of {', '.join(choices)}, not {value!r}."
        )
    return value


# First segments of own paths; under one of them a request could mean two things.
_OWN_SEGMENTS = frozenset(
    {"admin", "docs", "health", "inspector", "metrics", "openapi.json", "static", "v1"}
)


def _path_prefix() -> str:
    """Where a proxy shows this server, such as /tools/memory; empty at the root."""
    name = PREFIX + "PATH_PREFIX"
    value = str(env.str(name, ""))
    if value and not re.fullmatch(r"(/[A-Za-z0-9_][A-Za-z0-9_.~-]*)+", value):
        raise ImproperlyConfigured(
            f"{name} must be like /tools/memory: a slash before each part, none at the"
            f" end, of letters, digits and _ - . ~ only. It is {value!r}."
        )
    if value.partition("/")[2].partition("/")[0] in _OWN_SEGMENTS:
        raise ImproperlyConfigured(
            f"{name} must not start like a path of this server: {value!r}."
        )
    return value


def _networks(name: str, default: list[str]) -> list[str]:
    values = [value.strip() for value in env.list(PREFIX + name, default=default)]
    for value in values:
        try:
            ipaddress.ip_network(value)
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{PREFIX}{name} must list addresses or networks, not {value!r}."
            ) from error
    return values


def _secret_key(data_dir: Path) -> str:
    """The configured key, or one made once and kept readable by its owner only."""
    configured = str(env.str(PREFIX + "SECRET_KEY", ""))
    if configured:
        return configured
    path = data_dir / "secret_key"
    if not path.exists():
        # Linked when complete: a process that starts beside this one reads it whole.
        draft = data_dir / f".secret_key.{os.getpid()}"
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(48), encoding="ascii")
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_text(encoding="ascii").strip()


def _mysql_family(url: str) -> dict[str, Any]:
    """Session settings that matter (docs/operations.md).

    The server's own time zone may not be UTC; a writer waits at most five seconds for a
    lock; and READ COMMITTED lets a retry see what others wrote meanwhile.
    """
    waits = "innodb_lock_wait_timeout=5"
    if url.startswith("oceanbase:"):
        waits = "ob_trx_lock_timeout=5000000, ob_query_timeout=30000000"
    return {
        "OPTIONS": {
            "charset": "utf8mb4",
            "isolation_level": "read committed",
            "connect_timeout": 5,
            "init_command": (
                f"SET {waits}, time_zone='+00:00', sql_mode="
                "'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION'"
            ),
        },
        "TEST": {"CHARSET": "utf8mb4", "COLLATION": "utf8mb4_bin"},
    }


DATA_DIR = Path(env.str(PREFIX + "DATA_DIR", str(BASE_DIR / "var"))).absolute()
DATA_DIR.mkdir(parents=True, exist_ok=True)

DEBUG = env.bool(PREFIX + "DEBUG", False)
SECRET_KEY = _secret_key(DATA_DIR)
ALLOWED_HOSTS = env.list(
    PREFIX + "ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"]
)
CSRF_TRUSTED_ORIGINS = env.list(PREFIX + "CSRF_TRUSTED_ORIGINS", default=[])

# Behind a proxy (docs/operations.md): where it shows us, and whose X-Forwarded-Proto
# counts.
PATH_PREFIX = _path_prefix()
FORCE_SCRIPT_NAME = PATH_PREFIX or None
TRUSTED_PROXIES = _networks("TRUSTED_PROXIES", ["127.0.0.1", "::1"])

# Where `manage.py serve` listens, and how many processes and threads answer.
SERVE_HOST = env.str(PREFIX + "HOST", "127.0.0.1")
SERVE_PORT = _positive_integer("PORT", 8000)
SERVE_WORKERS = _positive_integer("WORKERS", 2)
SERVE_THREADS = _positive_integer("THREADS", 4)

# Access (contract J-12).
ACCESS_MODE = _choice("ACCESS_MODE", "disabled", ("disabled", "enforced"))
AUTH_TOKEN = env.str(PREFIX + "AUTH_TOKEN", "")

# Recall and packing (contract A.2, J-18, J-29).
CONTEXT_ASSEMBLY_MAX_ENTRIES = _positive_integer(
    "RUNTIME_CONTEXT_ASSEMBLY_MAX_ENTRIES", limits.ASSEMBLY_ENTRIES_DEFAULT
)
READERS = frozenset(
    env.list(PREFIX + "RUNTIME_READERS", default=list(limits.SELECTABLE_FAMILIES))
)
if unknown := READERS - set(limits.SELECTABLE_FAMILIES):
    raise ImproperlyConfigured(
        f"{PREFIX}RUNTIME_READERS names unknown families: {sorted(unknown)}."
    )
RECALL_GATE_LATIN = _number("RUNTIME_RECALL_GATE_LATIN", 0.29, 0, 1)
RECALL_GATE_HAN = _number("RUNTIME_RECALL_GATE_HAN", 0.20, 0, 1)
RECALL_ITEM_FLOOR = _number("RUNTIME_RECALL_ITEM_FLOOR", 0.10, 0, 1)
RECALL_POSTINGS_CAP = _positive_integer("RUNTIME_RECALL_POSTINGS_CAP", 5000)

# Where worker processes share their counters; `manage.py serve` makes a folder itself.
METRICS_DIR = env.str("PROMETHEUS_MULTIPROC_DIR", "")

# Bodies larger than this are 413 before they are parsed (J-5).
MAX_BODY_BYTES = _positive_integer("MAX_BODY_BYTES", 4 * 1024 * 1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = FILE_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
FILE_UPLOAD_HANDLERS = ["inspector.uploads.BoundedMemoryHandler"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "prepare",
    "inspector",
]

MIDDLEWARE = [
    "prepare.middleware.RequestIdMiddleware",
    "prepare.middleware.PathPrefixMiddleware",
    "prepare.metrics.MetricsMiddleware",
    "inspector.middleware.HeadersMiddleware",
    "prepare.middleware.AdminHeadersMiddleware",
    "prepare.middleware.HostMiddleware",
    "prepare.middleware.LoopbackMiddleware",
    "prepare.middleware.PathSegmentMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
APPEND_SLASH = False  # a redirect would drop the body of a POST (J-16)

ROOT_URLCONF = "powercontext.urls"
WSGI_APPLICATION = "powercontext.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# One backend for the MySQL family; on MySQL and MariaDB it is Django's own.
environ.Env.DB_SCHEMES |= dict.fromkeys(
    ("oceanbase", "mysql", "mysql2"), "powercontext.oceanbase"
)
DATABASES = {
    "default": env.db("DATABASE_URL", f"sqlite:///{DATA_DIR / 'powercontext.sqlite3'}")
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # IMMEDIATE: a deferred transaction that reads and then writes fails at once when
    # another writer was faster; no timeout helps (C-43). Prepare reads deferred.
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
            "PRAGMA cache_size=-65536; PRAGMA mmap_size=268435456;"
        ),
    }
    # An in-memory test database breaks threads ("database schema is locked"); one file
    # for each process lets two test runs go on side by side.
    DATABASES["default"]["TEST"] = {"NAME": DATA_DIR / f"test-{os.getpid()}.sqlite3"}
    Path(DATABASES["default"]["NAME"]).parent.mkdir(parents=True, exist_ok=True)
else:
    DATABASES["default"] |= _mysql_family(env.str("DATABASE_URL"))
DATABASES["default"]["CONN_MAX_AGE"] = 60
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# Identities of 256 characters are 1,024 bytes, a third of what an index key may hold.
SILENCED_SYSTEM_CHECKS = ["mysql.W003"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Only the Inspector is translated; everything else speaks English.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

STATIC_URL = f"{PATH_PREFIX}/static/"
STATIC_ROOT = DATA_DIR / "static"
STATIC_ROOT.mkdir(exist_ok=True)
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
LOGIN_URL = "inspector:sign-in"
LOGIN_REDIRECT_URL = "inspector:scopes"
CSRF_FAILURE_VIEW = "inspector.errorpages.csrf_failure"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.bool(PREFIX + "SECURE_COOKIES", False)
LANGUAGE_COOKIE_SECURE = SESSION_COOKIE_SECURE
# Names of our own: a browser sends the cookies of every application on the same host.
SESSION_COOKIE_NAME = "powercontext_session"
CSRF_COOKIE_NAME = "powercontext_csrf"
LANGUAGE_COOKIE_NAME = "powercontext_language"
# What the admin says after an action names stored things: not in a cookie.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = LANGUAGE_COOKIE_PATH = PATH_PREFIX or "/"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["prepare.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["prepare.authentication.HasPrincipal"],
    "DEFAULT_RENDERER_CLASSES": ["prepare.renderers.EnvelopeRenderer"],
    "DEFAULT_PARSER_CLASSES": ["prepare.parsers.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "prepare.openapi.OperationSchema",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "prepare.authentication.OneRenderer",
    "EXCEPTION_HANDLER": "prepare.handlers.handle_exception",
    "UNAUTHENTICATED_USER": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "PowerContext on Django",
    "DESCRIPTION": "Byte-exact prepared context with exact citations.",
    "VERSION": "1.4.0",
    "OAS_VERSION": "3.1.0",  # its schemas are JSON Schema, null included
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "SERVERS": [{"url": PATH_PREFIX}] if PATH_PREFIX else [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "POSTPROCESSING_HOOKS": ["prepare.openapi.close_objects"],
}

LOG_LEVEL = _choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "request_id": {"()": "prepare.requestid.RequestIdFilter"},
        "content_free": {"()": "prepare.logcontent.ContentFreeFilter"},
    },
    "formatters": {
        "line": {
            "format": "{asctime} {levelname} {name} request_id={request_id} {message}",
            "style": "{",
        }
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["request_id"],
        },
        "none": {"class": "logging.NullHandler"},
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "prepare": {"level": LOG_LEVEL},
        # Bodies, queries and ids never reach a log, at no level and in no handler that
        # is added to root (C-67). SQL is logged with its parameters and templates with
        # their values: both end here. Of a request Django logs path and exception text.
        "django.db.backends": {
            "level": "WARNING",
            "handlers": ["none"],
            "propagate": False,
        },
        "django.template": {
            "level": "WARNING",
            "handlers": ["none"],
            "propagate": False,
        },
        "django.request": {"filters": ["content_free"]},
    },
}
