"""The demo: two studies and a log-in, built through the same rules that real studies use."""

from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from surveys import studies
from surveys.definitions import read_study
from surveys.models import Membership, Study

USERNAME = "demo"
PASSWORD = "field-study-demo"
FILES = Path(__file__).resolve().parent / "studies"
ACTOR = "demo"


class NotADemo(Exception):
    """The demo has a known password, so it is refused where real people could reach it."""


def build_demo() -> Study:
    """The two shipped studies and the demo account; `demo` is live, `field-13` waits as a draft. Idempotent."""
    if not settings.DEBUG:
        raise NotADemo("The demo has a published password. It runs with DEBUG=true only; make an owner instead.")
    with transaction.atomic():
        user = demo_user()
        for slug in ("demo", "field-13"):
            study = shipped_study(slug)
            Membership.objects.get_or_create(study=study, user=user, defaults={"role": Membership.Role.OWNER})
        study = Study.objects.get(slug="demo")
        if study.state == Study.State.DRAFT:
            studies.launch(study, ACTOR)
            study.refresh_from_db()
        return study


def demo_user():
    user, created = get_user_model().objects.get_or_create(username=USERNAME)
    if created:
        user.set_password(PASSWORD)
        user.save()
    return user


def shipped_study(slug: str) -> Study:
    """The study of a shipped file; one that is launched already stays as it was launched."""
    study = Study.objects.filter(slug=slug).first()
    if study is None or not study.is_launched:
        study, _ = studies.load_definition(read_study(FILES / f"{slug}.toml"), ACTOR)
    return study
