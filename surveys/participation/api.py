"""Where Prolific's webhooks arrive."""

import time

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from redis import RedisError

from surveys.participation import submissions
from surveys.participation.prolific import LARGEST_EVENT, BadSignature, SubmissionEvent, check_signature, read_event
from surveys.studies.access import within_limit


# The signature stands for the sender; no cookie is looked at.
@csrf_exempt
@require_POST
def prolific_webhook(request: HttpRequest) -> JsonResponse:
    """200 for all that is understood, also for unknown ids: Prolific repeats what gets another answer."""
    if not settings.PROLIFIC_WEBHOOK_SECRET:
        return answer(503, "Webhooks are not set up here: PROLIFIC_WEBHOOK_SECRET is empty.")
    if not within_limit(request, "webhook"):
        return answer(429, "Too many calls.")
    if not is_short(request.headers.get("Content-Length") or "0"):
        return answer(413, "The body is too large for an event.")
    timestamp = request.headers.get("X-Prolific-Request-Timestamp", "")
    signature = request.headers.get("X-Prolific-Request-Signature", "")
    try:
        check_signature(settings.PROLIFIC_WEBHOOK_SECRET, request.body, timestamp, signature, time.time())
        event = read_event(request.body, request.headers.get("X-Timestamp") or timestamp)
    except BadSignature as fault:
        return answer(403, str(fault))
    except ValueError as fault:
        return answer(400, f"Not understood: {fault}")
    if event is None:
        return answer(200, "Nothing to do.")
    return process(event, request.headers.get("X-Event-ID", ""), signature)


def is_short(length: str) -> bool:
    return length.isdecimal() and len(length) < 10 and int(length) <= LARGEST_EVENT


def process(event: SubmissionEvent, event_id: str, signature: str) -> JsonResponse:
    try:
        if not submissions.claim_event(event_id, signature):
            return answer(200, "Known already.")
        if not submissions.is_overtaken(event):
            submissions.apply_event(event)
        submissions.keep_claim(event_id, signature)
    except RedisError:
        return answer(503, "Try again later.")
    return answer(200, "Noted.")


def answer(status: int, detail: str) -> JsonResponse:
    return JsonResponse({"detail": detail}, status=status)
