"""The pages of agreement: the matrix and the way from it to the raw item, filters, and the findings in words."""

import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.agreement.agreements import rows_for
from analysis.agreement.documents import question_document
from analysis.agreement.figures import draw_matrix, summarise_ends
from analysis.agreement.tables import summarise_agreement, tone_of
from analysis.charts.figure import Options
from analysis.charts.rendering import render
from analysis.charts.tables import PLAIN, SHARE, Cell
from surveys.annotation.qualification import Verdict, decide_gate
from surveys.models import AnnotationItem, Study
from surveys.studies.labels import record_judgement
from tests.analysis.agreement.annotation_samples import SAID, WORDS, label_all, make_annotated, pseudonyms_of
from tests.factories import make_annotation_study, make_annotator, make_items, make_study
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import lines_of, log_in, text_of

pytestmark = pytest.mark.django_db


world = lasting_world(lambda: make_annotated()[0])


@pytest.fixture
def annotated(world: int) -> tuple[Client, list[str]]:
    study = Study.objects.get()
    return log_in(study), pseudonyms_of(study)


def open_page(client: Client, query: str = "", slug: str = "teas"):
    return client.get(f"{reverse('agreement:overview', args=[slug])}{query}")


def test_the_matrix_has_each_pair_with_its_kappa_and_n(annotated: tuple[Client, list[str]]) -> None:
    client, people = annotated
    rows = open_page(client).context["matrix"]
    assert [(row.rater, row.kind) for row in rows] == [*((name, "person") for name in people), ("mini", "judge")]
    # yyyynnnn against yyyynnny: 7 of 8 agree, chance (4 * 5 + 4 * 3) / 64 = 0.5, so (0.875 - 0.5) / 0.5 = 0.75.
    cell = rows[0].cells[1]
    assert (cell.number.value, cell.number.n, cell.tone) == (pytest.approx(0.75), 8, "k4")
    assert rows[0].cells[0].is_own and rows[0].cells[0].number.n == 8


def test_a_matrix_of_few_raters_says_no_order_and_one_pair_does_not_go_from_itself_to_itself() -> None:
    def rater(name: str) -> dict[str, object]:
        return {"rater": name, "kind": "person", "n": 9}

    def pair(a: str, b: str, kappa: float) -> dict[str, object]:
        return {"a": a, "b": b, "n": 9, "kappa": {"value": kappa, "ci": None}}

    question = {"question": "quality", "raters": [rater("a"), rater("b")], "pairs": [pair("a", "b", -0.25)]}
    drawn = draw_matrix(question, Options())
    assert (drawn.alt, "beside one another" in drawn.caption) == ("Cohen’s κ is −0.25 (a and b).", False)
    question = {**question, "raters": [rater("a"), rater("b"), rater("c")]}
    question["pairs"] = [pair("a", "b", -0.25), pair("a", "c", 0.5)]
    assert draw_matrix(question, Options()).alt == "Cohen’s κ goes from −0.25 (a and b) to 0.50 (a and c)."
    question["pairs"] = [pair("a", "b", 0.5), pair("a", "c", 0.5)]
    assert draw_matrix(question, Options()).alt == "Cohen’s κ is 0.50 for each of 2 pairs."
    values = [{"row": name, "panel": "F1", "value": 0.0} for name in "ab"]
    assert summarise_ends(values) == "All values are 0.00."
    assert summarise_ends(values[:1]) == "The value is 0.00 (a, F1)."
    values += [{"row": "c", "panel": "F1", "value": 1.0}]
    assert summarise_ends(values) == "Values go from 0.00 (a, F1, 1 more) to 1.00 (c, F1)."
    assert summarise_ends([values[0], values[1] | {"value": 0.001}]) == "All values are 0.00."  # as they are written
    question["pairs"] = [pair("a", "b", 0.5) | {"n": 2}]
    nothing = draw_matrix(question | {"least": 5}, Options()).caption
    assert nothing == "Cohen’s κ can be told of no two raters with 5 items or more in common."


