"""Background work: sends news to the addresses that are due, one task each."""

from functools import cache

from celery import shared_task
from django.utils import timezone

from analysis.notices.news import news_of
from analysis.notices.sending import due, news_for, send_if_new, server_addresses, stands_of


@shared_task
def send_notices() -> None:
    server_addresses()
    find = cache(news_of)  # once for all addresses of a study
    for row in due(timezone.now()).select_related("study"):
        if stands_of(news_for(row, find), row.told) != row.told:
            send_notice.delay(row.pk)


@shared_task
def send_notice(number: int) -> None:
    send_if_new(number)
