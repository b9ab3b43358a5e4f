"""The yardstick: the least that Django can do to check a form, store one row and show the next page.

It runs in the same server process, with the platform's settings and addresses but the middleware of a new Django
project (wsgi.py).
"""

import uuid

from django import forms
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from fieldstudy import urls


class MinimalAnswer(models.Model):
    number = models.IntegerField()
    key = models.UUIDField()
    text = models.TextField()
    html = models.TextField()
    evidence = models.JSONField()
    sent_at = models.DateTimeField(default=timezone.now)

    class Meta:
        app_label = "benchmarks"

    def __str__(self) -> str:
        return str(self.number)


class MinimalForm(forms.Form):
    key = forms.UUIDField()
    text = forms.CharField(max_length=1_000_000, strip=False)
    html = forms.CharField(max_length=2_000_000, strip=False, required=False)
    evidence = forms.JSONField()


@csrf_exempt
def answer(request: HttpRequest, number: int) -> HttpResponse:
    if request.method != "POST":
        return render(request, "minimal.html", {"number": number, "key": uuid.uuid4()})
    form = MinimalForm(request.POST)
    if not form.is_valid():
        return HttpResponse(form.errors.as_text(), status=422)
    MinimalAnswer.objects.create(number=number, **form.cleaned_data)
    return redirect("minimal", number + 1)


urlpatterns = [path("minimal/<int:number>/", answer, name="minimal"), *urls.urlpatterns]