def test_a_matrix_of_very_many_raters_stays_about_as_wide_as_a_phone() -> None:
    raters = [{"rater": f"person {number}", "kind": "person", "n": number} for number in range(300)]
    kappa = {"value": 0.5, "ci": None, "n": 9}
    pairs = [{"a": f"person {one}", "b": f"person {one + 1}", "n": 9, "kappa": kappa} for one in range(299)]
    question = {"question": "quality", "raters": raters, "pairs": pairs}
    drawn = draw_matrix(question, Options())
    assert "Of 300 raters, the 60 who gave the most labels." in drawn.caption
    assert {row["a"] for row in drawn.table} == {f"person {number}" for number in range(240, 299)}
    svg = render(draw_matrix(question, Options(narrow=True)), "svg").decode()
    assert float(svg.partition(' width="')[2].partition('"')[0]) < 500


def test_the_answer_says_agreement_of_people_and_with_judges(annotated: tuple[Client, list[str]]) -> None:
    client, _ = annotated
    words = lines_of(open_page(client))
    # 7 + 7 + 6 of 24 comparisons of two people agree.
    assert "People give the same label in 83 % of comparisons" in words
    assert "Precision, recall and F1: of “yes”" in words


def test_ties_are_counted_of_comparisons_and_a_judge_among_judges_is_held_against_the_others(
    annotated: tuple[Client, list[str]],
) -> None:
    client, people = annotated
    words = lines_of(open_page(client))
    # Without one of three people, items 3 and 7 are tied twice each; of the eight, no item always is.
    assert words.count("8 4 of 24 comparisons tied") == 2  # the judge, and people together
    assert "mini: rows are the majority of all, columns" in words
    assert f"{people[0]}: rows are the majority of the others, columns" in words
    study = make_annotation_study(slug="herbs")
    (item,) = make_items(study, 1)
    for name in ("mini", "maxi"):
        record_judgement(item, name, {"relevance": "yes"})
    words = lines_of(open_page(log_in(study, name="bob"), slug="herbs"))
    assert "mini: rows are the majority of the others, columns" in words


def test_one_label_is_too_few_to_agree() -> None:
    alone = summarise_agreement({"labels": 1, "annotators": 1})
    assert alone == "One rater has given 1 label; agreement needs two."


def test_people_who_all_give_one_label_have_much_in_common() -> None:
    """Without a second label chance cannot be told from agreement, but they do agree."""
    study, _ = make_annotated(slug="herbs", said=("yyyyyyyy",) * 2)
    question = rows_for(study, draws=20)["questions"][0]
    said = summarise_agreement(question)
    assert said.startswith("People give the same label in 100\u202f% of comparisons (")
    assert "; how far beyond chance cannot be told, since only one label was used." in said
    alone, _ = make_annotated(slug="roots", said=("yyyynnnn",))
    words = summarise_agreement(rows_for(alone, draws=20)["questions"][0])
    assert words == "People have too few items in common to say how far they agree."


def test_one_item_is_said_as_one_and_has_no_intervals_of_coefficients() -> None:
    study = make_annotation_study(slug="roots", overlap=2)
    make_items(study, 1)
    for letter in "yn":
        label_all(make_annotator(study), letter)
    words = lines_of(open_page(log_in(study, "viewer"), slug="roots"))
    assert "0 % to 79 %, n = 1 item); beyond chance, α is 0.00 (n = 1 item)." in words
    assert "95 % intervals of coefficients take at least 3 items. n: items with two labels" in words


def test_from_a_cell_two_clicks_lead_to_the_raw_item(annotated: tuple[Client, list[str]]) -> None:
    client, people = annotated
    page = text_of(open_page(client))
    link = next(part.split('"')[0] for part in page.split('href="') if f"a={people[0]}&amp;b={people[1]}" in part)
    listed = client.get(link.replace("&amp;", "&"))
    assert [(split.item, split.first, split.second) for split, *_ in listed.context["shown"]] == [
        ("item-7", "no", "yes")
    ]
    key = listed.context["shown"][0][1]
    raw = lines_of(client.get(reverse("agreement:item", args=["teas", key]), {"history": "1"}))
    assert "Has 7 cups." in raw and people[0] in raw and "mini" in raw


