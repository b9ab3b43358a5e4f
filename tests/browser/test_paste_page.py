"""The paste page with its scripts: copying, evidence, the friendly gate and personal details."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from surveys.models import Draft, Flag, ReadBack, Response
from tests.browser.survey import ANSWERS, forward, make_demo, newest, open_prompt, paste
from tests.factories import make_participant

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PERSONAL = "Hi Martina, write to martina.k@example.com:\n1. One\n2. Two\n3. Three\n4. Four\n5. Five"
REMOVED = "Hi [name], write to [e-mail address]:\n1. One\n2. Two\n3. Three\n4. Four\n5. Five"


FILLED = """() => [...document.querySelectorAll(".forward .button")].filter((button) => button.checkVisibility()
    && getComputedStyle(button).backgroundColor !== "rgba(0, 0, 0, 0)").map((button) => button.innerText)"""


@pytest.fixture
def chatbot(page: Page) -> Iterator[None]:
    """Answer the chatbot's address on this computer."""
    page.context.route("https://chatgpt.com/**", lambda route: route.fulfill(body="Chatbot"))
    yield
    page.context.unroute("https://chatgpt.com/**")


def test_one_filled_button_copies_and_opens_then_pastes_then_goes_on(page: Page, person, chatbot) -> None:
    assert page.evaluate(FILLED) == ["Copy and open ChatGPT"]
    expect(page.locator(".did").first).to_be_hidden()
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Copy and open ChatGPT").click()
    assert opened.value.evaluate("window.opener") is None
    opened.value.close()
    expect(page.locator("[data-done=copy]")).to_be_visible()
    expect(page.locator("[data-done=ask]")).to_be_visible()
    copied = page.evaluate("async () => (await navigator.clipboard.read())[0].types")
    assert copied == ["text/plain"]
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("[data-message]").text_content()
    assert page.evaluate(FILLED) == ["Paste the answer"]
    page.evaluate("text => navigator.clipboard.writeText(text)", ANSWERS[person.order[0]])
    page.get_by_role("button", name="Paste the answer").click()
    expect(page.get_by_role("button", name="Save and continue")).to_be_focused()
    expect(page.locator(".read.clean")).to_be_visible()
    assert page.evaluate(FILLED) == ["Save and continue"]
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_url("**/prompt/2/")
    notes = newest(person).evidence
    assert notes["copied_at"] <= notes["opened_at"] <= notes["pastes"][0]["at"]


def test_copying_alone_says_so_aloud_and_leaves_opening(page: Page, person) -> None:
    page.get_by_role("button", name="Only copy").click()
    expect(page.locator("[data-aloud]")).to_have_text("Copied")
    expect(page.locator("[data-done=copy]")).to_have_text("✓ Copied")
    expect(page.locator("[data-done=ask]")).to_be_hidden()
    expect(page.locator("[data-copy]")).to_be_focused()
    assert page.evaluate(FILLED) == ["Open ChatGPT"]


def test_window_that_was_blocked_is_not_said_to_be_open(page: Page, person) -> None:
    page.evaluate("() => { window.open = () => null }")
    page.get_by_role("button", name="Copy and open ChatGPT").click()
    expect(page.locator("p[data-copied]")).to_contain_text("did not open a new tab")
    expect(page.locator("[data-ask]")).to_be_focused()
    expect(page.locator("[data-done=copy]")).to_be_visible()
    expect(page.locator("[data-done=ask]")).to_be_hidden()
    paste(page, ANSWERS[person.order[0]])
    forward(page)
    assert "copied_at" in newest(person).evidence and "opened_at" not in newest(person).evidence


def test_page_that_a_phone_forgot_comes_back_to_the_same_step(page: Page, person, chatbot) -> None:
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Copy and open ChatGPT").click()
    opened.value.close()
    expect(page.locator("span[data-saved]")).to_contain_text("Saved")
    page.goto("about:blank")
    open_prompt(page, person)
    assert page.evaluate(FILLED) == ["Paste the answer"]
    expect(page.locator("[data-done=ask]")).to_be_visible()
    paste(page, ANSWERS[person.order[0]])
    forward(page)
    assert {"copied_at", "opened_at"} <= newest(person).evidence.keys()


def test_part_of_the_message_that_is_copied_by_hand_is_not_the_message(page: Page, person) -> None:
    page.evaluate(
        """() => { const { firstChild } = document.querySelector("[data-message]");
            getSelection().setBaseAndExtent(firstChild, 0, firstChild, 5) }"""
    )
    page.keyboard.press("Control+C")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("[data-message]").text_content()[:5]
    expect(page.locator("[data-done=copy]")).to_be_hidden()


def test_what_was_neither_copied_nor_opened_is_not_said_to_be(page: Page, person) -> None:
    paste(page, ANSWERS["ice"])
    for step in ("copy", "ask"):
        expect(page.locator(f"[data-done={step}]")).to_be_hidden()
    expect(page.locator("[data-message]")).to_be_visible()


