"""The database's rows for support, to search and read only; the console changes them."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from surveys import models


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows that only rules write. Changing one here would bypass quotas, codes and the audit trail."""

    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def show(model: type[Model], columns: str, related: str = "", *, filters: str = "", search: str = "") -> None:
    """Register a model with these columns, the related rows they need, filters and fields to search."""
    options = {"list_display": columns, "list_select_related": related, "list_filter": filters, "search_fields": search}
    admin.site.register(model, ReadOnlyAdmin, **{name: words.split() for name, words in options.items() if words})


show(models.Study, "slug title state launched_at closed_at", filters="state", search="slug title")
show(models.StudyVersion, "study number sha256 created_at frozen_at", "study", search="sha256 study__slug")
show(
    models.Participant,
    "pseudonym study state origin pilot cell last_seen_at",
    "study cell",
    filters="study state origin pilot",
    search="pseudonym =pid =sessions__session_id",
)
show(
    models.Session,
    "session_id participant rule prolific_status first_seen_at",
    "participant",
    search="=session_id participant__pseudonym",
)
show(
    models.Response,
    "participant prompt revision accepted submitted_at",
    "participant prompt",
    filters="accepted pilot",
    search="participant__pseudonym =text_sha256",
)
show(
    models.Flag,
    "participant prompt check_name check_version outcome shown_at",
    "participant prompt",
    filters="check_name outcome",
    search="participant__pseudonym",
)
show(
    models.ChatbotContext,
    "participant product model_shown plan memory device",
    "participant",
    search="participant__pseudonym model_shown",
)
show(models.QuotaCell, "name study chatbot slug", "study", search="name study__slug")
show(
    models.Place, "cell number participant expires_at confirmed_at", "cell participant", search="participant__pseudonym"
)
show(models.AnonymousExit, "version kind origin pilot step day", "version__study", filters="kind origin")
show(models.AuditEvent, "study number at actor action subject", "study", search="action actor subject")
show(models.Membership, "study user role", "study user", search="study__slug user__username")
show(models.BenchmarkItem, "benchmark item subject answer", filters="benchmark", search="item question")
show(
    models.AnnotationItem,
    "key study kind purpose pilot cluster corpus",
    "study",
    filters="study kind purpose pilot",
    search="key source cluster",
)
show(
    models.Annotation,
    "item participant judge state revision created_at",
    "item participant",
    filters="state",
    search="item__key participant__pseudonym judge",
)
show(models.GateDecision, "study number pilot decided_by decided_at", "study")