def test_a_rater_is_compared_with_the_majority_of_the_others(annotated: tuple[Client, list[str]]) -> None:
    client, _ = annotated
    address = reverse("agreement:differing", args=["teas"])
    page = client.get(address, {"question": "relevance", "a": "mini"})
    # The majority of three people says yyyynnnn, the judge yyyyyyyn.
    assert [split.item for split, *_ in page.context["shown"]] == ["item-4", "item-5", "item-6"]
    assert "3 × no, 1 × yes" in lines_of(page)  # labels may be numbers
    assert page.context["table"] == [("no", [("no", 1), ("yes", 3)]), ("yes", [("no", 0), ("yes", 4)])]
    one = client.get(address, {"question": "relevance", "a": "mini", "first": "no", "second": "no"})
    assert [split.item for split, *_ in one.context["shown"]] == ["item-7"]


def test_disagreements_open_with_raters_who_share_items_and_claim_nothing_of_others() -> None:
    alone = make_annotation_study(slug="alone", overlap=1)
    items = make_items(alone, 2)
    label_all(make_annotator(alone), "yn")
    client, address = log_in(alone), reverse("agreement:differing", args=["alone"])
    assert "No two people have judged the same items yet." in lines_of(client.get(address))
    for item in items:
        record_judgement(item, "mini", {"relevance": "yes"})
    assert "mini and the majority of the others differ on 1 of 2." in lines_of(client.get(address))
    (person,) = pseudonyms_of(alone)
    words = lines_of(client.get(address, {"question": "relevance", "a": person}))
    assert f"No item that {person} labelled has a majority of the others." in words
    assert "They agree on everything" not in words
    for name, item in zip(("one", "two"), items, strict=True):
        record_judgement(item, name, {"relevance": "yes"})
    words = lines_of(client.get(address, {"question": "relevance", "a": "one", "b": "two"}))
    assert "No item has labels of both one and two." in words and "They agree on everything" not in words


@pytest.mark.parametrize("query", ["question=nothing&a=mini", "question=relevance&a=nobody", "question=relevance"])
def test_unknown_raters_and_questions_are_not_found(annotated: tuple[Client, list[str]], query: str) -> None:
    client, _ = annotated
    assert client.get(f"{reverse('agreement:differing', args=['teas'])}?{query}").status_code == 404


@pytest.mark.parametrize(
    ("query", "labels"),
    [("?corpus=real&tag=about:tea", 32), ("?corpus=other", 0), ("?tag=about:milk", 0), ("?pilot=only", 0)],
)
def test_filters_of_the_address_choose_the_labels(annotated: tuple[Client, list[str]], query: str, labels: int) -> None:
    client, _ = annotated
    page = open_page(client, query)
    assert page.context["question"]["labels"] == labels
    assert ("No label matches these filters" in lines_of(page)) is (labels == 0)


def test_a_study_without_labels_says_so() -> None:
    study = make_annotation_study(slug="herbs")
    make_items(study, 2)
    assert "No label to compare yet." in lines_of(open_page(log_in(study), slug="herbs"))


@pytest.mark.parametrize("name", ["overview", "numbers", "gate"])
def test_studies_without_annotators_have_no_such_pages(name: str) -> None:
    client = log_in(make_study("draft", slug="juices"))
    assert client.get(reverse(f"agreement:{name}", args=["juices"])).status_code == 404
    assert "/juices/gate/" not in client.get(reverse("console:setup", args=["juices"])).content.decode()


def test_people_whom_the_gate_excludes_are_not_in_the_matrix(annotated: tuple[Client, list[str]]) -> None:
    client, people = annotated
    study = Study.objects.get()
    open_page(client)
    verdicts = {name: Verdict(name != people[2]) for name in people}
    decide_gate(study, "ada", verdicts, pilot=False, rule="by hand", thresholds={}, reason="a test")
    assert [row.rater for row in open_page(client).context["matrix"]] == [*people[:2], "mini"]


def test_the_file_of_numbers_is_what_the_page_shows(annotated: tuple[Client, list[str]]) -> None:
    client, _ = annotated
    response = client.get(reverse("agreement:numbers", args=["teas"]))
    assert "teas-agreement.json" in response["Content-Disposition"]
    shown = [question_document(question) for question in open_page(client).context["questions"]]
    assert json.loads(response.content)["questions"] == shown


