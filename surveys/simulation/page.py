"""A page as a person without JavaScript has it: its form, its links, its code."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

PATH = re.compile(r"/[as]/[\w-]+/(?:[^/]+~[^/]+/)?(?P<name>[\w-]*)/?(?P<more>[\w-]*)/?(?P<below>[\w-]*)/?$")


@dataclass
class Form:
    """One form: what stands in its fields, what can be chosen, and its submit buttons in order."""

    id: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)


@dataclass
class Page:
    status: int
    path: str
    forms: list[Form] = field(default_factory=list)
    message: str = ""
    title: str = ""
    code: str = ""
    back: str = ""
    asks: list[str] = field(default_factory=list)
    led_here: bool = False  # by a redirect: what was sent before was taken

    @property
    def name(self) -> str:
        """`consent`, or the name in the page's own address: `questions`, `prompt`, `item`, `feedback`, `end` …"""
        match = PATH.match(self.path.partition("?")[0])
        return (match["below"] or match["name"] or "consent") if match else ""

    @property
    def number(self) -> int:
        """The number in `…/prompt/5/` or `…/item/5/`; 0 where there is none."""
        match = PATH.match(self.path.partition("?")[0])
        return int(match["more"]) if match and match["more"].isdecimal() else 0

    @property
    def form(self) -> Form | None:
        return next((form for form in self.forms if form.id == "step"), None)

    @property
    def is_practice(self) -> bool:
        """An item of the training, the only ones that can't be skipped."""
        return self.name == "item" and self.form_to("skip") is None

    def form_to(self, name: str) -> Form | None:
        """The form that leads to the page of this name, such as `undo` or `skip`."""
        return next((form for form in self.forms if form.data.get("action", "").endswith(f"/{name}/")), None)

    def form_with(self, name: str, value: str) -> Form:
        """The form whose button has this name and value, such as one of the two ways to stop."""
        return next(form for form in self.forms if (name, value) in form.buttons)


def read_page(status: int, path: str, html: str) -> Page:
    reader = Reader(Page(status, path))
    reader.feed(html)
    reader.close()
    return reader.page


class Reader(HTMLParser):
    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page
        self.form: Form | None = None  # that we are in
        self.box = ""  # name of the textarea that we are in
        self.words = ""  # the page's own words that we are in: an attribute of Page

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag == "form":
            self.form = Form(given.get("id", ""), data=given)
            self.page.forms.append(self.form)
        elif tag in ("input", "textarea", "button") and self.form:
            self.read_control(tag, given, self.form)
        elif tag == "a" and given.get("class") == "button quiet":
            self.page.back = given["href"]
        if "data-message" in given or tag in ("h1", "code"):
            self.words = {"h1": "title", "code": "code"}.get(tag, "message")

    def read_control(self, tag: str, given: dict[str, str], form: Form) -> None:
        name, value = given.get("name", ""), given.get("value", "")
        if tag == "button":
            if given.get("type", "submit") == "submit":
                form.buttons.append((name, value))
                self.page.asks += [name] if name in ("privacy", "keep") else []
        elif tag == "textarea":
            self.box = name
            form.fields[name] = ""
        elif given.get("type") in ("radio", "checkbox"):
            form.choices.setdefault(name, []).append(value)
            if "checked" in given:
                form.fields[name] = value
        else:
            form.fields[name] = value

    def handle_data(self, data: str) -> None:
        if self.box and self.form:
            self.form.fields[self.box] += data
        elif self.words:
            setattr(self.page, self.words, getattr(self.page, self.words) + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self.form:
            # The line end right after the tag belongs to the markup.
            self.form.fields[self.box] = self.form.fields[self.box].removeprefix("\n")
            self.box = ""
        if tag == "form":
            self.form = None
        if tag in ("p", "h1", "code"):
            self.words = ""
