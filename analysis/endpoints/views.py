"""The console's pages of endpoints: which models can be asked, at which prices, and which keys may go where."""

import os
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.validators import MinValueValidator
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.views.decorators.http import require_safe

from analysis.endpoints.endpoints import LIMITS, EndpointError, add_endpoint
from analysis.endpoints.owners.sharing import take_back
from analysis.models import Endpoint
from surveys.models import Study
from surveys.studies import audit
from surveys.studies.access import Role, studies_of
from surveys.studies.pages import FORM, may, show, study_page

FAKE = Endpoint.Provider.FAKE
# Variables with providers' keys. Others, such as the site's own secrets, are sent nowhere.
KEY_NAME = re.compile(r"[A-Z][A-Z0-9_]*_(KEY|TOKEN)")
OWN_SECRETS = re.compile(r"SECRET|DATABASE|REDIS|PROLIFIC|PASSWORD")

SECTIONS = {
    "Which model, and where": ("name", "provider", "model", "base_url", "key_env", "embeddings"),
    "How much at once": ("concurrency", "requests_per_minute", "tokens_per_minute", "context_window", "max_tokens"),
    "What it costs, and what else is sent": ("price_in", "price_out", "json_schema", "extra"),
    "Who may use it": ("shared", "shared_with"),
}


