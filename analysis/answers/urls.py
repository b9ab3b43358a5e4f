"""URLs of the console's pages of answers and spellings."""

from django.urls import path

from analysis.answers import alias_views, views

app_name = "answers"
HERE = "console/<slug:slug>/answers/"
urlpatterns = [
    path(HERE, views.answers, name="list"),
    path(f"{HERE}standing/", views.standing_part, name="standing"),
    path(f"{HERE}accuracy/", views.accuracy, name="accuracy"),
    path(f"{HERE}changes/", views.changes, name="changes"),
    path(f"{HERE}read/", views.read_texts, name="read"),
    path(f"{HERE}review/", views.review, name="review"),
    path(f"{HERE}undo/", views.undo_decision, name="undo"),
    path(f"{HERE}<int:key>/", views.answer, name="answer"),
    path(f"{HERE}<int:key>/decide/", views.decide_answer, name="decide"),
    path(f"{HERE}spellings/", alias_views.spellings, name="spellings"),
    path(f"{HERE}spellings/decide/", alias_views.decide_spellings, name="decide-spellings"),
    path(f"{HERE}spellings/undo/", alias_views.undo_spellings, name="undo-spellings"),
]
