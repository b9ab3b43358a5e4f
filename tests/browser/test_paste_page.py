"""The paste page with its scripts: copying, evidence, the friendly gate and personal details."""

import json

import pytest
from playwright.sync_api import Page, Route, expect

from surveys.models import Draft, Flag, ReadBack, Response
from tests.browser.survey import ANSWERS, forward, make_demo, open_prompt, paste
from tests.factories import make_participant

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PERSONAL = "Hi Martina, write to martina.k@example.com:\n1. One\n2. Two\n3. Three\n4. Four\n5. Five"
REMOVED = "Hi [name], write to [e-mail address]:\n1. One\n2. Two\n3. Three\n4. Four\n5. Five"


@pytest.fixture
def person(page: Page):
    """Somebody on the page of a recommendation."""
    participant = make_participant(make_demo())
    number = 1 if participant.order[0] != "ice" else 2
    if number == 2:
        participant.order = [*participant.order[1:], "ice"]
        participant.save()
    open_prompt(page, participant)
    return participant


def newest(participant) -> Response:
    return Response.objects.filter(participant=participant).latest("revision")


def test_copy_button_copies_the_message_and_says_so(page: Page, person) -> None:
    page.get_by_role("button", name="Copy message").click()
    expect(page.locator("small[data-copied]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("[data-message]").text_content()
    expect(page.locator("[data-done=copy]")).to_have_class("done folded")
    expect(page.locator("[data-done=ask]")).to_have_class("now")
    expect(page.locator("[data-message]")).to_be_hidden()
    page.get_by_role("button", name="Show it again").click()
    expect(page.locator("[data-message]")).to_be_visible()


def test_copying_without_the_clipboards_permission_still_works(page: Page, person) -> None:
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject() }")
    page.get_by_role("button", name="Copy message").click()
    expect(page.locator("small[data-copied]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("[data-message]").text_content()


def test_copying_that_is_forbidden_leaves_the_message_selected(page: Page, person) -> None:
    page.evaluate(
        """() => { navigator.clipboard.writeText = () => Promise.reject();
            document.execCommand = () => false }"""
    )
    page.get_by_role("button", name="Copy message").click()
    expect(page.locator("small[data-copied]")).to_have_text("The message is selected. Please copy it by hand.")
    assert page.evaluate("getSelection().toString()") == page.locator("[data-message]").text_content()


def test_paste_shows_its_size(page: Page, person) -> None:
    text = ANSWERS[person.order[0]]
    paste(page, text)
    expect(page.locator("b[data-complete]")).to_be_visible()
    lines = [line for line in text.split("\n") if line]
    expect(page.locator("[data-seen]")).to_have_text(f"{len(text)} characters · {len(lines)} lines")
    expect(page.locator("[data-done=paste]")).to_have_class("done")


def test_evidence_tells_pasted_from_typed(page: Page, person) -> None:
    text = ANSWERS[person.order[0]]
    page.get_by_role("button", name="Copy message").click()
    paste(page, text, html="<ol><li>One</li></ol>")
    page.keyboard.type(" and more")
    page.keyboard.press("Backspace")
    forward(page)
    stored = newest(person)
    notes = stored.evidence
    assert stored.text == text + " and mor"
    assert notes["observed"] and notes["edited_after"]
    assert (notes["pasted"], notes["typed"], notes["removed"]) == (len(text), 9, 1)
    assert notes["length"] == len(text) + 8
    assert [paste["plain"] for paste in notes["pastes"]] == [len(text)]
    assert notes["pastes"][0]["html"] >= len("<ol><li>One</li></ol>")
    assert notes["copied_at"] <= notes["pastes"][0]["at"] <= notes["sent_at"]
    assert "<li>One</li>" in stored.html


def test_typed_answer_is_told_as_typed(page: Page, person) -> None:
    page.locator("#text").press_sequentially("1. a\n2. b\n3. c\n4. d\n5. e")
    forward(page)
    notes = newest(person).evidence
    assert notes["pastes"] == [] and notes["share_pasted"] == 0 and notes["typed"] == 24
    assert not notes["edited_after"]


def test_time_away_from_the_page_is_counted(page: Page, person) -> None:
    leave = """hidden => { Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
        document.dispatchEvent(new Event("visibilitychange")) }"""
    page.evaluate(leave, True)
    page.wait_for_timeout(400)
    page.evaluate(leave, False)
    paste(page, ANSWERS[person.order[0]])
    forward(page)
    assert 350 <= newest(person).evidence["away_ms"] < 5000


@pytest.mark.core
def test_gate_asks_right_after_the_paste_and_goes_when_fixed(page: Page, person) -> None:
    paste(page, "1. One thing\n2. Another thing")
    expect(page.locator("#gate")).to_contain_text("We read two names. Is that all your chatbot gave?")
    expect(page.locator("[data-done=paste]")).to_have_class("now")
    page.get_by_role("link", name="The end is missing: paste again").click()
    expect(page.locator("#text")).to_be_focused()
    paste(page, ANSWERS[person.order[0]])
    expect(page.locator("b[data-complete]")).to_be_visible()
    expect(page.locator("#gate")).to_contain_text("We read five names. Is that right?")
    forward(page)
    assert newest(person).revision == 1
    assert Flag.objects.get(participant=person).outcome == "fixed"


def test_gate_lets_pass_what_somebody_really_got(page: Page, person) -> None:
    text = "I'm sorry, but I can't help with that request."
    paste(page, text)
    page.get_by_role("button", name="This is what I got").click()
    page.wait_for_url("**/prompt/2/")
    assert newest(person).accepted and newest(person).text == text
    assert Flag.objects.get(participant=person).outcome == "kept"


def test_sending_without_pasting_asks_and_takes_the_focus(page: Page, person) -> None:
    page.get_by_role("button", name="Save and continue").click()
    expect(page.locator("#gate .gate")).to_be_focused()
    expect(page.locator("#gate")).to_contain_text("The box is empty.")
    paste(page, ANSWERS[person.order[0]])
    forward(page)
    assert "older" not in page.url
    assert newest(person).accepted


def test_answer_refused_while_its_draft_was_on_the_way_is_saved_on(page: Page, person) -> None:
    def answer_late(route) -> None:
        answer = route.fetch()
        page.locator("#step [type=submit].primary").last.click()
        route.fulfill(response=answer)

    page.route("**/draft/", answer_late, times=1)
    paste(page, "1. One thing\n2. Another thing")
    expect(page.locator("#gate .read")).to_be_visible()
    page.locator("#text").press_sequentially(" and more")
    expect(page.locator("span[data-saved]")).to_contain_text("Saved")
    assert Draft.objects.get().data["text"].endswith("Another thing and more")


def test_personal_details_stay_here_until_somebody_decides(page: Page, person) -> None:
    page.clock.install()
    paste(page, PERSONAL)
    panel = page.locator("[data-personal]")
    expect(panel).to_contain_text("Martina")
    expect(panel).to_contain_text("martina.k@example.com")
    page.clock.fast_forward(2500)  # longer than a draft waits to be saved
    page.get_by_role("button", name="Save and continue").click()
    expect(panel.locator(".gate")).to_be_focused()
    assert not Draft.objects.exists() and not Response.objects.exists()


def test_personal_details_taken_out_can_be_put_back(page: Page, person) -> None:
    paste(page, PERSONAL)
    page.get_by_role("button", name="Take out what is ticked").click()
    expect(page.locator("#text")).to_have_value(REMOVED)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#text")).to_have_value(PERSONAL)
    expect(page.get_by_role("button", name="Take out what is ticked")).to_be_visible()
    page.get_by_role("button", name="Take out what is ticked").click()
    forward(page)
    stored = newest(person)
    assert stored.text == REMOVED
    assert stored.personal == {"removed": {"name": 1, "e-mail": 1}}
    assert stored.evidence["typed"] == 0
    assert "Martina" not in json.dumps(list(Draft.objects.values_list("data", flat=True)))


def test_each_personal_detail_has_a_switch_of_its_own(page: Page, person) -> None:
    paste(page, PERSONAL)
    page.get_by_label("Martina", exact=True).uncheck()
    page.get_by_role("button", name="Take out what is ticked").click()
    expect(page.locator("#text")).to_have_value(PERSONAL.replace("martina.k@example.com", "[e-mail address]"))
    expect(page.locator("[data-personal] .gate")).to_have_count(0)
    forward(page)
    assert newest(person).personal == {"removed": {"e-mail": 1}, "kept": {"name": 1}}


def test_personal_details_left_in_are_kept_and_counted(page: Page, person) -> None:
    paste(page, PERSONAL)
    page.get_by_role("button", name="Leave all in").click()
    expect(page.locator("b[data-complete]")).to_be_visible()
    forward(page)
    assert newest(person).text == PERSONAL
    assert newest(person).personal == {"kept": {"name": 1, "e-mail": 1}}


def test_long_text_with_every_kind_of_sign_arrives_to_the_letter(page: Page, person) -> None:
    text = "1. Assam\n2. Sencha\n3. Oolong\n4. Rooibos\n5. Matcha\n\n" + "🫖 شاي e\u0301 \t<b>&amp;</b>\n" * 8_000
    assert len(text.encode()) > 200_000
    paste(page, text)
    expect(page.locator("[data-seen]")).to_contain_text("lines")
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_url("**/prompt/2/*")
    assert newest(person).text == text


def test_press_during_which_the_check_is_answered_is_not_lost(page: Page, person) -> None:
    held: list[Route] = []
    page.route("**/draft/", lambda route: held.append(route))
    with page.expect_request("**/draft/"):
        paste(page, ANSWERS[person.order[0]])
    page.get_by_role("button", name="Save and continue").hover()
    page.mouse.down()
    with page.expect_response("**/draft/") as answer:
        held[0].continue_()
    answer.value.finished()
    page.evaluate("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))")
    page.mouse.up()
    page.wait_for_url("**/prompt/2/", timeout=5000)


def test_click_that_a_panel_overtakes_takes_no_name_out(page: Page, person) -> None:
    page.evaluate(
        """() => {
            window.isHit = () => {
                const { x, y } = document.querySelector(".name").getBoundingClientRect();
                return document.elementFromPoint(x + 20, y + 20).closest(".name") !== null;
            };
            new MutationObserver((_, observer) => {
                const panel = document.querySelector(".read");
                if (!panel) return;
                observer.disconnect();
                panel.scrollIntoView({ block: "center" });
                window.hitAtOnce = isHit();
                window.settled = Promise.all(panel.getAnimations().map((one) => one.finished)).then(isHit);
            }).observe(document.querySelector("[data-gate]"), { childList: true });
        }"""
    )
    paste(page, ANSWERS[person.order[0]])
    expect(page.locator(".read")).to_be_visible()
    assert [page.evaluate("hitAtOnce"), page.evaluate("settled")] == [False, True]


TWO = "1. One thing\n2. Another thing\n\nA third thing is worth a look."


def test_reading_is_corrected_in_two_taps_and_counts(page: Page, person) -> None:
    paste(page, ANSWERS[person.order[0]])
    chips = page.locator(".name")
    expect(chips).to_have_count(5)
    chips.nth(1).click()
    page.get_by_role("button", name="Yes, that is right").click()
    page.wait_for_url("**/prompt/2/")
    said = ReadBack.objects.get()
    assert said.verdict == "corrected" and said.names == [*said.read_names[:1], *said.read_names[2:]]


def test_missing_names_are_added_one_after_the_other_by_keys(page: Page, person) -> None:
    paste(page, TWO)
    expect(page.locator(".add").nth(1)).to_be_hidden()
    page.locator(".add").first.fill("A third thing")
    page.locator(".add").nth(1).fill("Tea")
    page.keyboard.press("Enter")
    page.wait_for_url("**/prompt/2/")
    said = ReadBack.objects.get()
    assert said.names == ["One thing", "Another thing", "A third thing", "Tea"] and said.absent == ["Tea"]


def test_question_about_the_reading_is_not_passed_by_saving_again_and_again(page: Page, person) -> None:
    paste(page, TWO)
    expect(page.locator(".read")).to_be_visible()
    for _ in range(4):
        page.get_by_role("button", name="Save and continue").click()
        expect(page.locator(".read")).to_be_focused()
        page.locator("#text").focus()
    assert [row.accepted for row in Response.objects.all()] == [False]
    page.get_by_role("button", name="Yes, that is all").click()
    page.wait_for_url("**/prompt/2/")
    assert ReadBack.objects.get().verdict == "right"


def test_panel_on_screen_is_left_alone_while_nothing_of_it_changes(page: Page, person) -> None:
    paste(page, TWO)
    page.locator(".add").first.fill("A third")
    page.evaluate("document.querySelector('.read').marked = true")
    page.locator(".name").first.click()
    with page.expect_response("**/draft/"):
        page.evaluate("dispatchEvent(new Event('online'))")
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_url("**/prompt/2/")  # a correction is an answer
    assert ReadBack.objects.get().names == ["Another thing", "A third"]


def test_what_was_said_of_the_reading_comes_back_with_the_page(page: Page, person) -> None:
    paste(page, TWO)
    page.locator(".add").first.fill("A third thing")
    page.locator(".name").first.click()
    expect(page.locator("span[data-saved]")).to_have_text("Not saved yet")
    expect(page.locator("span[data-saved]")).to_contain_text("Saved")
    page.reload()
    expect(page.locator(".name input").first).not_to_be_checked()
    expect(page.locator(".add").first).to_have_value("A third thing")


def test_choice_without_a_letter_asks_for_it(page: Page) -> None:
    participant = make_participant(make_demo())
    participant.order = ["ice", *(slug for slug in participant.order if slug != "ice")]
    participant.save()
    open_prompt(page, participant)
    paste(page, "lol")
    expect(page.locator(".read")).to_contain_text("We found no letter from A to D")
    expect(page.locator("b[data-complete]")).to_be_hidden()
    page.locator(".name", has_text="C").click()
    page.get_by_role("button", name="That is what it chose").click()
    page.wait_for_url("**/prompt/2/")
    assert ReadBack.objects.get().letter == "C"


def test_empty_box_takes_a_reason(page: Page, person) -> None:
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_text("My chatbot gave no answer").click()
    page.get_by_role("button", name="It showed an error").click()
    page.wait_for_url("**/prompt/2/")
    assert ReadBack.objects.get().no_answer == "error" and newest(person).accepted


LEAVE = """hidden => { Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
    document.dispatchEvent(new Event("visibilitychange")) }"""


def test_box_has_the_focus_and_is_in_view_on_coming_back(page: Page, person) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Copy message").click()
    expect(page.locator("small[data-copied]")).not_to_be_empty()
    page.evaluate(LEAVE, True)
    page.evaluate(LEAVE, False)
    expect(page.locator("#text")).to_be_focused()
    box = page.locator("#text").bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= 844


def test_button_pastes_both_flavours_over_what_is_there(page: Page, person) -> None:
    text = ANSWERS[person.order[0]]
    paste(page, "Something else that was here before.", html="<p>Something</p>")
    write = """kinds => navigator.clipboard.write([new ClipboardItem(Object.fromEntries(
        Object.entries(kinds).map(([kind, words]) => [kind, new Blob([words], {type: kind})])))])"""
    page.evaluate(write, {"text/plain": text, "text/html": "<ol><li>One</li></ol>"})
    page.get_by_role("button", name="Paste again").click()
    expect(page.locator("#text")).to_have_value(text)
    expect(page.locator("b[data-complete]")).to_be_visible()
    forward(page)
    stored = newest(person)
    assert stored.text == text and "<li>One</li>" in stored.html and "Something" not in stored.html
    assert [paste["plain"] for paste in stored.evidence["pastes"]][-1] == len(text)
    assert stored.evidence["typed"] == 0 and not stored.evidence["edited_after"]


def test_clipboard_that_may_not_be_read_is_told_in_a_sentence(page: Page, person) -> None:
    page.evaluate("() => { navigator.clipboard.read = () => Promise.reject() }")
    page.get_by_role("button", name="Paste from clipboard").click()
    expect(page.locator("[data-clipped]")).to_contain_text("Please paste into the box by hand.")
    expect(page.locator("#text")).to_be_focused()


def test_paste_page_stays_light(page: Page, person) -> None:
    sizes = []
    page.on("response", lambda answer: sizes.append(len(answer.body())))
    page.reload(wait_until="networkidle")
    expect(page.locator("[data-copy]")).to_be_visible()
    assert 30_000 < sum(sizes) <= 90_000
