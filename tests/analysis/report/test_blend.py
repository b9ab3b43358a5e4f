"""The blend of sources nearest to the field, in report, page, API, figure and bundle."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.authtoken.models import Token

from analysis.answers.readings import read_everywhere
from analysis.models import Answer, Completion
from analysis.report.filters import Filters
from analysis.report.outputs import write_text
from analysis.report.parts.blend import TOO_FEW, say
from analysis.report.reports import report
from benchmarks.coverage import answers, zipf
from surveys.models import Study
from tests.analysis.report.asked_twice import (
    ITEMS,
    Truth,
    choose,
    make_people,
    make_users,
    reply_all,
    write_letters,
    write_lists,
)
from tests.analysis.report.compare_samples import heading, table
from tests.analysis.report.report_samples import make_teas
from tests.analysis.report.unpacked import agreed_in, recompute, unpack
from tests.analysis.runs.baseline_factories import make_endpoint
from tests.factories import make_account, make_study
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import log_in

pytestmark = pytest.mark.django_db
DRAWS = 400
# Condition, history size, and number of simulated users.
SOURCES = (("offline", None, 0), ("sp-profile", None, 12), ("sp-history", 10, 20), ("sp-history", 100, 24))
TRUTH = (0.5, 0.0, 0.0, 0.5)


def make_blended(people: int = 60, truth: tuple[float, ...] = TRUTH, **changes: Any) -> Study:
    """Lists of teas and a letter; each person answers like one source, drawn with the shares in `truth`."""
    study = make_study(places=200, **changes)
    prompts = {prompt.slug: prompt for prompt in study.current.prompts.all()}
    teas, water, rng = prompts["teas"], prompts["water"], np.random.default_rng(3)
    everybody = make_people(study, Truth(people=people), [teas, water], rng)
    kinds = rng.choice(len(SOURCES), size=people, p=truth)
    write_lists(everybody, teas, answers(np.stack([odds_of(kind, ITEMS) for kind in kinds]), rng))
    write_letters(everybody, water, choose(np.stack([odds_of(kind, 3) for kind in kinds]), rng))
    endpoint = make_endpoint(model="gpt-4o-mini", provider="openai")
    for place, (condition, size, users) in enumerate(SOURCES):
        run, whose = make_users(study, endpoint, condition, users, history_size=size)
        for prompt in (teas, water):
            odds = odds_of(place, 3 if prompt.kind == "choice" else ITEMS)
            reply_all(run, prompt, whose, np.tile(odds, (2 * users or 40, 1)), rng)
    read_everywhere()
    return Study.objects.select_related("current").get(pk=study.pk)


def odds_of(kind: int, size: int) -> np.ndarray:
    return np.roll(zipf(size, 1.5), kind * max(1, size // 5))


world = lasting_world(lambda: make_blended(slug="lasting"))


def rows_in(study: Study, filters: Filters | None = None) -> tuple[dict[str, Any], dict[tuple[str, Any], Any]]:
    """The blend's row, and the sources' rows by condition and size."""
    found = report(study, filters, draws=DRAWS, parts=("blend",))["blend"]
    (blend,) = [row for row in found if row["source"] is None]
    return blend, {(row["source"], row["history_size"]): row for row in found if row["source"]}


def test_half_and_half_is_found_and_told_apart_from_luck(study: Study) -> None:
    blend, sources = rows_in(study)
    assert (blend["units"], blend["prompts"], blend["sources"]) == (60, 2, 4)
    assert {key: (row["units"], row["unit"]) for key, row in sources.items()} == {
        ("offline", None): (40, "repeat"),
        ("sp-profile", None): (12, "simulated user"),
        ("sp-history", 10): (20, "simulated user"),
        ("sp-history", 100): (24, "simulated user"),
    }
    assert sum(row["weight"] for row in sources.values()) == pytest.approx(1)
    for (condition, size, _), true in zip(SOURCES, TRUTH, strict=True):
        row = sources[condition, size]
        assert row["ci_weight"][0] <= true <= row["ci_weight"][1] and abs(row["weight"] - true) < 0.2
        assert blend["distance"] < row["distance"] and blend["fitted"] <= row["distance"]
    assert blend["p_holm"] < 0.01 and blend["ci_gain"][0] > 0 and blend["ci_gain_on_offline"][0] > 0
    assert blend["single"] - blend["distance"] == pytest.approx(blend["gain"])


def test_the_page_opens_with_the_blend_and_shows_its_weights(study: Study) -> None:
    page = log_in(study, "viewer").get(reverse("compare:page", args=[study.slug, "blend"]))
    said = heading(page)
    assert re.match(r"\d+ % \S+.* \(95 % interval \d+–\d+\).* and \d+ % .* come nearest to the field of ChatGPT", said)
    assert "more than luck gives" in said and "n = 60 people, 24 and 12 simulated users, 40 repeats)" in said
    (row,) = table(page, "blend")
    assert row[0] == "ChatGPT" and len(table(page, "blend-sources")) == 4


def test_figure_terminal_and_api_have_it(study: Study) -> None:
    client = log_in(study, "viewer")
    written = client.get(reverse("compare:figure", args=[study.slug, "blend", "csv"])).content.decode()
    rows = list(csv.DictReader(io.StringIO(written)))
    assert len(rows) == 5 and rows[-1]["name"] == "Blend" and float(rows[0]["weight"]) > 0.3
    found = report(study, draws=20)
    assert "THE BLEND NEAREST TO THE FIELD" in write_text(found, ["blend"], 160)
    token = Token.objects.create(user=make_account("reader", study, "viewer"))
    client = Client(headers={"Authorization": f"Token {token.key}"})
    answer = client.get(reverse("api:metrics", args=[study.slug]), {"part": "blend", "draws": "20"})
    assert len(answer.json()["blend"]) == 5


def test_filters_choose_what_may_be_blended(study: Study) -> None:
    blend, sources = rows_in(study, Filters(source=("sp-profile", "sp-history"), prompt=("teas",)))
    assert blend["sources"] == 3 and blend["prompts"] == 1 and blend["offline"] is None
    assert ("offline", None) not in sources


def test_one_source_says_what_to_run(study: Study) -> None:
    blend, sources = rows_in(study, Filters(source=("offline",)))
    assert blend["why"] == TOO_FEW and not sources
    assert say(report(make_teas(), draws=20)) == TOO_FEW == say(report(make_study(slug="nobody"), draws=20))


def test_a_source_of_other_prompts_is_left_out_and_says_why(study: Study) -> None:
    run = study.runs.get(condition="sp-profile")
    Completion.objects.filter(run=run, prompt__slug="water").delete()
    blend, sources = rows_in(study)
    assert (blend["prompts"], blend["sources"]) == (2, 3)
    assert "weight" not in sources["sp-profile", None] and "Left out" in sources["sp-profile", None]["why"]


def test_a_prompt_that_two_people_answered_leaves_the_others_theirs(study: Study) -> None:
    water = Answer.objects.filter(response__prompt__slug="water").order_by("pk")
    water.exclude(pk__in=[answer.pk for answer in water[:2]]).update(letter="")
    blend, _ = rows_in(study)
    assert blend["prompt_slugs"] == ["teas"] and blend["p"] < 0.05 and blend["ci_distance"]


def test_what_is_farther_held_out_is_not_said_to_be_nearer(study: Study) -> None:
    found = report(study, draws=20, parts=("blend",))
    found["blend"][0] |= {"gain": -0.003, "ci_gain": [-0.01, 0.004], "p": 0.4, "p_holm": 0.4}
    farther = "it is 0.003 (95\u202f% interval \u22120.004 to 0.010) farther than the nearest source alone"
    assert f": {farther}, not told apart from luck (p = 0.4" in say(found)
    found["blend"][0] |= {"p": 0.01, "p_holm": 0.01}
    assert ", more than luck gives (p = 0.01" in say(found) and f") {farther}." in say(found)
    # A blend of one source, with too few people to test it.
    found["blend"][0] |= {"p": None, "p_holm": None}
    for row in found["blend"][1:]:
        row["weight"] = float(row["source"] == "offline")
    assert say(found).startswith("Offline alone comes nearest") and "are too few to tell that from luck." in say(found)


def test_few_people_have_numbers_and_no_test() -> None:
    found = report(make_blended(6), draws=20)
    blend = next(row for row in found["blend"] if row["source"] is None)
    assert blend["fitted"] is not None and blend["p"] is None and "Fewer than 10 people" in blend["why"]
    assert "n = 6 people" in say(found) and say(found).endswith("are too few to tell that from luck.")


def test_where_people_answer_as_one_source_does_no_blend_is_told_apart() -> None:
    found = report(make_blended(truth=(0.0, 0.0, 1.0, 0.0)), draws=DRAWS, parts=("blend",))
    blend = next(row for row in found["blend"] if row["source"] is None)
    assert blend["p"] > 0.05
    assert say(found).startswith("No blend comes surely nearer to the field of ChatGPT than SP-History")


@pytest.mark.slow
def test_a_bundle_finds_the_same_distances_and_weights(tmp_path: Path) -> None:
    unpack(make_blended(24), tmp_path)
    done = recompute(tmp_path)
    assert done.returncode == 0, done.stdout
    assert agreed_in(done.stdout)["blend"] == 5 + 4 + 8 + 1 + 4
