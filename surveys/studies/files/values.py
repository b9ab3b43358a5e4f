"""Types of single values of a study file, as pydantic reads them, and the wording of their faults."""

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StrictStr,
    TypeAdapter,
    ValidationError,
    WrapValidator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

LONGEST_TEXT = 20_000
LONGEST_LINE = 300
LONGEST_TITLE = 200  # what the database holds
MOST_FAULTS = 50  # of one value
# Characters that pages, PostgreSQL or spreadsheets cannot keep; tab and line feed are fine.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
# The type wanted, in words, by pydantic's error.
WANTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list in square brackets",
    "dict_type": 'a table such as { gender = "Woman" }',
}
KINDS_OF_VALUE = {
    **{type(None): "nothing", bool: "true or false", str: "text", list: "a list", dict: "a table"},
    **{int: "a number", **dict.fromkeys((float, Decimal), "a decimal number")},
}


@dataclass(frozen=True)
class Rule:
    """A validator, and its part of a JSON Schema."""

    validator: AfterValidator | BeforeValidator | WrapValidator
    schema: dict[str, Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return self.validator.__get_pydantic_core_schema__(source, handler)

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return self.schema if "type" in self.schema or "anyOf" in self.schema else handler(core) | self.schema


def _read_text(value: str, longest: int = LONGEST_TEXT) -> str:
    if not value.strip():
        raise ValueError("is empty")
    if len(value) > longest:
        raise ValueError(f"has {len(value):,} characters; the limit is {longest:,}")
    if found := CONTROL.search(value):
        raise ValueError(f"holds the control character U+{ord(found[0]):04X}, which pages and exports cannot show")
    return value.strip()


def _read_line(value: str) -> str:
    if "\n" in value.strip():
        raise ValueError("must be on one line")
    return _read_text(value, LONGEST_LINE)


LongText = Annotated[StrictStr, Rule(AfterValidator(_read_text), {"maxLength": LONGEST_TEXT, "pattern": r"\S"})]
Line = Annotated[StrictStr, Rule(AfterValidator(_read_line), {"maxLength": LONGEST_LINE, "pattern": r"\S"})]
Title = Annotated[
    Line, Rule(AfterValidator(lambda value: _read_text(value, LONGEST_TITLE)), {"maxLength": LONGEST_TITLE})
]
_ONE_LINE = TypeAdapter[str](Line)


def matching(pattern: str, wanted: str) -> Rule:
    def read(value: Any) -> str:
        line = _ONE_LINE.validate_python(value)
        if not re.fullmatch(pattern, value):
            raise ValueError(f"is {shown(value)}, but must be {wanted}")
        return line

    return Rule(BeforeValidator(read), {"type": "string", "pattern": f"^(?:{pattern})$"})


Slug = Annotated[str, matching(r"[a-z0-9][a-z0-9-]{0,49}", "lower-case letters, digits and hyphens, at most 50")]


def one_of(*names: str) -> Rule:
    def read(value: Any) -> str:
        if isinstance(value, str) and value in names:
            return value
        raise ValueError(f"is {shown(value)}{nearest(value, names)}; it can be {listed(names)}")

    return Rule(BeforeValidator(read), {"type": "string", "enum": list(names)})


def within(low: int, high: int) -> Rule:
    def read(value: int) -> int:
        if low <= value <= high:
            return value
        raise ValueError(f"must be a whole number from {low:,} to {high:,}")

    return Rule(AfterValidator(read), {"minimum": low, "maximum": high})


def number(low: int, high: int, above: bool = False) -> Rule:
    """A number within these bounds; `above` excludes the lower one."""
    bounds = f"above {low:,} and at most {high:,}" if above else f"from {low:,} to {high:,}"

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise ValueError(f"must be a number, not {kind_of(value)}")
        # As a float, as it is kept: a number too small for one would be kept as 0.
        kept = float(value) if isinstance(value, Decimal) else value
        if low <= kept <= high and (kept > low or not above):
            return float(kept)
        raise ValueError(f"must be a number {bounds}")

    lowest = "exclusiveMinimum" if above else "minimum"
    return Rule(BeforeValidator(read), {"type": "number", lowest: low, "maximum": high})


def _read_money(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError(f"must be a number such as 5.00, not {kind_of(value)}")
    if isinstance(value, Decimal) and not value.is_finite() or not 0 < value <= 1000:
        raise ValueError("must be a number above 0, and at most 1,000")
    if (amount := round(Decimal(value), 2)) != value:
        raise ValueError("must have at most two decimals")
    return amount


Money = Annotated[
    Decimal, Rule(BeforeValidator(_read_money), {"type": "number", "exclusiveMinimum": 0, "maximum": 1000})
]


def entries(least: int = 0, most: int = 100) -> Rule:
    """A list of `least` to `most` entries, all different."""

    def read(value: Any, read_each: Callable[[Any], tuple[str, ...]]) -> tuple[str, ...]:
        faults: list[InitErrorDetails] = []
        if isinstance(value, list) and not least <= len(value) <= most:
            count = f"has {len(value)} entries, but must have from {least} to {most}"
            faults = [{"type": PydanticCustomError("entries", count), "input": value}]
        try:
            found = read_each(value)
        except ValidationError as error:
            if faults:
                raise ValidationError.from_exception_data("entries", [*faults, *_again(error)]) from None
            raise
        if faults:
            raise ValidationError.from_exception_data("entries", faults)
        if repeated := next((entry for entry in found if found.count(entry) > 1), None):
            raise ValueError(f"names {shown(repeated)} more than once")
        return found

    return Rule(WrapValidator(read), {"minItems": least, "maxItems": most, "uniqueItems": True})


def _again(error: ValidationError) -> list[InitErrorDetails]:
    """The faults in the form in which pydantic raises them, to join them with another."""
    return [
        {
            "type": PydanticCustomError("entry", _fault_of({**each, "loc": ()})),
            "loc": each["loc"],
            "input": each["input"],
        }
        for each in error.errors(include_url=False)
    ]


def _read_one_or_more(value: Any, read_list: Callable[[Any], tuple[str, ...]]) -> tuple[str, ...]:
    return read_list(value) if isinstance(value, list) else (_ONE_LINE.validate_python(value),)


Lines = tuple[Line, ...]
# For each question one option or a list of options.
_ONE_OR_MORE = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
OneOrMore = Annotated[Lines, entries(1), Rule(WrapValidator(_read_one_or_more), _ONE_OR_MORE)]
LinesByKey = dict[str, OneOrMore]


def stored(default: Any = "") -> Any:
    """A field that a definition holds but no key of the file sets."""
    return field(default=default, metadata={"stored": True})


def faults_in(error: ValidationError) -> list[str]:
    """The faults of a value, in words that continue the name of its key."""
    return [_fault_of(each) for each in error.errors(include_url=False)[:MOST_FAULTS]]


def _fault_of(error: ErrorDetails) -> str:
    wanted = WANTED.get(error["type"])
    fault = f"must be {wanted}, not {kind_of(error['input'])}" if wanted else error["msg"]
    if "error" in error.get("ctx", {}):
        fault = str(error["ctx"]["error"])
    inside = [f"entry {step + 1}" if isinstance(step, int) else f"for {shown(step)}" for step in error["loc"]]
    return " ".join([*inside, fault])


def kind_of(value: Any) -> str:
    return KINDS_OF_VALUE.get(type(value), "a date or time")


def shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else kind_of(value)
    return text if len(text) <= 60 else text[:57] + "…"


def listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def nearest(name: Any, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name[:100], known, 1) if isinstance(name, str) else []
    return f" (did you mean `{near[0]}`?)" if near else ""
