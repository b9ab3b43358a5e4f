"""Persona files and the profiles drawn from them."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as some

from analysis.models import Persona, PersonaSet
from analysis.people.corpora.personas import Pools, draw_profiles, pools_of, profile_of, rows_of
from tests.analysis.runs.baseline_factories import make_personas, real_data

pytestmark = pytest.mark.django_db
ONLY_DESCRIPTIONS = Pools(["d1", "d2", "d3"], [], [])
HASHES = some.integers(0, 20).map(lambda number: [f"row{at:02}" for at in range(number)])


def import_lines(folder: Path, written: list[str], name: str = "file.jsonl", **options: str) -> None:
    path = folder / name
    path.write_text("\n".join(written) + "\n", encoding="utf-8")
    call_command("import_personas", "people", str(path), **options)


def test_nobody_shares_a_persona_until_all_are_used() -> None:
    profiles = draw_profiles(ONLY_DESCRIPTIONS, seed=1, number=6)
    assert sorted(profiles[:3]) == sorted(profiles[3:]) == [["d1"], ["d2"], ["d3"]]


@given(HASHES, HASHES, HASHES, some.integers(), some.integers(1, 40))
def test_more_users_change_no_profile(
    descriptions: list[str], groups: list[str], singles: list[str], seed: int, number: int
) -> None:
    pools = Pools(descriptions, groups, singles)
    assert draw_profiles(pools, seed, number) == draw_profiles(pools, seed, number + 7)[:number]


def test_description_is_joined_by_one_persons_sentences() -> None:
    profiles = draw_profiles(Pools(["d1", "d2"], ["g1", "g2"], ["s1"]), seed=1, number=2)
    assert sorted(profile[0] for profile in profiles) == ["d1", "d2"]
    assert sorted(profile[1] for profile in profiles) == ["g1", "g2"]
    assert [len(profile) for profile in profiles] == [2, 2]


def test_description_without_groups_gets_five_single_sentences() -> None:
    singles = [f"s{number}" for number in range(9)]
    [profile] = draw_profiles(Pools(["d1"], [], singles), seed=1, number=1)
    assert profile[0] == "d1"
    assert len(set(profile[1:])) == 5
    assert set(profile[1:]) <= set(singles)


def test_group_alone_is_a_whole_person() -> None:
    assert draw_profiles(Pools([], ["g1"], ["s1", "s2"]), seed=1, number=1) == [["g1"]]


def test_another_seed_draws_other_profiles() -> None:
    pools = Pools([f"d{number}" for number in range(50)], [], [])
    assert draw_profiles(pools, 1, 5) != draw_profiles(pools, 2, 5)


def test_rows_fall_into_pools_by_what_they_give() -> None:
    personas = make_personas(
        "people", [("A nurse.", []), ("", ["I sing.", "I dance."]), ("", ["I run."]), ("A cook.", ["I eat."])]
    )
    pools = pools_of(personas)
    assert [len(pool) for pool in pools] == [2, 1, 1]
    assert all(pool == sorted(pool) for pool in pools)


def test_profile_is_written_in_the_documented_form() -> None:
    personas = make_personas("people", [("A nurse in Ohio.", []), ("", ["I sing.", "I dance."])])
    pools = pools_of(personas)
    assert profile_of(rows_of(personas, [*pools.descriptions, *pools.groups])) == (
        "Profile of the user:\nA nurse in Ohio.\n\nWhat the user says about themselves:\n- I sing.\n- I dance."
    )


def test_personas_in_every_spelling_are_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"persona": "A nurse."}, {"id": "x", "sentences": ["I sing."]}, {"personality": ["I", "run"]}]
    import_lines(tmp_path, [json.dumps(line) for line in lines], json=True)
    assert json.loads(capsys.readouterr().out) == {"personas": "people", "lines": 3, "new": 3}
    rows = Persona.objects.order_by("id").values_list("description", "sentences", "source_id")
    assert list(rows) == [("A nurse.", [], ""), ("", ["I sing."], "x"), ("", ["I", "run"], "")]


@pytest.mark.parametrize(("kind", "field"), [("persona", "description"), ("sentence", "sentences")])
def test_line_of_text_is_what_the_command_says(tmp_path: Path, kind: str, field: str) -> None:
    import_lines(tmp_path, ["I like tea."], "file.txt", lines=kind)
    assert getattr(Persona.objects.get(), field) in ("I like tea.", ["I like tea."])


BAD_LINES = {
    "": "line 2 is empty",
    "{": "line 2 is not JSON",
    '{"a":' * 100_000: "line 2 is not JSON",
    "[]": "line 2 is not an object",
    '{"name": "Ann"}': "line 2 has neither 'persona' nor 'sentences'",
    '{"persona": 3}': "line 2 needs a text in 'persona'",
    '{"sentences": ["I sing.", " "]}': "line 2 needs a text in 'persona' and a list of texts in 'sentences'",
    '{"sentences": "I sing."}': "line 2 needs a text in 'persona' and a list of texts in 'sentences'",
}


@pytest.mark.parametrize("bad", BAD_LINES)
def test_bad_line_is_named_and_nothing_imported(tmp_path: Path, bad: str) -> None:
    with pytest.raises(CommandError) as caught:
        import_lines(tmp_path, ['{"persona": "A nurse."}', bad, '{"persona": "A cook."}'])
    assert BAD_LINES[bad] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not PersonaSet.objects.exists()


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="line 10 is not JSON.* and 5 more. Nothing was imported"):
        import_lines(tmp_path, ["{"] * 15)


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "is empty"), (b"\xff\xfe", "is not UTF-8"), (None, "can't be read")]
)
def test_file_that_is_none_is_named(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / "file.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CommandError, match=reason):
        call_command("import_personas", "people", str(path))
    assert not PersonaSet.objects.exists()


def test_real_profiles_are_imported() -> None:
    call_command("import_personas", "people", str(real_data("personas/personachat_profiles.jsonl")))
    assert len(pools_of(PersonaSet.objects.get()).groups) == 3773
