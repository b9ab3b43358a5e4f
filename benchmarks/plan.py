"""How long a plan of `field-13` takes: four hypotheses, three scenarios, five numbers of people, 200 replicates."""

import os
import time
from dataclasses import replace
from pathlib import Path

import django

from benchmarks.goals import ROWS, Goal

os.environ |= {"DJANGO_SETTINGS_MODULE": "fieldstudy.settings", "DEBUG": "true"}
django.setup()

from analysis.plans.simulating import Setting, simulate, usual_sizes  # noqa: E402 - needs Django set up
from surveys.studies import lifecycle  # noqa: E402
from surveys.studies.files.definitions import read_study  # noqa: E402
from surveys.studies.files.hypotheses import Hypothesis  # noqa: E402

MOST = 120.0  # seconds
A, B = "field/gemini", "field/chatgpt"
HYPOTHESES = (
    Hypothesis("one-film", "", "item_share", A, "more", B, 0.1, prompts=("movies",), item="x"),
    Hypothesis("varied", "", "entropy_bits", A, "less", B, 0.3),
    Hypothesis("apart", "", "jsd_excess", A, "more", "offline/gemini-2.0-flash", 0.03),
    Hypothesis("right", "", "correct_share", "field", "equal", "offline/gpt-4o-mini", 0.1, prompts=("medicine-2",)),
)


def goals(quick: bool) -> list[Goal]:
    definition = replace(read_study(Path(lifecycle.__file__).parent / "field-13.toml"), hypotheses=HYPOTHESES)
    setting = Setting(usual_sizes(definition), 20 if quick else 200)
    began = time.monotonic()
    simulate(definition, setting)
    return [Goal(ROWS["plan"][0], time.monotonic() - began, MOST, "s")]
