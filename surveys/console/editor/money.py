"""What a study costs while it is still being written: pay an hour, people, pay and fee, as far as the file says so."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surveys.models import fee_of
from surveys.studies.files.rules import LEAST_PAY_PER_HOUR
from surveys.studies.wording import money


@dataclass(frozen=True)
class Money:
    """What a study costs, at `cents` for each person; `least` is Prolific's minimum for an hour."""

    cents: int
    currency: str
    minutes: int
    people: int
    branches: int

    @property
    def an_hour(self) -> str:
        return money(round(self.cents * 60 / self.minutes), self.currency) if self.minutes else "–"

    @property
    def least(self) -> str:
        return money(int(LEAST_PAY_PER_HOUR[self.currency] * 100), self.currency)

    @property
    def is_enough(self) -> bool:
        return not self.minutes or self.cents * 60 >= LEAST_PAY_PER_HOUR[self.currency] * 100 * self.minutes

    @property
    def pay(self) -> str:
        return money(self.cents * self.people, self.currency)

    @property
    def fee(self) -> str:
        return money(fee_of(self.cents * self.people), self.currency)

    @property
    def total(self) -> str:
        return self._whole(self.cents * self.people)

    def cost(self, places: int) -> str:
        """The cost of a cell with so many places for each chatbot."""
        return self._whole(self.cents * places * self.branches)

    def _whole(self, cents: int) -> str:
        """The sum with the fee, rounded to a dollar or pound."""
        return money(round((cents + fee_of(cents)) / 100) * 100, self.currency).removesuffix(".00")


def money_of(study: Mapping[str, Any]) -> Money | None:
    """Costs from what could be read of a file; None if it does not say what people get."""
    pay, work = study.get("pay", {}), study.get("annotation") or {}
    if not {"amount", "currency"} <= pay.keys():
        return None
    branches = max(1, len(study["chatbots"]))
    places = sum(cell.get("places", 0) for cell in study["cells"]) or work.get("annotators", 0)
    return Money(int(pay["amount"] * 100), pay["currency"], study.get("minutes", 0), places * branches, branches)
