"""Logging in and out, and an account's own password."""

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from surveys.access.access import within_limit
from surveys.console.pages import member_page, use_english

log_in_page = LoginView.as_view(template_name="console/login.html", redirect_authenticated_user=True)


@require_http_methods(["GET", "POST", "HEAD"])
def log_in(request: HttpRequest) -> HttpResponse:
    use_english(request)
    if request.method == "POST" and not within_limit(request, "login"):
        return render(request, "console/login.html", {"busy": True}, status=429)
    return log_in_page(request)


@member_page
@require_http_methods(["GET", "POST", "HEAD"])
def account(request: HttpRequest) -> HttpResponse:
    form = PasswordChangeForm(request.user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        update_session_auth_hash(request, form.user)
        messages.success(request, "Your password is changed.")
        return redirect("console:account")
    return render(request, "console/account.html", {"form": form}, status=422 if form.errors else 200)
