"""A pair whose sides are of two studies: what is compared, who may see it, and when it is recomputed."""

import json
from dataclasses import replace
from random import Random

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from rest_framework.authtoken.models import Token

from analysis.answers import aliases
from analysis.answers.readings import read_new
from analysis.models import MetricValue
from analysis.report.filters import FilterError, Filters
from analysis.report.pairs.sides import check_pair
from analysis.report.pairs.vocabulary import united
from analysis.report.reports import Reporting, keep_part
from surveys.models import Membership, Study
from surveys.participation import recruitment
from tests.analysis.report.compare_samples import FEW, address, heading, links, pair_of, table
from tests.analysis.report.report_samples import make_model_run, reply, tell
from tests.factories import make_definition, make_study
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import lines_of, log_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_draws")]
ACROSS = ("field/chatgpt", "again:field/chatgpt")
REFUSED = "there is no such study among those that you may see"


def make_both() -> Study:
    """Thirty people with ChatGPT in each of two studies: 27 of the first get Assam, six of the second.

    The second study asks about water in other words.
    """
    first = make_study(places=40)
    prompts = tuple(
        replace(prompt, question="How hot, would you say?") if prompt.slug == "water" else prompt
        for prompt in make_definition().prompts
    )
    second = make_study(definition=make_definition(places=40, slug="again", title="Teas once more", prompts=prompts))
    random = Random(5)
    for study, often in ((first, 27), (second, 6)):
        for number in range(30):
            teas = ["Assam"] if number < often else []
            teas += random.sample([f"Tea {place}" for place in range(8)], 2)
            tell(study, teas, "C", plan="free" if number % 2 else "paid", cell=("milky", "plain")[number % 3 > 0])
    run = make_model_run(first)
    for repeat in range(25):
        reply(run, "teas", "1. Assam\n2. Tea 1", repeat)
    for study in (first, second):
        read_new(study)
    return first


world = lasting_world(make_both)


@pytest.fixture
def second(world: int) -> Study:
    return Study.objects.select_related("current").get(slug="again")


def log_in_to_both(study: Study, second: Study, name: str = "bea") -> Client:
    client = log_in(study, "viewer", name)
    Membership.objects.create(study=second, user_id=client.session["_auth_user_id"], role="viewer")
    return client


# --- what is compared


def test_the_planted_difference_of_two_studies_is_found(study: Study) -> None:
    pair = pair_of(study, *ACROSS)
    first = pair["items"][0]
    assert (first["item"], first["a"]["count"], first["a"]["n"]) == ("assam", 27, 30)
    assert (first["b"]["count"], first["b"]["n"]) == (6, 30)
    assert first["difference"] == pytest.approx(0.7)
    assert first["ci"][0] < 0.7 < first["ci"][1] and first["p"] < 0.04
    assert all(row["ci"][0] < 0 < row["ci"][1] for row in pair["items"][1:])
    assert [row["difference"] for row in pair["items"]] == sorted(
        (row["difference"] for row in pair["items"]), key=abs, reverse=True
    )
    assert pair["b"]["name"] == "ChatGPT in the field of “Teas once more”"
    assert pair["distance"]["mean"]["prompts"] == 1
    assert pair["claims"][0]["n"] == [30, 30]


def test_swapped_studies_turn_every_sign(study: Study) -> None:
    one, other = pair_of(study, *ACROSS), pair_of(study, *reversed(ACROSS))
    turned = {row["item"]: row for row in other["items"]}
    assert len(turned) == len(one["items"])
    for row in one["items"]:
        back = turned[row["item"]]
        assert row["difference"] == pytest.approx(-back["difference"])
        assert row["p"] == pytest.approx(back["p"])
        assert row["ci"] == pytest.approx([-back["ci"][1], -back["ci"][0]])


def test_only_prompts_in_the_same_words_are_compared(study: Study, second: Study) -> None:
    pair = pair_of(study, *ACROSS)
    assert {row["prompt"] for row in pair["items"]} == {"teas"}
    assert pair["options"] == []
    alone = pair_of(study, *ACROSS, prompt=("water",))
    assert alone["items"] == [] and alone["why"].startswith("No prompt that both studies ask in the same words")


