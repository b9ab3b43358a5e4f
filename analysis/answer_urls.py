"""Addresses of the console's pages of answers and their spellings."""

from django.urls import path

from analysis.views import aliases, answers

app_name = "answers"
HERE = "console/<slug:slug>/answers/"
urlpatterns = [
    path(HERE, answers.answers, name="list"),
    path(f"{HERE}standing/", answers.standing_part, name="standing"),
    path(f"{HERE}read/", answers.read_texts, name="read"),
    path(f"{HERE}review/", answers.review, name="review"),
    path(f"{HERE}undo/", answers.undo_decision, name="undo"),
    path(f"{HERE}<int:key>/", answers.answer, name="answer"),
    path(f"{HERE}<int:key>/decide/", answers.decide_answer, name="decide"),
    path(f"{HERE}spellings/", aliases.spellings, name="spellings"),
    path(f"{HERE}spellings/decide/", aliases.decide_spellings, name="decide-spellings"),
    path(f"{HERE}spellings/undo/", aliases.undo_spellings, name="undo-spellings"),
]
