"""What belongs to no study gets an owner, and is shared with the studies that use it."""

from datetime import timedelta
from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

OWNED = ("corpus", "exampleset", "personaset", "run", "trainedmodel")
NEAR = timedelta(minutes=1)  # what the console makes it notes in the same transaction


def give(apps: Any, schema_editor: Any) -> None:
    """To the account that made it, where that is known; commands' work stays the server's.

    Every study keeps what its runs, its items or its members' steps have used, and the answers to benchmarks that
    stand in its comparisons.
    """
    accounts = {row.username: row for row in apps.get_model(settings.AUTH_USER_MODEL).objects.all()}
    events = apps.get_model("surveys", "AuditEvent").objects.order_by("at")
    studies = list(apps.get_model("surveys", "Study").objects.values_list("pk", flat=True))
    runs, items = apps.get_model("analysis", "Run").objects, apps.get_model("surveys", "AnnotationItem").objects

    def own(row: Any, name: str | None) -> None:
        if name in accounts:
            row.owner = accounts[name]
            row.save(update_fields=["owner"])

    def made_by(row: Any, action: str) -> str | None:
        near = events.filter(
            action=action, subject=row.name, at__gte=row.created_at - NEAR, at__lte=row.created_at + NEAR
        )
        return near.values_list("actor", flat=True).first()

    def lend(row: Any, *found: Any) -> None:
        row.shared_with.set({pk for rows in found for pk in rows if pk is not None})

    def of(chosen: Any) -> Any:
        return chosen.order_by().values_list("study", flat=True).distinct()

    for corpus in apps.get_model("analysis", "Corpus").objects.all():
        own(corpus, made_by(corpus, "corpus uploaded"))
        done = Q(action__startswith="people: ") | Q(action__in=["corpus uploaded", "source of a corpus changed"])
        used = of(events.filter(done, subject=corpus.name)), of(items.filter(corpus=corpus.name))
        lend(corpus, of(runs.filter(corpus=corpus)), *used)
    for personas in apps.get_model("analysis", "PersonaSet").objects.all():
        own(personas, made_by(personas, "personas uploaded"))
        done = events.filter(action__in=["personas uploaded", "source of personas changed"], subject=personas.name)
        lend(personas, of(runs.filter(personas=personas)), of(done))
    for run in runs.filter(study=None).select_related("corpus", "endpoint"):
        own(run, run.created_by)
        if run.condition != "task":
            lend(run, studies)
            continue
        ordered = Q(action=f"people: {run.instruction.rpartition('-')[0]}", detail__endpoint=run.endpoint.name)
        asked = ordered & Q(subject=run.corpus.name if run.corpus else "")
        lend(run, of(events.filter(asked | Q(action__startswith="baseline ", subject=f"run {run.pk}"))))
    annotations = apps.get_model("surveys", "Annotation").objects
    for model in apps.get_model("analysis", "TrainedModel").objects.filter(study=None):
        own(model, model.started_by)
        said = annotations.filter(judge__startswith=f"trained {model.name} ").values_list("item__study", flat=True)
        done = events.filter(action__in=["training stopped", "training resumed"], subject=model.name)
        lend(model, said.distinct(), of(done))
        model.examples.shared_with.add(*model.shared_with.all())
    for upload in apps.get_model("analysis", "CorpusUpload").objects.all():
        own(upload, upload.created_by)


def own_and_share(model: str) -> list[migrations.AddField]:
    owner = models.ForeignKey(
        blank=True,
        help_text="Who made it; none: the server's.",
        null=True,
        on_delete=django.db.models.deletion.SET_NULL,
        related_name="+",
        to=settings.AUTH_USER_MODEL,
    )
    shared_with = models.ManyToManyField(blank=True, related_name="+", to="surveys.study")
    return [migrations.AddField(model, "owner", owner), migrations.AddField(model, "shared_with", shared_with)]


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0016_uploads_are_kept_files"),
        ("surveys", "0011_light_writes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        *(operation for model in OWNED for operation in own_and_share(model)),
        migrations.AddField(
            model_name="corpusupload",
            name="owner",
            field=models.ForeignKey(
                help_text="Who sends it.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunPython(give, migrations.RunPython.noop),
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("study", None), ("owner", None), _connector="OR"), name="run_of_study_or_owner"
            ),
        ),
        migrations.AddConstraint(
            model_name="trainedmodel",
            constraint=models.CheckConstraint(
                condition=models.Q(("study", None), ("owner", None), _connector="OR"), name="trained_of_study_or_owner"
            ),
        ),
    ]
