"""Background work with Prolific; each task takes ids and calls one rule."""

import logging
import os

from celery import shared_task
from django.conf import settings
from django.db.models import Q

from surveys.models import Payment, ProlificMessage, ProlificStudy, Study
from surveys.prolific.client import ProlificClient, ProlificError
from surveys.prolific.contact import keep_groups, send_messages
from surveys.prolific.transfer import LIVE, pay_and_read_back, prolific_ids

logger = logging.getLogger(__name__)
PENDING = (Payment.State.DECIDED, Payment.State.SENDING, Payment.State.UNKNOWN, Payment.State.SENT)
UNSENT = (ProlificMessage.State.ASKED, ProlificMessage.State.SENDING)


@shared_task
def pay_and_read_back_all() -> int:
    """Pay and read back studies that people can be in, or with payments or messages due; returns how many."""
    if not os.environ.get(settings.PROLIFIC_TOKEN_VARIABLE):
        return 0
    owing = Payment.objects.filter(state__in=PENDING).values("submission__remote__study")
    writing = ProlificMessage.objects.filter(state__in=UNSENT).values("study")
    wanted = Q(state__in=LIVE) | Q(pk__in=owing) | Q(pk__in=writing)
    studies = [each for each in Study.objects.filter(wanted, current__isnull=False) if prolific_ids(each)]
    for study in studies:
        keep_contact(study.pk)
    return sum(pay_and_read_back_one(study.pk) for study in studies)


@shared_task
def pay_and_read_back_one(study_id: int) -> bool:
    """Pay and read back one study. A fault is stored for the page; the next tick tries again."""
    study = Study.objects.select_related("current").get(pk=study_id)
    try:
        with ProlificClient() as client:
            return pay_and_read_back(study, client)
    except ProlificError as fault:
        logger.warning("Prolific, study %s: %s", study.slug, fault)
        ProlificStudy.objects.filter(study=study).update(fault=str(fault)[:500])
        return False


@shared_task
def keep_contact(study_id: int) -> int:
    """Update a study's groups and send its messages; return how many were sent. The next tick tries the rest."""
    study = Study.objects.select_related("current").get(pk=study_id)
    try:
        with ProlificClient() as client:
            keep_groups(study, client)
            return send_messages(study, client)
    except ProlificError as fault:
        logger.warning("Prolific, study %s: %s", study.slug, fault)
        return 0
