"""Who may see and change what belongs to no study: its owner, and the studies that it is shared with."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from surveys.models import Study


class OwnedQuerySet(models.QuerySet):
    def shared_to(self, study: Study) -> Any:
        """Rows that the study may use, for any account."""
        return self.filter(pk__in=self.model.shared_with.through.objects.filter(study=study).values(self.key))

    def shown_to(self, account: Any, study: Study) -> Any:
        """Rows that an account may use on the pages of this study: shared ones and its own; administrators use all."""
        if account.is_superuser:
            return self.all()
        return self.filter(Q(owner=account) | Q(pk__in=self.model.objects.shared_to(study).values("pk")))

    def owned_by(self, account: Any) -> Any:
        """Rows that an account may change and share."""
        return self.all() if account.is_superuser else self.filter(owner=account)

    @property
    def key(self) -> str:
        return f"{self.model._meta.model_name}_id"


class Owned(models.Model):
    """A row of an account, or without one of the server, whose administrators then share it."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Who made it; none: the server's.",
    )
    shared_with = models.ManyToManyField(Study, blank=True, related_name="+")

    objects = OwnedQuerySet.as_manager()

    class Meta:
        abstract = True

    def is_shared_with(self, study: Study) -> bool:
        return type(self).objects.shared_to(study).filter(pk=self.pk).exists()

    def is_shown_to(self, account: Any, study: Study) -> bool:
        return type(self).objects.shown_to(account, study).filter(pk=self.pk).exists()

    def may_be_changed_by(self, account: Any) -> bool:
        return account.is_superuser or (self.owner_id is not None and self.owner_id == account.pk)


class OfStudyOrOwnedQuerySet(OwnedQuerySet):
    """Rows that belong to a study, or else to an account."""

    def of_study(self, study: Study) -> Any:
        """The study's own rows, and those without a study that are shared with it."""
        shared = self.model.objects.shared_to(study).filter(study=None)
        return self.filter(Q(study=study) | Q(pk__in=shared.values("pk")))

    def shown_to(self, account: Any, study: Study) -> Any:
        free = Q() if account.is_superuser else Q(owner=account) | Q(pk__in=self.model.objects.shared_to(study))
        return self.filter(Q(study=study) | Q(pk__in=self.model.objects.filter(free, study=None).values("pk")))

    def owned_by(self, account: Any) -> Any:
        return super().owned_by(account).filter(study=None)