class EndpointForm(forms.ModelForm):
    """An endpoint's address, limits and prices. The key itself is never here, only its variable's name."""

    data: Any

    # Django's own address field refuses a host without a dot, such as a container's name; the rule that saves
    # an endpoint checks the address.
    base_url = forms.CharField(label="Base URL", max_length=200, required=False, help_text="It usually ends in /v1.")

    class Meta:
        model = Endpoint
        fields = (
            *("name", "provider", "model", "key_env", *LIMITS, "price_in", "price_out"),
            *("json_schema", "extra", "embeddings", "shared", "shared_with"),
        )
        labels = {
            "key_env": "Variable with the key",
            "concurrency": "Calls in flight",
            "context_window": "Context window",
            "max_tokens": "Longest reply",
            "price_in": "Price in",
            "price_out": "Price out",
            "json_schema": "Ask for JSON by schema",
            "extra": "More fields of each request",
            "embeddings": "It makes embeddings",
            "shared": "All studies of this server may use it",
            "shared_with": "Or only these of your studies",
        }
        widgets = {"extra": forms.Textarea(attrs={"rows": 3})}
        error_messages = {"name": {"invalid": "Use up to 50 letters, digits, - and _."}}
        help_texts = {
            "key_env": "The name of an environment variable, such as OPENAI_API_KEY, never the key itself.",
            "requests_per_minute": "Over all workers; empty: no limit.",
            "tokens_per_minute": "Over all workers; empty: no limit.",
            "concurrency": "In each lane.",
            "max_tokens": "Tokens.",
            "extra": "A JSON object.",
            "shared": "",
            "shared_with": "Their runs are sent with your key. They change nothing of it.",
        }

    def __init__(self, *args: Any, user: Any, study: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.may_pair, self.study = user.is_superuser, study
        self.fields["shared_with"].queryset = (
            studies_of(user).exclude(pk=self.instance.study_id or study.pk).order_by("slug")
        )
        self.fields["shared_with"].optional = True
        self.fields["base_url"].initial = self.instance.base_url
        for name in ("price_in", "price_out"):
            self.initial[name] = f"{Decimal(getattr(self.instance, name)).normalize():f}"
        for name in ("key_env", "requests_per_minute", "tokens_per_minute", "extra"):
            self.fields[name].required, self.fields[name].optional = False, True
        for name in LIMITS:
            self.fields[name].validators.append(MinValueValidator(1))
        if self.instance.pk:
            self.fields["name"].disabled = True
            self.fields["provider"].disabled = self.instance.runs.exists()

    def sections(self) -> Iterator[tuple[str, list[forms.BoundField]]]:
        """The form as its page shows it: a title, and the fields below it."""
        no_studies = ["shared_with"] if not self.fields["shared_with"].queryset else []
        for title, names in SECTIONS.items():
            yield title, [self[name] for name in names if name not in no_studies]

    def clean_extra(self) -> dict[str, Any]:
        extra = self.cleaned_data["extra"]
        if extra in (None, ""):
            return {}
        if not isinstance(extra, dict):
            raise forms.ValidationError('A JSON object, such as {"top_p": 0.9}.')
        return extra

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        variable = given.get("key_env")
        if (
            variable
            and "key_env" in self.changed_data
            and (not KEY_NAME.fullmatch(variable) or OWN_SECRETS.search(variable))
        ):
            # It is not shown again, as it might be the key itself, typed into the wrong field.
            self.data = self.data.copy()
            self.data[self.add_prefix("key_env")] = ""
            self.add_error(
                "key_env", "This takes the name of a variable that ends in _KEY or _TOKEN, not the key itself."
            )
        elif variable and not self.may_pair and not is_paired(variable, given.get("base_url", ""), self.study):
            self.add_error(
                "key_env",
                f"{variable} was not sent to this address before. An administrator has to allow it once, by "
                "making the first endpoint with it.",
            )
        return given


def is_paired(variable: str, url: str, study: Any) -> bool:
    """Whether an endpoint that the study may use sends this key to this address already."""
    usable = Endpoint.objects.usable_in([study]).filter(key_env=variable).exclude(provider=FAKE)
    known = usable.values_list("base_url", flat=True)
    return origin_of(url) in {origin_of(other) for other in known}


def origin_of(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def has_key(endpoint: Endpoint) -> bool:
    """Whether the variable is set where this runs; workers may have an environment of their own."""
    return bool(endpoint.key_env and os.environ.get(endpoint.key_env, "").strip())


# --- pages ---

HERE = "endpoints"


@study_page(only=require_safe)
def endpoints(request: HttpRequest) -> HttpResponse:
    usable = Endpoint.objects.shown_to(request.user, request.study)
    found = usable.select_related("study").annotate(number=Count("runs")).order_by("name")
    rows = [
        {
            **{"endpoint": endpoint, "has_key": has_key(endpoint), "is_own": endpoint.study == request.study},
            "prices": f"{endpoint.price_in.normalize():f}, {endpoint.price_out.normalize():f}",
            "may_change": may_change(request, endpoint),
        }
        for endpoint in found
    ]
    return show(request, "endpoints/endpoints.html", HERE, rows=rows)


@study_page(Role.OWNER, FORM)
def edit(request: HttpRequest, name: str = "") -> HttpResponse:
    """Make an endpoint of this study, or change the one with this name."""
    usable = Endpoint.objects.shown_to(request.user, request.study)
    old = get_object_or_404(usable, name=name) if name else None
    if old and not may_change(request, old):
        raise PermissionDenied(f"{name} belongs to others: this study may use it, not change it.")
    sent = request.POST if request.method == "POST" else None
    form = EndpointForm(sent, instance=old, user=request.user, study=request.study)
    if sent is not None and form.is_valid() and save(request, form):
        messages.success(request, f"{form.cleaned_data['name']} has been saved.")
        return redirect("baselines:endpoints", request.study.slug)
    return show(request, "endpoints/endpoint.html", HERE, 422 if form.errors else 200, form=form, old=name)


def may_change(request: HttpRequest, endpoint: Endpoint) -> bool:
    """Whether the account owns the endpoint's study, on that study's pages, or is an administrator."""
    return request.user.is_superuser or (endpoint.study == request.study and may(request, Role.OWNER))


def save(request: HttpRequest, form: EndpointForm) -> bool:
    """Save the endpoint, and record in the trail what has changed, from what to what; False if the form is faulty."""
    fields = {key: value for key, value in form.cleaned_data.items() if key not in ("name", "shared_with")}
    old = Endpoint.objects.filter(name=form.cleaned_data["name"]).first()
    owner = {} if old else {"study": request.study}
    try:
        with transaction.atomic():
            before = set(users_of(old)) if old else set()
            changed = {
                key: [getattr(old, key), value] for key, value in fields.items() if old and getattr(old, key) != value
            }
            endpoint = add_endpoint(form.cleaned_data["name"], **fields, **owner)
            shared_with = share(endpoint, form)
            take_back(endpoint, before - set(users_of(endpoint)))
            audit.record(
                endpoint.study or request.study, request.user.get_username(), "endpoint saved", endpoint.name,
                model=endpoint.model, base_url=endpoint.base_url, key_env=endpoint.key_env,
                price_in=endpoint.price_in, price_out=endpoint.price_out, shared=endpoint.shared,
                shared_with=shared_with, changed=changed,
            )  # fmt: skip
    except EndpointError as error:
        form.add_error(None, str(error))
        return False
    return True


def users_of(endpoint: Endpoint) -> QuerySet[Study]:
    """The studies that may use the endpoint."""
    if endpoint.study is None or endpoint.shared:
        return Study.objects.all()
    return Study.objects.filter(Q(pk=endpoint.study_id) | Q(pk__in=endpoint.shared_with.values("pk")))


def share(endpoint: Endpoint, form: EndpointForm) -> list[str]:
    """Share it with the chosen studies; those that the account does not see keep it. Return the slugs of all."""
    seen = form.fields["shared_with"].queryset
    unseen = endpoint.shared_with.exclude(pk__in=seen.values("pk"))
    endpoint.shared_with.set([*form.cleaned_data["shared_with"], *unseen])
    return list(endpoint.shared_with.order_by("slug").values_list("slug", flat=True))


ADDRESS = "console/<slug:slug>/baselines/endpoints/"
urlpatterns = [
    path(ADDRESS, endpoints, name="endpoints"),
    path(f"{ADDRESS}new/", edit, name="new-endpoint"),
    path(f"{ADDRESS}<slug:name>/", edit, name="endpoint"),
]
