"""A pilot of a stated size, the rest after the gate, and eighty of many items: drawn by a rule, balanced, each once."""

from collections import Counter
from pathlib import Path

import pytest
from django.core.management import CommandError

from analysis.models import Attribute, Corpus, Task
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.stages.portions import draw_balanced, interleave
from analysis.runs.asking.registry import kind_of
from surveys.annotation.items import push_items
from surveys.models import AnnotationItem, Study
from tests.analysis.people.people_samples import ask, command, judge_items, make_person, people, write_lines
from tests.analysis.people.test_pairs import merge_nothing
from tests.analysis.runs.baseline_factories import make_corpus, use_letters
from tests.analysis.runs.servers import make_fake
from tests.factories import make_annotation_study
from tests.lasting import copied_world

pytestmark = pytest.mark.django_db(transaction=True)
USERS = ("ann", "bob", "cleo", "dan")


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)


@copied_world
def corpus() -> Corpus:
    """Four people with five attributes each, one of which has no evidence."""
    corpus = make_corpus()
    for key in USERS:
        make_person(key, [[f"Hello from {key}."]], corpus)
        texts = [f"{word} about {key} and bread." for word in ("Writes", "Reads", "Sings", "Knits")]
        keep_attributes(corpus, [NewAttribute(key, text, 0.9, ["Hello"]) for text in texts])
        keep_attributes(corpus, [NewAttribute(key, "Was never heard.", 0.5)])
    merge_nothing()
    return corpus


def shown(study: Study, pilot: bool = False) -> Counter[str]:
    return Counter(AnnotationItem.objects.filter(study=study, pilot=pilot).values_list("cluster", flat=True))


def test_pilot_of_a_stated_size_takes_as_much_of_each_person_and_the_rest_follows(corpus: Corpus) -> None:
    study = make_annotation_study(kind="attribute", slug="facts")
    report = people("corpus", "push", "--study", "facts", "--pilot", "--items", "6", "--people", "2")
    assert (report["items"], report["users"], report["beyond"]) == (6, 2, 2)
    assert set(shown(study, pilot=True).values()) == {3}
    assert people("corpus", "push", "--study", "facts", "--pilot", "--items", "6", "--people", "2")["items"] == 0
    rest = people("corpus", "push", "--study", "facts")
    assert (rest["items"], rest["in_other_part"], rest["already_there"]) == (16 - 6, 6, 0)
    keys = AnnotationItem.objects.filter(study=study).values_list("key", flat=True)
    assert len(keys) == len(set(keys)) == 16
    assert people("corpus", "push", "--study", "facts", "--both")["items"] == 6  # the pilot's too, asked twice


def test_seed_decides_whom_the_pilot_is_about(corpus: Corpus) -> None:
    said = set()
    for seed in range(6):
        study = make_annotation_study(kind="attribute", slug=f"facts-{seed}")
        people("corpus", "push", "--study", study.slug, "--pilot", "--items", "4", "--people", "1", "--seed", str(seed))
        said.update(shown(study, pilot=True))
    assert len(said) > 1
    with pytest.raises(CommandError, match="A portion has 1 item or more"):
        people("corpus", "push", "--study", "facts-0", "--items", "0")


def test_pairs_of_the_pilot_and_the_rest_are_one_draw(corpus: Corpus, tmp_path: Path) -> None:
    make_fake()
    study = make_annotation_study(kind="relevance", slug="pairs")
    rows = [{"id": f"lima-{n}", "prompt": f"Which bread suits {n}?\nSay why."} for n in range(5)]
    prompts = write_lines(tmp_path / "prompts.jsonl", rows)
    people("corpus", "ask", "candidates", "--endpoint", "scripted", "--prompts", str(prompts))
    pilot = people("corpus", "push", "--study", "pairs", "--pilot", "--items", "7", "--users", "3")
    assert (pilot["items"], pilot["beyond"]) == (7, 5 * 3 * 4 - 7)
    assert people("corpus", "push", "--study", "pairs", "--pilot", "--items", "7", "--users", "3")["items"] == 0
    rest = people("corpus", "push", "--study", "pairs", "--users", "3", "--prompts", str(prompts))
    assert (rest["items"], rest["in_other_part"]) == (60 - 7, 7)
    items = AnnotationItem.objects.filter(study=study)
    assert set(items.values_list("tags__prompt", flat=True)) == {f"lima-{n}" for n in range(5)}
    pairs = Counter(items.values_list("payload__prompt", "cluster"))
    assert set(pairs.values()) == {4} and set(Counter(prompt for prompt, _ in pairs).values()) == {3}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("p.txt", "\n \n", "there is no prompt in it"),
        ("p.txt", "Tea?\nCake?\nTea?", "line 3: has the prompt of line 1"),
        ("p.jsonl", '{"prompt": "Tea?"}\n{"prompt": ', "line 2: is no JSON; a line is"),
        ("p.jsonl", '{"id": 1, "prompt": "Tea?"}\n{"id": 1, "text": "Cake?"}', "line 2: has the id of line 1"),
        ("p.jsonl", "[" * 500 + "]" * 500, "line 1: it is nested more than 100 levels deep"),
        ("p.jsonl", '"Tea?"', "line 1: needs a text in `prompt`"),
    ],
)
def test_faulty_list_of_prompts_is_refused_with_its_lines(
    corpus: Corpus, tmp_path: Path, name: str, text: str, words: str
) -> None:
    make_fake()
    (tmp_path / name).write_text(text)
    with pytest.raises(CommandError, match="nothing was imported") as refused:
        people("corpus", "ask", "candidates", "--endpoint", "scripted", "--prompts", str(tmp_path / name))
    assert words in str(refused.value) and not Task.objects.exists()


