"""The forms of the participant's pages, built from the study's definition."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from surveys.models import ChatbotContext
from surveys.studies.files.definitions import Definition
from surveys.studies.files.schema import (
    NONE,
    SEVERAL,
    AttentionCheck,
    Chatbot,
    ComprehensionCheck,
    Perception,
    Question,
)
from surveys.studies.perception import FIGURES, OWN_QUESTION, UNSEEN, UNSEEN_LABEL

LONGEST_ANSWER = 2_000


class ChoiceField(forms.ChoiceField):
    """A choice of a few, as radio buttons."""

    widget = forms.RadioSelect
    default_error_messages = {
        "required": _("Please choose one answer."),
        "invalid_choice": _("Please choose one of the answers shown."),
    }


class QuestionsForm(forms.Form):
    """The questions of one page, by slug; `chatbot` asks for the chatbot."""

    def __init__(self, definition: Definition, asked: Iterable[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        questions = {question.slug: question for question in definition.questions}
        for slug in asked:
            if slug == "chatbot":
                self.fields["chatbot"] = chatbot_field(definition)
            else:
                self.fields[f"q-{slug}"] = question_field(questions[slug])

    def answers(self) -> dict[str, str]:
        """Answers by question slug; empty strings for questions left empty."""
        return {
            name.removeprefix("q-"): "" if value is None else str(value) for name, value in self.cleaned_data.items()
        }

    @staticmethod
    def initial_of(answers: Mapping[str, str]) -> dict[str, str]:
        """The form's initial values for answers by slug."""
        return {slug if slug == "chatbot" else f"q-{slug}": answer for slug, answer in answers.items()}


def chatbot_field(definition: Definition) -> forms.Field:
    asked = definition.chatbot_question
    bots = [(bot.slug, bot.name) for bot in definition.chatbots]
    several = [(SEVERAL, asked.several)] if asked.several and len(bots) > 1 else []
    none = [(NONE, asked.none)] if asked.none else []
    return ChoiceField(label=asked.text, choices=bots + several + none)


def question_field(question: Question) -> forms.Field:
    shared = {"label": question.text, "help_text": question.help, "required": question.required}
    if question.kind == "choice":
        return ChoiceField(choices=question.choices, **shared)
    if question.kind == "number":
        message = {"required": _("Please give a number."), "invalid": _("Please give a whole number.")}
        return forms.IntegerField(min_value=0, max_value=10_000, error_messages=message, **shared)
    message = {"required": _("Please write an answer.")}
    return forms.CharField(max_length=LONGEST_ANSWER, error_messages=message, **shared)


class CheckForm(forms.Form):
    """One attention check, or the question in words instead of a figure."""

    def __init__(self, check: AttentionCheck | Perception, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["answer"] = ChoiceField(label=check.text, choices=check.choices)


class FigureForm(forms.Form):
    """The figure that a person saw in the moving dots."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        figures = [(name, gettext(label)) for name, (label, _inside) in FIGURES.items()]
        label, choices = _("What do you see in the moving dots?"), [*figures, (UNSEEN, gettext(UNSEEN_LABEL))]
        self.fields["seen"] = ChoiceField(label=label, choices=choices)


def question_in_words(asked: Perception) -> Perception:
    """The study's own question, or ours in the page's language."""
    if asked.text:
        return asked
    options = tuple(gettext(option) for option in OWN_QUESTION.options)
    return replace(OWN_QUESTION, text=gettext(OWN_QUESTION.text), shown_options=options)


class ComprehensionForm(forms.Form):
    """All comprehension checks on one page."""

    def __init__(self, checks: tuple[ComprehensionCheck, ...], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for check in checks:
            self.fields[check.slug] = ChoiceField(label=check.text, choices=check.choices)


YES_NO = (("on", _("Yes")), ("off", _("No")), ("unknown", _("I can't tell")))
PLANS = (("free", _("Free")), ("paid", _("Paid")), ("work", _("Work or school")), ("unknown", _("I can't tell")))


class ContextForm(forms.ModelForm):
    """The chatbot settings that no question asked for; asks which chatbot only of people who were assigned none."""

    class Meta:
        model = ChatbotContext
        fields = ["memory", "personalisation", "plan", "model_shown"]

    def __init__(self, definition: Definition, bot: Chatbot | None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if bot is None:
            bots = [(bot.slug, bot.name) for bot in definition.chatbots] + [("other", gettext("Another one"))]
            self.fields["product"] = ChoiceField(label=_("Which chatbot are you using now?"), choices=bots)
            self.order_fields(["product"])
        asked = {question.setting for question in definition.questions}
        shown_as = gettext("Shown as “%(name)s”.")
        for name, label, choices, shown in (
            ("memory", _("Does it remember earlier chats?"), YES_NO, bot and bot.memory_name),
            ("personalisation", _("Have you told it how to answer you?"), YES_NO, bot and bot.instructions_name),
            ("plan", _("Which plan are you on?"), PLANS, ""),
        ):
            if name in asked:
                del self.fields[name]
                continue
            help_text = shown_as % {"name": shown} if shown else ""
            self.fields[name] = ChoiceField(label=label, choices=choices, help_text=help_text)
        self.fields["model_shown"] = forms.CharField(
            label=_("Which model does the chat show?"),
            help_text=bot.model_shown if bot and bot.model_shown else _("Often at the top of the chat."),
            required=False,
            max_length=100,
        )


class LastForm(forms.Form):
    comments = forms.CharField(
        label=_("Is there anything you would like to tell us?"),
        help_text=_("For example, something that did not work. You may leave this empty."),
        required=False,
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 5}),
    )


# Why somebody can't go on, by the codes of `flow.TROUBLES`.
TROUBLE_WORDS = {
    "no-copying": _("Copying or pasting does not work on my device"),
    "no-window": _("I can't have the chatbot and this page open on one device"),
    "no-chatbot": _("My chatbot does not answer, or I can't log in"),
    "no-access": _("I use a screen reader, a magnifier or only the keyboard, and it does not work here"),
    "other": _("Something else"),
}


class TroubleForm(forms.Form):
    why = ChoiceField(label=_("What keeps you from going on?"), choices=list(TROUBLE_WORDS.items()), required=False)
    what = forms.CharField(
        label=_("What is not working?"),
        max_length=LONGEST_ANSWER,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def reason(self) -> str:
        """The choice and the person's own words, cut to 200 characters."""
        said = self.cleaned_data["what"] or "no words"
        return ": ".join(part for part in (self.cleaned_data["why"], said) if part)[:200]