@pytest.mark.parametrize(("name", "rows"), [("matrix", 12), ("shares", 8), ("corpora", 2), ("scores", 4)])
def test_figures_are_files_that_hold_their_numbers(annotated: tuple[Client, list[str]], name: str, rows: int) -> None:
    client, _ = annotated
    spec = client.get(reverse("agreement:figure", args=["teas", name, "json"])).json()
    assert sum(row["kind"] in ("cell", "value") for row in spec["datasets"]["rows"]) == rows
    drawn = client.get(reverse("agreement:figure", args=["teas", name, "svg"]))
    assert (drawn["Content-Type"], drawn.content[:4]) == ("image/svg+xml", b"<svg")
    assert client.get(reverse("agreement:figure", args=["teas", name, "exe"])).status_code == 404


def queries_of(client: Client, slug: str) -> int:
    """How many queries the page makes when it is opened again."""
    open_page(client, slug=slug)
    with CaptureQueriesContext(connection) as asked:
        page = open_page(client, slug=slug)
    assert len(page.context["matrix"]) > 1
    return len(asked)


def test_the_page_asks_no_more_when_there_are_more_raters(annotated: tuple[Client, list[str]]) -> None:
    client, _ = annotated
    many, people = make_annotated(slug="many", said=SAID * 2)
    assert len(people) == 6
    assert queries_of(log_in(many, name="bob"), "many") == queries_of(client, "teas")


def test_numbers_are_written_with_interval_n_and_reason() -> None:
    assert Cell(-0.001, PLAIN).text == "0.00"
    assert Cell(-0.126, PLAIN, (-0.5, 0.25), 12).words == "−0.13, 95\u202f% interval −0.50 to 0.25, n\u00a0=\u00a012"
    assert Cell(None, PLAIN, n=3, why="one label only").words == "–, one label only, n\u00a0=\u00a03"
    assert Cell(0.4, SHARE).text == "40\u202f%"


def test_colours_follow_the_steps() -> None:
    assert [tone_of(value) for value in (None, -0.1, 0, 0.2, 0.79, 0.8)] == ["none", "k0", "k1", "k2", "k4", "k5"]


def test_thirty_raters_are_drawn_in_clusters_and_the_table_is_folded() -> None:
    study = make_annotation_study(slug="many")
    make_items(study, 12)
    camps = ("yyyyyynnnnnn", "nynynynynyny")
    names = {f"judge-{number:02}": number % 2 for number in range(30)}
    for place, item in enumerate(AnnotationItem.objects.filter(study=study).order_by("position")):
        for name, camp in names.items():
            # Each rater errs on one item, so that pairs within a camp differ.
            letter = camps[camp][place]
            wrong = int(name[-2:]) // 2 % 12 == place
            record_judgement(item, name, {"relevance": WORDS["yn".replace(letter, "") if wrong else letter]})
    client = log_in(study)
    page = open_page(client, slug="many")
    order = [names[row.rater] for row in page.context["matrix"]]
    assert order in ([0] * 15 + [1] * 15, [1] * 15 + [0] * 15)
    text = text_of(page)
    assert text.index('<div class="drawing wide-only"><svg') < text.index("<summary>As a table")
    assert text.index("<summary>As a table") < text.index('<table class="matrix">')
    assert not any(cell.number.value is None for row in page.context["matrix"] for cell in row.cells if not cell.is_own)
    # Twelve items are fewer than twenty.
    strict = open_page(client, "?least=20", slug="many").context["matrix"]
    assert all(cell.number.value is None for row in strict for cell in row.cells)


def test_few_raters_stay_as_they_are(annotated: tuple[Client, list[str]]) -> None:
    client, _ = annotated
    page = open_page(client)
    assert "<summary>As a table" not in text_of(page) and '<table class="matrix">' in text_of(page)
    empty = open_page(client, "?least=10").context["matrix"][0].cells[1].number
    assert (empty.value, empty.why.replace("\u00a0", " ")) == (None, "n = 8: too few")