def test_eighty_of_many_are_balanced_over_writers_prompts_and_people() -> None:
    study = make_annotation_study(kind="relevance", slug="pairs", quota=200)
    rows = [
        {
            "key": f"{prompt} {user}",
            "prompt": f"Which {prompt}?",
            "cluster": user,
            "attribute": f"{user} likes {prompt}.",
        }
        for prompt in ("tea", "cake", "cup", "pot", "jam", "bun")
        for user in USERS
    ]
    push_items(study, rows, "tests")
    judge_items(study, "relevance", {}, "yyy")
    for writer in ("one", "two"):
        make_fake(name=writer)
        command("ask", "pairs", "respond", "--endpoint", writer)
    into = make_annotation_study(kind="preference", slug="answers")
    first = command("push_relevant", "pairs", "--to", "answers", "--items", "12")
    assert (first["items"], first["beyond"], first["generators"]) == (12, 36, {"one": 6, "two": 6})
    items = AnnotationItem.objects.filter(study=into)
    assert set(Counter(items.values_list("payload__prompt", flat=True)).values()) == {2}
    assert set(Counter(items.values_list("cluster", flat=True)).values()) == {3}
    assert command("push_relevant", "pairs", "--to", "answers", "--items", "12", "--seed", "5")["items"] == 0
    more = command("push_relevant", "pairs", "--to", "answers", "--items", "24")
    assert more["items"] == 12 and set(Counter(items.values_list("payload__prompt", flat=True)).values()) == {4}
    assert Task.objects.filter(payload__arm="generic").count() == 2 * 6  # once for each prompt and writer


def test_profile_is_everything_that_is_kept_of_the_person_and_judges_read_it_as_people_do(corpus: Corpus) -> None:
    make_fake()
    study = make_annotation_study(kind="relevance", slug="pairs")
    row = Attribute.objects.get(text="Reads about ann and bread.")
    item = {"key": "1", "prompt": "Which tea?", "attribute": row.text, "cluster": "ann", "corpus": "corpus"}
    push_items(study, [item | {"source": str(row.pk)}], "tests")
    judge_items(study, "relevance", {}, "yyy")
    ask(study, "respond")
    into = make_annotation_study(kind="preference", slug="answers")
    command("push_relevant", "pairs", "--to", "answers")
    shown = AnnotationItem.objects.get(study=into).payload
    kept = Attribute.objects.filter(user__key="ann").values_list("text", flat=True)
    assert set(shown["profile"]) == set(kept) and len(shown["profile"]) == 5
    judged = command("judge", into.slug, "--endpoint", "scripted")
    assert judged["judge"] == "scripted same-2"
    asked = Task.objects.filter(run=judged["run"]).first()
    (message,) = kind_of(asked.run).write(asked)
    about = message["content"].partition("Imagine that this is true of you:\n")[2].partition("\n\n")[0].splitlines()
    assert sorted(about) == sorted([f"- {text}" for text in kept if text != row.text] + [f"- {row.text} (asked about)"])


def test_draw_takes_the_smallest_share_first_and_goes_on_from_what_is_there() -> None:
    every = [(writer, prompt) for writer in "ab" for prompt in range(10)]
    drawn = draw_balanced(every, lambda each: each, 10, str)
    assert Counter(writer for writer, _ in drawn) == {"a": 5, "b": 5} and len({prompt for _, prompt in drawn}) == 10
    rest = draw_balanced(every, lambda each: each, 5, str, taken=[("a", prompt) for prompt in range(5)])
    assert {writer for writer, _ in rest} == {"b"} and {prompt for _, prompt in rest} == set(range(5, 10))
    assert draw_balanced([], lambda each: each, 3, str) == []
    assert draw_balanced(every, lambda each: each, 1, str) == drawn[:1]
    assert interleave([[1, 2, 3], [4], []]) == [1, 4, 2, 3]


def test_samples_stand_side_by_side_by_name(corpus: Corpus) -> None:
    study = make_annotation_study(kind="attribute", slug="facts")
    with pytest.raises(CommandError, match="has no sample beside which another could stand"):
        people("corpus", "sample", "--name", "few", "--size", "2")
    people("corpus", "merge", "--similarity", "0.99")
    whole = people("corpus", "sample", "--size", "3")
    few = people("corpus", "sample", "--name", "few", "--size", "2", "--by", "random", "--of", "sampled")
    assert set(few["chosen_users"]) < set(whole["chosen_users"]) and (few["by"], few["chosen"]) == ("random", 2)
    assert few == people("corpus", "sample", "--name", "few", "--size", "2", "--by", "random", "--of", "sampled")
    assert people("corpus", "push", "--study", "facts", "--sample", "few")["users"] == 2
    assert set(shown(study)) == set(few["chosen_users"])
    people("corpus", "sample", "--size", "4")  # other samples stay
    assert set(corpus.steps.get(name="sample").report["samples"]) == {"few"}
    with pytest.raises(CommandError, match="has no sample called many .few."):
        people("corpus", "push", "--study", "facts", "--sample", "many")
    people("corpus", "merge", "--similarity", "0.99")
    with pytest.raises(CommandError, match="has no sample called few .none yet."):
        people("corpus", "push", "--study", "facts", "--sample", "few")
