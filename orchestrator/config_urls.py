"""URLs of servers as people and platforms write them, made into the form SQLAlchemy and Celery's transport take."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

_POSTGRES = {"postgres", "postgresql", "postgresql+psycopg2", "postgresql+psycopg"}
_DATABASE_EXAMPLE = "postgresql://user:password@host:5432/database"
_REDIS = {"redis": "redis", "valkey": "redis", "rediss": "rediss", "valkeys": "rediss"}
_SOCKET = {"unix", "redis+socket", "redis+unix", "valkey+unix", "socket"}
_AMQP = {"amqp", "amqps", "pyamqp"}
_BROKER_EXAMPLE = "redis://host:6379/0, rediss://..., unix:///path/to/redis.sock or amqp://user:password@host//"


def database_url(text: str) -> str:
    """`postgres://`, `postgresql://` (query kept, so `sslmode` too) as `postgresql+psycopg2://`.

    Raises `ValueError` with a sentence that does not repeat the URL, which may hold a password.
    """
    scheme, rest = _scheme(text, _DATABASE_EXAMPLE)
    if scheme not in _POSTGRES:
        raise ValueError(f"'{scheme}://' is not Postgres; give a URL like {_DATABASE_EXAMPLE}")
    _split("postgresql" + rest)
    return "postgresql+psycopg2" + rest


def broker_url(text: str, *, verify_tls: bool = True) -> str:
    """A Redis, Valkey (TCP, TLS or unix socket) or RabbitMQ URL in the form kombu takes.

    `verify_tls` says what a `rediss://` URL without its own `ssl_cert_reqs` does. Raises `ValueError`.
    """
    scheme, rest = _scheme(text, _BROKER_EXAMPLE)
    parts = _split("x" + rest)
    if scheme in _SOCKET:
        return _socket_url(parts)
    if scheme in _REDIS:
        return _redis_url(_REDIS[scheme], rest, parts, verify_tls)
    if scheme in _AMQP:
        return scheme + rest
    raise ValueError(f"'{scheme}://' is not a broker this can use; give {_BROKER_EXAMPLE}")


_SMTP_EXAMPLE = "smtp://user:password@host:587, smtps://... or smtp://host:25?tls=none"


def smtp_url(text: str) -> str:
    """The URL of a mail server: `smtp` (TLS is begun after the greeting, unless `?tls=none`) or `smtps` (from the first
    byte). Raises `ValueError` with a sentence that does not repeat the URL."""
    scheme, rest = _scheme(text, _SMTP_EXAMPLE)
    if scheme not in ("smtp", "smtps"):
        raise ValueError(f"'{scheme}://' is not a mail server; give {_SMTP_EXAMPLE}")
    parts = _split("x" + rest)
    if not parts.hostname:
        raise ValueError(f"names no host; give {_SMTP_EXAMPLE}")
    if parts.query not in ("", "tls=none", "tls=starttls") or (parts.query and scheme == "smtps"):
        raise ValueError(f"has a query that means nothing here; give {_SMTP_EXAMPLE}")
    return scheme + rest


def names(text: str) -> tuple[str, ...]:
    """Texts separated by commas, each once."""
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def origins(text: str) -> tuple[str, ...]:
    """Origins of pages, `https://host:port` separated by commas; raises `ValueError`."""
    found = names(text)
    for origin in found:
        if origin != "*" and not re.fullmatch(r"https?://[^/\s]+", origin):
            raise ValueError(
                f"'{origin}' is not an origin (write them as https://host:port, separated by commas; * is any)"
            )
    return found


def public_url(text: str) -> str:
    """The address of the web interface, without a slash at its end; raises `ValueError`."""
    if not re.fullmatch(r"https?://[^/\s@?#]+(/[^\s?#]*)?", text):
        raise ValueError(f"'{text}' is not the address of the web interface (write it as https://host/path)")
    return text.rstrip("/")


def hosts(text: str) -> tuple[str, ...]:
    """Names of hosts, `*.` for all below one, separated by commas; raises `ValueError`."""
    found = names(text)
    for host in found:
        if not re.fullmatch(r"(\*\.)?[A-Za-z0-9._-]+", host):
            raise ValueError(f"'{host}' is not a host's name (write them as hooks.example.com or *.example.com)")
    return found


def address(text: str) -> str:
    """A plain address of e-mail; raises `ValueError`."""
    if not re.fullmatch(r"[^@\s<>,;]+@[^@\s<>,;]+", text):
        raise ValueError(f"'{text}' is not a plain address (somebody@example.com)")
    return text


def psql_url(url: str) -> str:
    """A database URL as psql and other programs take it."""
    return url.replace("postgresql+psycopg2://", "postgresql://", 1)


def masked(url: str) -> str:
    """The URL without its password, for logs and errors."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    user = quote(parts.username or "", safe="")
    return parts._replace(netloc=f"{user}:***@{parts.netloc.rpartition('@')[2]}").geturl()


def _scheme(text: str, example: str) -> tuple[str, str]:
    if text[:1] in "'\"":
        raise ValueError("is in quotes; remove them")
    scheme, separator, rest = text.partition("://")
    if not separator:
        raise ValueError(f"is not a URL; give one like {example}")
    if any(character.isspace() for character in text):
        raise ValueError("holds white space; write it as %20")
    return scheme.lower(), separator + rest


def _split(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.fragment:
        raise ValueError("holds a '#'; write it as %23")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError(
            "its port is not a number from 0 to 65535 (is a ':' or '@' in the password unescaped?)"
        ) from None
    return parts


def _redis_url(scheme: str, rest: str, parts: SplitResult, verify_tls: bool) -> str:
    database = parts.path.strip("/")
    if database and not database.isdigit():
        raise ValueError(f"a Redis database is a number, not '{database}'")
    if scheme == "redis" or "ssl_cert_reqs" in dict(parse_qsl(parts.query)):
        return scheme + rest
    reqs = "required" if verify_tls else "none"
    return f"{scheme}{rest}{'&' if parts.query else '?'}ssl_cert_reqs={reqs}"


def _socket_url(parts: SplitResult) -> str:
    query = dict(parse_qsl(parts.query))
    database = query.pop("db", None) or query.pop("virtual_host", None) or "0"
    if not parts.path.strip("/"):
        raise ValueError("names no socket; give unix:///path/to/redis.sock")
    return f"redis+socket://{parts.netloc}{parts.path}?" + urlencode({"virtual_host": database} | query)


_BLOB_URL = re.compile(r"[a-z][a-z0-9+.-]*(::[a-z][a-z0-9+.-]*)*://\S*", re.IGNORECASE)


def blob_url(text: str) -> str:
    """The URL of a blob store, as fsspec understands it; raises `ValueError`."""
    if not _BLOB_URL.fullmatch(text):
        raise ValueError("must be a URL such as file:///var/lib/orchestrator/blobs or s3://bucket/folder")
    return text
