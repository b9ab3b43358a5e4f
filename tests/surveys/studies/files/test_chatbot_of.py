"""Which chatbot a model belongs to: by the file's patterns, by the models' usual names, or none."""

from dataclasses import replace

import pytest

from surveys.studies.files.definitions import Definition, chatbot_of
from tests.surveys.studies.files.sample_study import make_definition


def with_models(**models: tuple[str, ...]) -> Definition:
    study = make_definition()
    bots = tuple(replace(bot, models=models.get(bot.slug, ())) for bot in study.chatbots)
    return replace(study, chatbots=bots)


@pytest.mark.parametrize(
    ("model", "chatbot"),
    [
        ("gpt-4o-mini-2024-07-18", "chatgpt"),
        ("GPT-4o", "chatgpt"),
        ("chatgpt-4o-latest", "chatgpt"),
        ("o3-mini", "chatgpt"),
        ("openai/o1", "chatgpt"),
        ("gemini-2.0-flash", "gemini"),
        ("Google/Gemini-2.0-Flash-001", "gemini"),
        ("models/gemini-1.5-pro", "gemini"),
        ("claude-3-5-sonnet", None),  # no chatbot of this study
        ("google/gemma-2-9b", None),
        ("olmo-2", None),
        ("fake", None),
        ("", None),
    ],
)
def test_model_belongs_to_the_chatbot_that_is_known_for_it(model: str, chatbot: str | None) -> None:
    assert chatbot_of(make_definition(), model) == chatbot


def test_patterns_of_the_file_take_the_place_of_what_is_known_and_the_first_wins() -> None:
    study = with_models(chatgpt=("gpt-4o-mini*", "In-House?"))
    assert [chatbot_of(study, model) for model in ("gpt-4o-mini-2024-07-18", "in-house1", "gpt-4o", "gemini-pro")] == [
        "chatgpt",
        "chatgpt",
        None,
        "gemini",
    ]
    assert chatbot_of(with_models(chatgpt=("*",), gemini=("gemini*",)), "gemini-pro") == "chatgpt"


def test_chatbot_is_known_by_its_name_too() -> None:
    study = make_definition()
    bots = (replace(study.chatbots[0], slug="bot-a", name="Claude"), replace(study.chatbots[1], slug="bot-b", name="B"))
    assert chatbot_of(replace(study, chatbots=bots), "claude-3-5-sonnet") == "bot-a"
    assert chatbot_of(replace(study, chatbots=bots), "gemini-pro") is None
