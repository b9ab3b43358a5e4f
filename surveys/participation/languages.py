"""The language of a person's pages: one that has all the study's texts, first by browser, then by choice."""

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation
from django.utils.translation.trans_real import parse_accept_lang_header

from surveys.models import Participant
from surveys.studies.files.definitions import Definition
from surveys.studies.lifecycle import definition_of


def languages_for(definition: Definition) -> tuple[str, ...]:
    """Languages to choose from, the study's own first; for annotators those of the pages: items stay as they are."""
    return tuple(dict(settings.LANGUAGES)) if definition.annotation else definition.offered


def choose_language(request: HttpRequest, definition: Definition) -> str:
    """A newcomer's language: as the address or form asks, else by browser (for annotators the study's own)."""
    offered = languages_for(definition)
    asked = request.GET.get("lang") or request.POST.get("lang")
    if asked in offered:
        return asked
    return definition.language if definition.annotation else preferred(request.headers.get("Accept-Language"), offered)


def preferred(header: str | None, offered: tuple[str, ...]) -> str:
    """The header's first language that is offered, its region aside if need be; else the first offered."""
    families = {code.lower().partition("-")[0]: code for code in reversed(offered)}
    exact = {code.lower(): code for code in offered}
    for wanted, _ in parse_accept_lang_header(header or ""):
        if found := exact.get(wanted) or families.get(wanted.partition("-")[0]):
            return found
    return offered[0]


def language_of(participant: Participant) -> str:
    definition = definition_of(participant.version_id)
    return participant.language if participant.language in languages_for(definition) else definition.language


def change_language(request: HttpRequest, participant: Participant) -> bool:
    """Keep the language that the address asks for; return whether it changed."""
    asked = request.GET.get("lang", "") if request.META.get("QUERY_STRING") else ""
    if asked == participant.language or asked not in languages_for(definition_of(participant.version_id)):
        return False
    participant.language = asked
    Participant.objects.filter(pk=participant.pk).update(language=asked)
    return True


def speak(request: HttpRequest, language: str) -> None:
    """Switch the page's own words to this language, or to English if the pages lack it."""
    if language != translation.get_language():
        try:
            translation.activate(translation.get_supported_language_variant(language))
        except LookupError:
            translation.activate("en")
    request.LANGUAGE_CODE = translation.get_language()


def language_menu(definition: Definition, chosen: str) -> dict[str, object]:
    """Context of the language menu, which has no names if there is only one language."""
    names = {code: translation.get_language_info(code)["name_local"] for code in languages_for(definition)[1:]}
    own = languages_for(definition)[0]
    if names:
        names = {own: translation.get_language_info(own)["name_local"], **names}
    return {"language": chosen, "language_names": names}
