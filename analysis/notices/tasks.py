"""Background work: news for whoever is due, each address by a task of its own."""

from celery import shared_task
from django.utils import timezone

from analysis.notices.sending import due, server_addresses, tell


@shared_task
def send_notices() -> None:
    server_addresses()
    for number in due(timezone.now()).values_list("pk", flat=True):
        send_notice.delay(number)


@shared_task
def send_notice(number: int) -> None:
    tell(number)
