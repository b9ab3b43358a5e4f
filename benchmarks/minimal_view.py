"""The yardstick: the least that Django does to check a form and store one row, under the platform's own settings.

Serves the participants' addresses too, so that both are measured in the same server process.
"""

from django import forms
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import include, path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt


class MinimalAnswer(models.Model):
    number = models.IntegerField()
    key = models.UUIDField()
    text = models.TextField()
    sent_at = models.DateTimeField(default=timezone.now)

    class Meta:
        app_label = "benchmarks"

    def __str__(self) -> str:
        return str(self.number)


class MinimalForm(forms.Form):
    key = forms.UUIDField()
    text = forms.CharField(max_length=1_000_000, strip=False)


@csrf_exempt
def answer(request: HttpRequest, number: int) -> HttpResponse:
    form = MinimalForm(request.POST)
    if not form.is_valid():
        return HttpResponse(form.errors.as_text(), status=422)
    MinimalAnswer.objects.create(number=number, **form.cleaned_data)
    return redirect("minimal", number + 1)


urlpatterns = [
    path("minimal/<int:number>/", answer, name="minimal"),
    path("", include("surveys.urls")),
]
