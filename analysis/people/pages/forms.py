"""Forms for the settings of each step, and for personas and corpora to upload."""

from dataclasses import fields
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Model, QuerySet

from analysis.models import Corpus, Endpoint, PersonaSet
from analysis.people.attributes import LEAST_CONFIDENCE
from analysis.people.corpora import IMPORTERS
from analysis.people.corpora.importing import NAME
from analysis.people.corpora.uploads import MOST_BYTES
from analysis.people.funnel import FilterSettings, SettingError
from analysis.people.merging import SIMILARITY
from analysis.people.pushing import KIND
from analysis.people.sampling import SIZE
from analysis.people.steps import is_busy, say_busy
from surveys.models import Study
from surveys.studies.access import Role, studies_of
from surveys.studies.wording import RaisedAs

MOST_PERSONA_BYTES = 20_000_000


def field_of(default: Any, **more: Any) -> forms.Field:
    if isinstance(default, bool):
        return forms.BooleanField(required=False, initial=default, **more)
    kind = {int: forms.IntegerField, float: forms.FloatField, str: forms.CharField}[type(default)]
    return kind(initial=default, **more)


class StepForm(forms.Form):
    """A form for a step of `corpus`, begun by `user` on the pages of `study`."""

    def __init__(self, *args: Any, user: Any, study: Study, corpus: Corpus, **given: Any) -> None:
        super().__init__(*args, **given)


class FilterForm(StepForm):
    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        for each in fields(FilterSettings):
            label = each.name.replace("_", " ").capitalize()
            words = each.metadata["words"]
            self.fields[each.name] = field_of(each.default, label=label, help_text=f"{words[0].upper()}{words[1:]}.")

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if not self.errors:
            with RaisedAs(forms.ValidationError, SettingError):
                FilterSettings(**given)
        return given


class MergeForm(StepForm):
    similarity = field_of(SIMILARITY, min_value=0.01, max_value=0.99, help_text="From which attributes are merged.")
    least = field_of(
        LEAST_CONFIDENCE, label="Least confidence", min_value=0, max_value=1, help_text="Less is left out."
    )
    without_sensitive = field_of(False, help_text="Leave out what is marked as sensitive.")
    endpoint = forms.ChoiceField(required=False, help_text="What embeds the texts; an endpoint serves /embeddings.")

    def __init__(self, *args: Any, study: Study, **given: Any) -> None:
        super().__init__(*args, study=study, **given)
        names = endpoints_of(study).filter(embeddings=True).values_list("name", flat=True)
        self.fields["endpoint"].choices = [("", "The model on this computer"), *((name, name) for name in names)]


class SampleForm(StepForm):
    size = field_of(SIZE, min_value=1, max_value=1_000_000, help_text="Users to choose; all where there are fewer.")
    seed = field_of(0, min_value=0, max_value=2**31)


class PushForm(StepForm):
    """The study to push into: one of the user's that the corpus is shared with, or any of theirs if they own it."""

    study = forms.ChoiceField(help_text="A study of annotators who judge attributes.")
    pilot = field_of(False, label="For the pilot’s annotators", help_text="The main study gets the rest.")
    items = forms.IntegerField(min_value=1, required=False, help_text="At most so many; empty: as many as there are.")
    people = forms.IntegerField(min_value=1, required=False, help_text="Of at most so many users, by the seed.")
    seed = field_of(0, min_value=0, max_value=2**31)

    def __init__(self, *args: Any, user: Any, corpus: Corpus, **given: Any) -> None:
        super().__init__(*args, user=user, corpus=corpus, **given)
        self.fields["items"].optional = self.fields["people"].optional = True
        self.fields["study"].choices = [(study.slug, study.title) for study in studies_to_push(user, corpus)]


def endpoints_of(study: Study) -> QuerySet[Endpoint]:
    """Endpoints that may be asked about a corpus on the pages of this study."""
    return Endpoint.objects.usable_in([study]).order_by("name")


def studies_for_items(user: Any) -> QuerySet[Study]:
    """Studies of the kind `attribute` in which the account is at least a researcher."""
    return studies_of(user, Role.RESEARCHER).filter(current__document__annotation__kind=KIND).order_by("slug")


def studies_to_push(user: Any, corpus: Corpus) -> QuerySet[Study]:
    mine = studies_for_items(user)
    return mine if corpus.may_be_changed_by(user) else mine.filter(pk__in=corpus.shared_with.values("pk"))