def test_simulated_people_of_the_other_study_are_named(study: Study, second: Study) -> None:
    second.participants.update(origin="simulated")
    assert pair_of(study, *ACROSS)["b"]["name"].endswith("“Teas once more” (simulated)")


def test_spellings_that_one_study_made_one_are_one_in_both(study: Study, second: Study) -> None:
    """Those who got both count once; a number that covers two items of one study leads to no texts."""
    before = {row["item"]: row for row in pair_of(study, *ACROSS)["items"]}
    aliases.accept(second, "teas", ["tea 1"], "tea 2", "tests")
    found = {row["item"]: row for row in pair_of(study, *ACROSS)["items"]}
    assert "tea 1" not in found
    both, apart = found["tea 2"]["a"], [before[name]["a"]["count"] for name in ("tea 1", "tea 2")]
    assert max(apart) < both["count"] <= sum(apart)
    assert (both["items"], found["tea 2"]["b"]["items"]) == (["tea 1", "tea 2"], ["tea 2"])
    opened = log_in_to_both(study, second).get(address("pair", f"compare={ACROSS[0]}&compare={ACROSS[1]}"))
    assert not [href for href in links(opened, "/teas/compare/texts/") if "item=tea+2" in href]
    assert [href for href in links(opened, "/again/compare/texts/") if "item=tea+2" in href]


def test_what_either_table_makes_one_has_one_name() -> None:
    call = united([{"a": "b", "c": "d"}, {"b": "c", "d": "a"}])
    assert len({call(name) for name in "abcd"}) == 1
    assert call("e") == "e"


# --- the same numbers everywhere


