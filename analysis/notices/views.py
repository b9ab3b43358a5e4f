"""The page *Notices*: a study's addresses and how their last message went; adding, testing and removing them."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path

from analysis.models import NoticeAddress
from analysis.notices import sending
from analysis.notices.news import NEWS, news_of
from analysis.notices.sending import NoticeError, found_or_failed, secret_of, shown
from surveys.studies.access import Role, within_limit
from surveys.studies.pages import FORM, saying, show, study_page

BUSY = "Addresses were added or tried often within an hour. Try again later."


class AddressForm(forms.Form):
    kind = forms.ChoiceField(choices=NoticeAddress.Kind.choices)
    address = forms.CharField(max_length=500, label="Mail address, or the webhook’s https address")
    every = forms.ChoiceField(label="How often", choices=NoticeAddress.Every.choices)


@study_page(Role.OWNER, FORM)
def notices(request: HttpRequest) -> HttpResponse:
    if "test" in request.POST or "remove" in request.POST:
        return change(request)
    form, added = AddressForm(request.POST or None), None
    if form.is_valid() and not within_limit(request, "notice"):
        form.add_error(None, BUSY)
    if form.is_valid():
        try:
            added = sending.add_address(request.study, **form.cleaned_data, actor=request.user.get_username())
            form = AddressForm()
        except NoticeError as error:
            form.add_error("address", str(error))
    rows = request.study.notice_addresses.all()
    page: dict[str, Any] = {
        "form": form,
        "addresses": [(row, shown(row)) for row in rows],
        "server_hears": settings.EMAIL_HOST and settings.NOTICES_MAIL,
        "secret": secret_of(added) if added and added.kind == NoticeAddress.Kind.WEBHOOK else "",
        "header": sending.SIGNATURE,
        "news": found_or_failed(request.study, news_of),
        "kinds": list(NEWS),
    }
    return show(request, "notices/notices.html", "notices", 422 if form.errors else 200, **page)


def change(request: HttpRequest) -> HttpResponse:
    """Send a test to one address, or remove it."""
    wanted = request.POST.get("test") or request.POST.get("remove", "")
    number = int(wanted) if wanted.isdecimal() and len(wanted) < 19 else 0
    row = get_object_or_404(request.study.notice_addresses, pk=number)
    if "remove" in request.POST:
        sending.remove_address(row, request.user.get_username())
        messages.success(request, f"{shown(row)} gets no more news.")
        return redirect("notices:page", request.study.slug)
    with saying(request, NoticeError):
        if not within_limit(request, "notice"):
            raise NoticeError(BUSY)
        sending.try_address(row)
        messages.success(request, f"The test went to {shown(row)}.")
    return redirect("notices:page", request.study.slug)


urlpatterns = [path("console/<slug:slug>/notices/", notices, name="page")]
