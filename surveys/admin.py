"""The rows as they are, for support: to search and to read. Changes go through the console."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from surveys.models import (
    Annotation,
    AnnotationItem,
    AnonymousExit,
    AuditEvent,
    BenchmarkItem,
    ChatbotContext,
    Flag,
    GateDecision,
    Membership,
    Participant,
    Place,
    QuotaCell,
    Response,
    Session,
    Study,
    StudyVersion,
)


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows that rules write. Changing one here would pass by quotas, codes and the audit trail."""

    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Study)
class StudyAdmin(ReadOnlyAdmin):
    list_display = ["slug", "title", "state", "launched_at", "closed_at"]
    list_filter = ["state"]
    search_fields = ["slug", "title"]


@admin.register(StudyVersion)
class StudyVersionAdmin(ReadOnlyAdmin):
    list_display = ["study", "number", "sha256", "created_at", "frozen_at"]
    list_select_related = ["study"]
    search_fields = ["sha256", "study__slug"]


@admin.register(Participant)
class ParticipantAdmin(ReadOnlyAdmin):
    list_display = ["pseudonym", "study", "state", "origin", "pilot", "cell", "last_seen_at"]
    list_select_related = ["study", "cell"]
    list_filter = ["study", "state", "origin", "pilot"]
    search_fields = ["pseudonym", "=pid", "=sessions__session_id"]


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    list_display = ["session_id", "participant", "rule", "prolific_status", "first_seen_at"]
    list_select_related = ["participant"]
    search_fields = ["=session_id", "participant__pseudonym"]


@admin.register(Response)
class ResponseAdmin(ReadOnlyAdmin):
    list_display = ["participant", "prompt", "revision", "accepted", "submitted_at"]
    list_select_related = ["participant", "prompt"]
    list_filter = ["accepted", "pilot"]
    search_fields = ["participant__pseudonym", "=text_sha256"]


@admin.register(Flag)
class FlagAdmin(ReadOnlyAdmin):
    list_display = ["participant", "prompt", "check_name", "check_version", "outcome", "shown_at"]
    list_select_related = ["participant", "prompt"]
    list_filter = ["check_name", "outcome"]
    search_fields = ["participant__pseudonym"]


@admin.register(ChatbotContext)
class ChatbotContextAdmin(ReadOnlyAdmin):
    list_display = ["participant", "product", "model_shown", "plan", "memory", "device"]
    list_select_related = ["participant"]
    search_fields = ["participant__pseudonym", "model_shown"]


@admin.register(QuotaCell)
class QuotaCellAdmin(ReadOnlyAdmin):
    list_display = ["name", "study", "chatbot", "slug"]
    list_select_related = ["study"]
    search_fields = ["name", "study__slug"]


@admin.register(Place)
class PlaceAdmin(ReadOnlyAdmin):
    list_display = ["cell", "number", "participant", "expires_at", "confirmed_at"]
    list_select_related = ["cell", "participant"]
    search_fields = ["participant__pseudonym"]


@admin.register(AnonymousExit)
class AnonymousExitAdmin(ReadOnlyAdmin):
    list_display = ["version", "kind", "origin", "pilot", "step", "day"]
    list_select_related = ["version__study"]
    list_filter = ["kind", "origin"]


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = ["study", "number", "at", "actor", "action", "subject"]
    list_select_related = ["study"]
    search_fields = ["action", "actor", "subject"]


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    list_display = ["study", "user", "role"]
    list_select_related = ["study", "user"]
    search_fields = ["study__slug", "user__username"]


@admin.register(BenchmarkItem)
class BenchmarkItemAdmin(ReadOnlyAdmin):
    list_display = ["benchmark", "item", "subject", "answer"]
    list_filter = ["benchmark"]
    search_fields = ["item", "question"]


@admin.register(AnnotationItem)
class AnnotationItemAdmin(ReadOnlyAdmin):
    list_display = ["key", "study", "kind", "purpose", "pilot", "cluster", "corpus"]
    list_select_related = ["study"]
    list_filter = ["study", "kind", "purpose", "pilot"]
    search_fields = ["key", "source", "cluster"]


@admin.register(Annotation)
class AnnotationAdmin(ReadOnlyAdmin):
    list_display = ["item", "participant", "judge", "state", "revision", "created_at"]
    list_select_related = ["item", "participant"]
    list_filter = ["state"]
    search_fields = ["item__key", "participant__pseudonym", "judge"]


@admin.register(GateDecision)
class GateDecisionAdmin(ReadOnlyAdmin):
    list_display = ["study", "number", "pilot", "decided_by", "decided_at"]
    list_select_related = ["study"]