@pytest.mark.parametrize(
    "sides",
    [
        ("field/chatgpt/plan=free", "field/chatgpt/plan=paid"),
        ("field/chatgpt/cell=milky", "field/chatgpt/cell=plain"),
        ("field/chatgpt", "run/{run}"),
        ACROSS,
    ],
    ids=["plan", "group", "run", "study"],
)
def test_address_api_and_command_have_the_same_numbers(
    study: Study, second: Study, sides: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = (side.format(run=study.runs.get().pk) for side in sides)
    client = log_in_to_both(study, second)
    token = Token.objects.create(user_id=client.session["_auth_user_id"])
    query = {"compare": (a, b), "part": "pair", "draws": FEW}
    api = Client(headers={"Authorization": f"Token {token.key}"}).get(reverse("api:metrics", args=["teas"]), query)
    call_command("report", "teas", "--compare", a, "--with", b, "--parts", "pair", "--json", "--draws", str(FEW))
    command = json.loads(capsys.readouterr().out)["pair"]
    assert command["items"] and api.json()["pair"] == command == pair_of(study, a, b)
    opened = client.get(address("pair", f"compare={a}&compare={b}"))
    rows = table(opened, "pair-items")
    assert len(rows) == len(command["items"])
    counts = [f"{command['items'][0][key]['count']} of {command['items'][0][key]['n']}" for key in "ab"]
    assert [count in cell for count, cell in zip(counts, rows[0][2:4], strict=True)] == [True, True]
    figure = client.get(reverse("compare:figure", args=["teas", "pair", "csv"]), {"compare": (a, b)})
    assert figure.status_code == 200


def test_numbers_of_the_other_study_lead_to_its_texts(study: Study, second: Study) -> None:
    client = log_in_to_both(study, second)
    opened = client.get(address("pair", f"compare={ACROSS[0]}&compare={ACROSS[1]}"))
    mine, theirs = (links(opened, f"/{slug}/compare/texts/?")[0] for slug in ("teas", "again"))
    assert [heading(client.get(href)).split()[0] for href in (mine, theirs)] == ["27", "6"]


# --- who may see it


def test_who_sees_only_one_study_learns_nothing_of_the_other(study: Study, second: Study) -> None:
    client = log_in(study, "owner", "cem")
    token = Token.objects.create(user_id=client.session["_auth_user_id"])
    api = Client(headers={"Authorization": f"Token {token.key}"})
    addresses = [
        (client, address("pair", "compare=field&compare={}:field")),
        (client, address("texts", "prompt=teas&source=field&model=all&compare=field&compare={}:field")),
        (client, reverse("compare:figure", args=["teas", "pair", "svg"]) + "?compare=field&compare={}:field"),
        (client, reverse("compare:figure-part", args=["teas", "pair"]) + "?compare=field&compare={}:field"),
        (client, reverse("compare:computing", args=["teas", "pair"]) + "?compare=field&compare={}:field"),
        (api, reverse("api:metrics", args=["teas"]) + "?part=pair&compare=field&compare={}:field"),
        (api, reverse("api:figure", args=["teas", "pair"]) + "?compare=field&compare={}:field"),
    ]
    pair_of(study, "field", "again:field")  # kept, for somebody else
    for asks, path in addresses:
        hidden, unknown = (asks.get(path.format(slug)) for slug in ("again", "nowhere"))
        assert (hidden.status_code, unknown.status_code) == (400, 400), path
        words = [response.content.decode().replace("nowhere", "again") for response in (hidden, unknown)]
        assert REFUSED in words[0] and "once more" not in words[0]
        if asks is api:
            assert words[0] == words[1]
    assert (
        "Teas once more"
        not in client.get(address("pair", "compare=field&compare=offline/gpt-4o-mini")).content.decode()
    )


def test_who_sees_both_is_offered_the_other_field(study: Study, second: Study) -> None:
    opened = log_in_to_both(study, second).get(address("pair", "compare=field&compare=again:field"))
    assert opened.status_code == 200
    assert "In the field of another study" in opened.content.decode()
    assert "ChatGPT in the field of “Teas once more”" in lines_of(opened)


def test_the_command_sees_all_studies_that_there_are(study: Study) -> None:
    with pytest.raises(CommandError, match=REFUSED):
        call_command("report", "teas", "--compare", "field", "--with", "nowhere:field")


@pytest.mark.parametrize(
    ("side", "reason"),
    [
        ("again:offline/gpt-4o-mini", "of another study only the field is a side"),
        ("again:run/1", "of another study only the field is a side"),
        ("again:field/claude", "names no chatbot"),
        ("again:field/plan=gold", "plan=gold is unknown"),
    ],
)
def test_a_side_that_the_other_study_has_not_is_said(study: Study, side: str, reason: str) -> None:
    with pytest.raises(FilterError, match=reason):
        check_pair(study, ("field", side), Study.objects.all())


def test_without_leave_no_other_study_is_there(study: Study) -> None:
    with pytest.raises(FilterError, match=REFUSED):
        check_pair(study, ("field", "again:field"))


# --- when it is computed anew


def test_answers_to_the_other_study_change_the_fingerprint(study: Study, second: Study) -> None:
    across, within = Filters(compare=ACROSS), Filters(compare=("field", "offline/gpt-4o-mini"))
    before = [Reporting(study, filters).fingerprint for filters in (across, within)]
    tell(second, ["Assam"])
    read_new(second)
    after = [Reporting(study, filters).fingerprint for filters in (across, within)]
    assert (after[0] != before[0], after[1] == before[1]) == (True, True)


def test_a_withdrawal_from_the_other_study_forgets_what_rests_on_it(study: Study, second: Study) -> None:
    own = Reporting(study, Filters(), draws=FEW)
    own.part("choices")
    view = Reporting(study, Filters(compare=ACROSS), draws=FEW)
    view.part("pair")
    recruitment.withdraw(second.participants.order_by("pk").first())
    names = set(MetricValue.objects.filter(study=study).values_list("name", flat=True))
    assert (f"pair:{view.view}" in names, f"choices:{own.view}" in names) == (False, True)
    assert pair_of(study, *ACROSS)["items"][0]["b"]["n"] == 29


def test_what_was_begun_before_a_withdrawal_from_the_other_study_is_not_kept(study: Study, second: Study) -> None:
    def compute() -> list[str]:
        recruitment.withdraw(second.participants.order_by("pk").first())
        return ["words"]

    kept = keep_part(study, "pair:test", "0" * 64, compute, [second])
    assert (kept.value, kept.pk) == (["words"], None)
