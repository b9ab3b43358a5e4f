"""The platform's settings with the yardstick's address beside its own."""

from fieldstudy.settings import *  # noqa: F403 - all of them

ROOT_URLCONF = "benchmarks.minimal_view"
