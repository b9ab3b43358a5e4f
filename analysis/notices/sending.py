"""Sending each address its news in one message: what is new, the mail or signed request, and the outcome."""

import asyncio
import hashlib
import hmac
import json
import logging
import secrets
import smtplib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.core.validators import validate_email
from django.db.models import F, QuerySet
from django.utils import timezone

from analysis.endpoints.endpoints import EndpointError, host_of, refuse_private
from analysis.endpoints.providers.addresses import PublicResolver
from analysis.models import NoticeAddress
from analysis.notices.news import News, full_disk, news_of
from surveys.models import Study, locks
from surveys.studies import audit
from surveys.studies.wording import RaisedAs, plural

Kind, Every = NoticeAddress.Kind, NoticeAddress.Every
PAUSES = {Every.HOUR: timedelta(hours=1), Every.DAY: timedelta(days=1)}
FIRST_RETRY, LAST_RETRY = timedelta(minutes=5), timedelta(days=1)
PATIENCE = 10  # seconds
NO_WEBHOOK = "This is no address of a webhook. It looks like https://hooks.example.org/abc."
MOST = 10  # addresses of a study
log = logging.getLogger(__name__)
SIGNATURE = "X-Field-Study-Signature"
UNCOUNTED = "count"  # the news that a study's news could not be counted
AllNews = dict[Study | None, list[News]]  # by study; the server's own under None


class NoticeError(Exception):
    """An unusable address or an undelivered message; the words name at most a webhook's host, and no secret."""


# --- addresses ----------------------------------------------------------------


def add_address(study: Study, kind: str, address: str, every: str, actor: str) -> NoticeAddress:
    """Add an address to a study. Raises NoticeError. Every message checks the address again."""
    check_address(kind, address)
    if study.notice_addresses.count() >= MOST:
        raise NoticeError(f"A study has at most {MOST} addresses. Remove one first.")
    if study.notice_addresses.filter(kind=kind, address=address).exists():
        raise NoticeError("This address is there already.")
    given = {"kind": kind, "address": address, "every": every, "created_by": actor, "salt": secrets.token_hex(16)}
    row = NoticeAddress.objects.create(study=study, **given)
    audit.record(study, actor, "notices begun", noted(row), every=every)
    return row


def remove_address(row: NoticeAddress, actor: str) -> None:
    audit.record(row.study, actor, "notices ended", noted(row))
    row.delete()


def check_address(kind: str, address: str) -> None:
    if kind == Kind.MAIL:
        if not settings.EMAIL_HOST:
            raise NoticeError("This server sends no mail: EMAIL_HOST is not set.")
        try:
            validate_email(address)
        except ValidationError:
            raise NoticeError("This is no mail address.") from None
        return
    try:
        (host, port), parts = host_of(address), urlsplit(address)
    except ValueError:
        raise NoticeError(NO_WEBHOOK) from None
    if parts.username:
        raise NoticeError(NO_WEBHOOK)
    if settings.ALLOW_PRIVATE_ENDPOINTS:
        return
    if parts.scheme != "https":
        raise NoticeError("A webhook’s address begins with https://.")
    with RaisedAs(NoticeError, EndpointError):
        refuse_private(host, port)


def shown(row: NoticeAddress) -> str:
    """The address as pages show it, without a webhook's path, which may be its key."""
    return row.address if row.kind == Kind.MAIL else f"{urlsplit(row.address).hostname}/…"


def noted(row: NoticeAddress) -> str:
    """The address as the audit trail keeps it for good: only a domain or host, so that it names nobody."""
    return f"…@{row.address.rpartition('@')[2]}" if row.kind == Kind.MAIL else shown(row)


def secret_of(row: NoticeAddress) -> str:
    """The secret that signs messages to this address; shown once, when the address is added."""
    return hmac.new(settings.SECRET_KEY.encode(), f"notice {row.salt}".encode(), hashlib.sha256).hexdigest()


def server_addresses() -> None:
    """Bring the addresses that hear of all studies in line with NOTICES_MAIL."""
    rows = NoticeAddress.objects.filter(study=None)
    rows.exclude(address__in=settings.NOTICES_MAIL).delete()
    for address in settings.NOTICES_MAIL:
        given = {"kind": Kind.MAIL, "address": address}
        rows.get_or_create(**given, study=None, defaults={"created_by": "settings", "every": Every.DAY})


# --- what is due ----------------------------------------------------------------


def due(now: datetime) -> QuerySet[NoticeAddress]:
    return NoticeAddress.objects.filter(next_at__lte=now)


def news_for(row: NoticeAddress, find: Callable[[Study], list[News]] = news_of) -> AllNews:
    """All news for an address: of its study or, for one from NOTICES_MAIL, of the server and unarchived studies."""
    if row.study:
        return {row.study: found_or_failed(row.study, find)}
    studies = Study.objects.filter(archived_at=None).order_by("slug")
    return {None: full_disk(), **{study: found_or_failed(study, find) for study in studies}}


def found_or_failed(study: Study, find: Callable[[Study], list[News]]) -> list[News]:
    """The study's news; if counting fails, that is its news, so that other studies' news still goes out."""
    try:
        return find(study)
    except Exception:
        log.exception("News of %s could not be counted", study.slug)
        return [News(UNCOUNTED, "Its news could not be counted; the log says why.")]


