"""The button that tries an endpoint: one cheap call, and what came of it in a sentence."""

import time

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from analysis.corpora.embeddings import EmbeddingError, endpoint_embedder
from analysis.endpoints.endpoints import EndpointError
from analysis.endpoints.trial_calls import QUESTION, TrialCall, try_endpoint
from analysis.models import Endpoint
from surveys.console.pages import study_page
from surveys.console.wording import plural
from surveys.studies import audit
from surveys.studies.access import Role, within_limit

BUSY = "This was tried often within an hour. Try again later; each try costs something."


@require_POST
@study_page(Role.RESEARCHER)
def try_one(request: HttpRequest, name: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.shown_to(request.user, request.study), name=name)
    if not within_limit(request, "trial"):
        messages.error(request, BUSY)
    else:
        try:
            done = try_embeddings(endpoint) if endpoint.embeddings else try_endpoint(endpoint)
        except (EndpointError, EmbeddingError) as error:
            words, usd, tell = str(error), None, messages.error
        else:
            (words, usd), tell = done, messages.success
        tell(request, words)
        audit.record(request.study, request.user.get_username(), "endpoint tried", name, usd=usd, result=words)
    return redirect("baselines:endpoints", request.study.slug)


def try_embeddings(endpoint: Endpoint) -> TrialCall:
    """One vector, of a few words. Its tokens are not told, so that the cost is unknown and below a cent."""
    began = time.monotonic()
    vectors = endpoint_embedder(endpoint).embed([QUESTION])
    waited = plural(round((time.monotonic() - began) * 1000), "millisecond")
    return TrialCall(f"{endpoint.name} made a vector of {vectors.shape[1]} numbers in {waited}.", None)