def test_what_was_not_checked_yet_has_no_tick(page: Page, person) -> None:
    page.locator("#text").fill("https://chatgpt.com/share/abc")  # typed, so that nothing checks it before it is sent
    expect(page.locator("[data-seen]")).to_contain_text("characters")
    expect(page.locator(".read.clean")).to_have_count(0)
    paste(page, "1. Porridge\n2. Toast\n3. Eggs\n4. Muesli\n5. Pancakes")
    expect(page.locator(".read.clean")).to_be_visible()


def test_nothing_looks_complete_where_no_name_was_read(page: Page, person) -> None:
    paste(page, "```\nfor n in range(10):\n    print(n)\n```")
    expect(page.locator("fieldset.read legend")).to_contain_text("no names")
    expect(page.locator(".read.clean")).to_have_count(0)


def test_copying_without_the_clipboards_permission_still_works(page: Page, person) -> None:
    page.evaluate("() => { document.execCommand = () => false }")
    page.get_by_role("button", name="Only copy").click()
    expect(page.locator("[data-done=copy]")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("[data-message]").text_content()


def test_copying_that_is_forbidden_leaves_the_message_selected(page: Page, person) -> None:
    page.evaluate(
        """() => { navigator.clipboard.writeText = () => Promise.reject();
            document.execCommand = () => false }"""
    )
    page.get_by_role("button", name="Only copy").click()
    expect(page.locator("p[data-copied]")).to_have_text("The message is selected. Please copy it by hand.")
    assert page.evaluate("getSelection().toString()") == page.locator("[data-message]").text_content()


def test_paste_shows_its_size(page: Page, person) -> None:
    text = ANSWERS[person.order[0]]
    paste(page, text)
    expect(page.locator(".read.clean")).to_be_visible()
    lines = [line for line in text.split("\n") if line]
    expect(page.locator("[data-seen]")).to_have_text(f"{len(text)} characters · {len(lines)} lines")


@pytest.mark.core
def test_gate_asks_right_after_the_paste_and_goes_when_fixed(page: Page, person) -> None:
    paste(page, "1. One thing\n2. Another thing")
    expect(page.locator("#gate")).to_contain_text("We found two names. Was there more in your chatbot’s answer?")
    expect(page.get_by_role("button", name="Save and continue")).to_be_hidden()
    page.get_by_role("link", name="Yes, I’ll paste it again").click()
    expect(page.locator("#text")).to_be_focused()
    paste(page, ANSWERS[person.order[0]])
    expect(page.locator(".read.clean")).to_contain_text("We read five names")
    forward(page)
    assert newest(person).revision == 1
    assert Flag.objects.exclude(check_name="agent").get(participant=person).outcome == "fixed"


def test_gate_lets_pass_what_somebody_really_got(page: Page, person) -> None:
    text = "I'm sorry, but I can't help with that request."
    paste(page, text)
    page.get_by_role("button", name="This is what I got").click()
    page.wait_for_url("**/prompt/2/")
    assert newest(person).accepted and newest(person).text == text
    assert Flag.objects.exclude(check_name="agent").get(participant=person).outcome == "kept"


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
    expect(page.locator("[data-personal] .gate")).to_have_count(0)
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


def test_click_that_a_panel_overtakes_answers_nothing(page: Page, person) -> None:
    page.evaluate(
        """() => {
            window.isHit = () => {
                const { x, y } = document.querySelector(".read .button").getBoundingClientRect();
                return document.elementFromPoint(x + 20, y + 20).closest(".read .button") !== null;
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
    paste(page, TWO)
    expect(page.locator(".read")).to_be_visible()
    assert [page.evaluate("hitAtOnce"), page.evaluate("settled")] == [False, True]


TWO = "1. One thing\n2. Another thing\n\nA third thing is worth a look."


def test_reading_is_corrected_in_two_taps_and_counts(page: Page, person) -> None:
    paste(page, ANSWERS[person.order[0]])
    chips = page.locator(".name")
    expect(chips).to_have_count(5)
    page.locator(".read.clean summary").click()
    chips.nth(1).click()
    page.get_by_role("button", name="Yes, that is right").click()
    page.wait_for_url("**/prompt/2/")
    said = ReadBack.objects.get()
    assert said.verdict == "corrected" and said.names == [*said.read_names[:1], *said.read_names[2:]]


def test_missing_names_are_added_one_after_the_other_by_keys(page: Page, person) -> None:
    paste(page, TWO)
    page.get_by_text("Correct the names").click()
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
        page.evaluate("document.querySelector('#step').requestSubmit()")
        expect(page.locator(".read")).to_be_focused()
        page.locator("#text").focus()
    assert [row.accepted for row in Response.objects.all()] == [False]
    page.get_by_role("button", name="No, that is all of it").click()
    page.wait_for_url("**/prompt/2/")
    assert ReadBack.objects.get().verdict == "right"


def test_panel_on_screen_is_left_alone_while_nothing_of_it_changes(page: Page, person) -> None:
    paste(page, TWO)
    page.get_by_text("Correct the names").click()
    page.locator(".add").first.fill("A third")
    page.evaluate("document.querySelector('.read').marked = true")
    page.locator(".name").first.click()
    with page.expect_response("**/draft/"):
        page.evaluate("dispatchEvent(new Event('online'))")
    page.get_by_role("button", name="No, that is all of it").click()
    page.wait_for_url("**/prompt/2/")
    assert ReadBack.objects.get().names == ["Another thing", "A third"]


def test_what_was_said_of_the_reading_comes_back_with_the_page(page: Page, person) -> None:
    paste(page, TWO)
    page.get_by_text("Correct the names").click()
    page.locator(".add").first.fill("A third thing")
    page.locator(".name").first.click()
    expect(page.locator("span[data-saved]")).to_have_text("Not saved yet")
    expect(page.locator("span[data-saved]")).to_contain_text("Saved")
    page.reload()
    expect(page.locator(".name input").first).not_to_be_checked()
    expect(page.locator(".add").first).to_have_value("A third thing")


def test_corrections_stay_when_the_text_is_edited_and_when_more_is_pasted(page: Page, person) -> None:
    paste(page, ANSWERS[person.order[0]])
    page.locator(".read.clean summary").click()
    page.locator(".name").nth(1).click()
    page.locator(".add").first.fill("Tea")
    gone = page.locator(".name bdi").nth(1).text_content()
    page.locator("#text").press("Control+End")
    page.keyboard.type("\n\nEnjoy")
    with page.expect_response("**/draft/"):
        pass
    page.locator("#text").press("Control+End")
    page.evaluate("navigator.clipboard.writeText(' and rest!')")
    with page.expect_response("**/draft/"):
        page.keyboard.press("Control+V")
    expect(page.locator(".name input").nth(1)).not_to_be_checked()
    expect(page.locator(".add").first).to_have_value("Tea")
    page.reload()
    expect(page.locator(".name input").nth(1)).not_to_be_checked()
    page.locator("#text").fill(ANSWERS[person.order[0]].replace(gone, "Something else"))
    expect(page.locator("#gate .gone")).to_contain_text(f"No longer in the text: {gone}")
    forward(page)
    page.go_back()
    said = ReadBack.objects.get()
    assert said.verdict == "corrected" and "Tea" in said.names and "Something else" in said.names


def test_link_to_a_chat_alone_hears_that_its_text_is_wanted_and_nothing_else(page: Page, person) -> None:
    paste(page, "https://chatgpt.com/share/67a1f0ab-1c2d-8000-9abc-0123456789ab")
    expect(page.locator("[data-personal] .gate")).to_contain_text("the text of the answer, not the link")
    page.get_by_role("button", name="Save and continue").click()
    expect(page.locator("[data-personal] .gate")).to_be_focused()
    expect(page.locator("#step .gate")).to_have_count(1)
    assert not Draft.objects.exists() and not Response.objects.exists()
    paste(page, ANSWERS[person.order[0]])
    expect(page.locator("[data-personal] .gate")).to_have_count(0)


def test_every_place_of_a_name_goes_and_so_does_the_layout(page: Page, person) -> None:
    text = f"Hi Anna!\n{ANSWERS[person.order[0]]}\nEnjoy, Anna; anna's choice."
    paste(page, text, html=f"<p>{text}</p>")
    expect(page.locator("[data-personal] li")).to_have_text("Anna × 3")
    page.get_by_role("button", name="Take out what is ticked").click()
    forward(page)
    stored = newest(person)
    assert "anna" not in (stored.text + stored.html).lower() and stored.personal == {"removed": {"name": 3}}


def test_choice_without_a_letter_asks_for_it(page: Page) -> None:
    participant = make_participant(make_demo())
    participant.order = ["ice", *(slug for slug in participant.order if slug != "ice")]
    participant.save()
    open_prompt(page, participant)
    paste(page, "lol")
    expect(page.locator(".read")).to_contain_text("We found no letter from A to D")
    expect(page.locator(".read.clean")).to_have_count(0)
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
    page.get_by_role("button", name="Only copy").click()
    expect(page.locator("[data-done=copy]")).to_be_visible()
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
    expect(page.locator(".read.clean")).to_be_visible()
    forward(page)
    stored = newest(person)
    assert stored.text == text and "<li>One</li>" in stored.html and "Something" not in stored.html
    assert [paste["plain"] for paste in stored.evidence["pastes"]][-1] == len(text)
    assert stored.evidence["typed"] == 0 and not stored.evidence["edited_after"]


def test_clipboard_that_may_not_be_read_is_told_in_a_sentence(page: Page, person) -> None:
    page.evaluate("() => { navigator.clipboard.read = () => Promise.reject() }")
    page.locator("[data-ask]").evaluate("link => link.addEventListener('click', (press) => press.preventDefault())")
    page.locator("[data-ask]").click()
    page.get_by_role("button", name="Paste the answer").click()
    expect(page.locator("[data-clipped]")).to_contain_text("Please paste into the box by hand.")
    expect(page.locator("#text")).to_be_focused()


def test_paste_page_stays_light(page: Page, person) -> None:
    sizes = []
    page.on("response", lambda answer: sizes.append(len(answer.body())))
    page.reload(wait_until="networkidle")
    expect(page.locator("[data-copy]")).to_be_visible()
    assert 30_000 < sum(sizes) <= 90_000