FORMS: dict[str, type[StepForm]] = {"filter": FilterForm, "merge": MergeForm, "sample": SampleForm, "push": PushForm}


def say_taken(name: str) -> str:
    return f"{name} is taken, and only its owner adds to it. Choose another name."


class OriginForm(forms.Form):
    """Where a corpus or a set of personas comes from."""

    source = forms.CharField(max_length=500, help_text="Where they come from, or that it is not known.")
    licence = forms.CharField(max_length=100, help_text="Under which they may be used, or that it is not known.")


class BroughtForm(OriginForm):
    """A file for something named, new or existing; source and licence are required unless it has them already."""

    model: Any
    name = forms.CharField(max_length=50, help_text="Up to 50 letters, digits, - and _, such as wildchat.")

    def __init__(self, *args: Any, user: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.user = user
        for name in ("source", "licence"):
            self.fields[name].required = False

    def clean_name(self) -> str:
        name = self.cleaned_data["name"]
        if not NAME.fullmatch(name):
            raise forms.ValidationError("Use up to 50 letters, digits, - and _.")
        known = self.model.objects.filter(name=name).first()
        if known and not known.may_be_changed_by(self.user):
            raise forms.ValidationError(say_taken(name))
        return name

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        known = self.model.objects.filter(name=given.get("name", "")).first()
        for name in ("source", "licence"):
            if not given.get(name) and not getattr(known, name, "") and name not in self.errors:
                self.add_error(name, "Say it, or that it is not known.")
        return given


class PersonasForm(BroughtForm):
    """A file of personas, small enough to be read while somebody waits."""

    model, field_order = PersonaSet, ("name", "source", "licence", "file", "lines")
    file = forms.FileField(
        help_text="JSON lines with persona or sentences, or a text with one a line. At most "
        f"{MOST_PERSONA_BYTES // 1_000_000} MB; larger files are read by the command import_personas."
    )
    lines = forms.ChoiceField(
        label="A line of a text file is",
        choices=[("persona", "a description of a person"), ("sentence", "one sentence about somebody")],
        required=False,
    )

    def clean_file(self) -> UploadedFile:
        file = self.cleaned_data["file"]
        if file.size > MOST_PERSONA_BYTES:
            raise forms.ValidationError(
                f"The file has {file.size / 1e6:,.0f} MB. Read it on the server: manage.py import_personas NAME FILE."
            )
        return file


class UploadForm(BroughtForm):
    """Conversations for a corpus, new or existing. The file itself may come in parts afterwards."""

    model, field_order = Corpus, ("name", "format", "source", "licence", "file", "faulty")
    format = forms.ChoiceField(choices=[(name, name) for name in sorted(IMPORTERS)])
    file = forms.FileField(
        help_text="JSON, JSON lines or Parquet, also packed (.gz, .zst). At most "
        f"{MOST_BYTES // 1_000_000_000} GB; larger files are read by the command import_corpus."
    )
    faulty = forms.BooleanField(
        label="Leave out records that cannot be read",
        required=False,
        help_text="Otherwise a file with such a record changes nothing, and its faults are listed.",
    )

    def clean_file(self) -> UploadedFile:
        file = self.cleaned_data["file"]
        if file.size > MOST_BYTES:
            raise forms.ValidationError(
                f"The file has {file.size / 1e9:,.1f} GB. Read it on the server: manage.py import_corpus NAME FILE."
            )
        return file

    def clean_name(self) -> str:
        name = super().clean_name()
        known = Corpus.objects.filter(name=name).first()
        if known and is_busy(known):  # say it now, not when the whole file has been sent
            raise forms.ValidationError(say_busy(known))
        return name


class PartsForm(UploadForm):
    """An upload whose file comes in parts, after its name and size."""

    file = None
    filename = forms.CharField(max_length=200)
    size = forms.IntegerField(
        min_value=1,
        max_value=MOST_BYTES,
        error_messages={"min_value": "The file is empty.", "max_value": "Read a file of more than 2 GB on the server."},
    )


def settings_of(row: Model | None) -> dict[str, Any]:
    """The initial values of a form: the settings of the last time."""
    last = dict(row.settings) if row else {}
    if "model" in last:  # a merge's; an endpoint's is endpoint/model
        name = last["model"].partition("/")[0]
        last |= {"endpoint": name if Endpoint.objects.filter(name=name, embeddings=True).exists() else ""}
    return last | ({"least": last["least_confidence"]} if "least_confidence" in last else {})