def stands_of(found: AllNews, told: Mapping[str, str]) -> dict[str, str]:
    """The news as an address's `told` stores it, with what was `told` before of studies that could not be counted."""
    failed = tuple(
        f"{study.pk} " for study, news in found.items() if study and any(one.key == UNCOUNTED for one in news)
    )
    kept = {key: stands for key, stands in told.items() if key.startswith(failed)}
    return kept | {key_in(study, piece): piece.stands for study, news in found.items() for piece in news}


def send_if_new(number: int) -> None:
    """Send an address its news if any is new; after a failure try again, later each time."""
    with locks.alone_in_process("notice", number) as is_mine:
        row = NoticeAddress.objects.select_related("study").filter(pk=number, next_at__lte=timezone.now()).first()
        if not is_mine or row is None:
            return
        found = news_for(row)
        stands = stands_of(found, row.told)
        fresh = {
            study: new
            for study, news in found.items()
            if (new := [piece for piece in news if row.told.get(key_in(study, piece)) != piece.stands])
        }
        if fresh:
            try_to_send(row, fresh, stands)
        elif stands != row.told:  # what has ended is news if it happens again
            NoticeAddress.objects.filter(pk=row.pk).update(told=stands)


def key_in(study: Study | None, piece: News) -> str:
    return f"{study.pk} {piece.key}" if study else piece.key


def try_to_send(row: NoticeAddress, news: AllNews, stands: dict[str, str]) -> None:
    rows, now = NoticeAddress.objects.filter(pk=row.pk), timezone.now()
    try:
        send(row, news)
    except NoticeError as error:
        pause = min(FIRST_RETRY * 2 ** min(row.tries, 12), LAST_RETRY)
        rows.update(fault=str(error)[:300], tries=F("tries") + 1, next_at=now + pause)
    else:
        rows.update(told=stands, told_at=now, fault="", tries=0, next_at=now + PAUSES[Every(row.every)])


def try_address(row: NoticeAddress) -> None:
    """Send a test message at once and record the outcome with the address. Raises NoticeError."""
    rows = NoticeAddress.objects.filter(pk=row.pk)
    try:
        send(row, {row.study: [News("test", "This is a test: news of the study will look like this.")]}, is_test=True)
    except NoticeError as error:
        rows.update(fault=str(error)[:300])
        raise
    rows.update(fault="", tries=0, next_at=timezone.now() if row.fault else row.next_at)


# --- sending --------------------------------------------------------------------


def send(row: NoticeAddress, news: AllNews, is_test: bool = False) -> None:
    check_address(row.kind, row.address)
    if row.kind == Kind.MAIL:
        send_as_mail(row.address, news)
    else:
        asyncio.run(post(row, news, is_test))


def send_as_mail(address: str, news: AllNews) -> None:
    count = plural(sum(map(len, news.values())), "piece of news", "pieces of news")
    titles = ", ".join(title_of(study) for study in news)
    lines = [
        line
        for study, pieces in news.items()
        for line in (title_of(study), *(f"- {piece.words}" for piece in pieces), f"  {console_of(study)}", "")
    ]
    try:
        send_mail(" ".join(f"{titles}: {count}".split()), "\n".join(lines), None, [address])
    except (OSError, smtplib.SMTPException) as error:
        raise NoticeError(f"The mail server did not take it: {type(error).__name__}.") from None


def title_of(study: Study | None) -> str:
    return study.title if study else "The server"


def console_of(study: Study | None) -> str:
    return f"{settings.SITE_URL}/console/{study.slug}/" if study else f"{settings.SITE_URL}/console/"


def body_of(news: AllNews, is_test: bool) -> bytes:
    about: list[dict[str, Any]] = [
        {
            "study": study.slug if study else "",
            "title": title_of(study),
            "console": console_of(study),
            "news": [{"key": piece.key, "words": piece.words} for piece in pieces],
        }
        for study, pieces in news.items()
    ]
    return json.dumps({"test": is_test, "studies": about}, ensure_ascii=False).encode()


def signature(secret: str, at: int, body: bytes) -> str:
    """`t=` the second, `v1=` HMAC-SHA-256 of that second, a dot and the body, so that replays can be recognised."""
    return f"t={at},v1={hmac.new(secret.encode(), f'{at}.'.encode() + body, hashlib.sha256).hexdigest()}"


async def post(row: NoticeAddress, news: AllNews, is_test: bool) -> None:
    """Post without following redirects or, unless ALLOW_PRIVATE_ENDPOINTS is set, names of private addresses."""
    body, at = body_of(news, is_test), int(timezone.now().timestamp())
    headers = {"Content-Type": "application/json", SIGNATURE: signature(secret_of(row), at, body)}
    resolver = None if settings.ALLOW_PRIVATE_ENDPOINTS else PublicResolver()
    connector, limit = aiohttp.TCPConnector(resolver=resolver), aiohttp.ClientTimeout(total=PATIENCE)
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=limit) as session,
            session.post(row.address, data=body, headers=headers, allow_redirects=False) as answer,
        ):
            if not 200 <= answer.status < 300:
                raise NoticeError(f"The webhook answered {answer.status}.")
    except TimeoutError:
        raise NoticeError(f"The webhook did not answer within {PATIENCE} seconds.") from None
    except (aiohttp.ClientError, OSError) as error:
        raise NoticeError(f"The webhook can’t be reached: {type(error).__name__}.") from None
