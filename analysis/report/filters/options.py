"""What the filters of a study can be: for menus, and to refuse what is not there."""

from typing import Any

from analysis.report.dataset import runs_of
from analysis.report.filters.filters import Filters, check_filters
from surveys.models import ChatbotContext, Participant, Study
from surveys.studies.lifecycle import definition_of


def filter_options(study: Study) -> dict[str, list[Any]]:
    """For each filter that takes names or numbers, those that this study has."""
    definition = definition_of(study.current_id)
    versions = Participant.objects.filter(study=study).values_list("version__number", flat=True)
    shown = ChatbotContext.objects.filter(participant__study=study).exclude(model_shown="")
    runs = list(runs_of(study).select_related("endpoint"))
    return {
        "chatbot": [bot.slug for bot in definition.chatbots],
        "cell": [cell.slug for cell in definition.cells],
        "answer": [(question.slug, option) for question in definition.questions for option in question.options],
        "memory": list(ChatbotContext.Switch.values),
        "plan": list(ChatbotContext.Plan.values),
        "model_shown": sorted(set(shown.values_list("model_shown", flat=True))),
        "version": sorted({*versions, study.current.number}),
        "prompt": [prompt.slug for prompt in definition.prompts],
        "source": ["field", *sorted({run.source for run in runs})],
        "model": sorted({run.model for run in runs}),
        "history_size": sorted({run.history_size for run in runs if run.history_size is not None}),
        "temperature": sorted({run.temperature for run in runs if run.temperature is not None}),
    }


def checked(study: Study, filters: Filters) -> Filters:
    """The filters, when everything that they name is there; raises FilterError."""
    if filters.to_pairs():
        check_filters(filters, filter_options(study))
    return filters
