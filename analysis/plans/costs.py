"""What a number of people costs: pay with the platform's fee, minutes, and calls of models."""

from typing import Any

from surveys.prolific.decisions import fee_of
from surveys.studies.files.definitions import Definition


def cost_of(definition: Definition, people: int, calls: int) -> dict[str, Any]:
    pay = definition.pay.cents * people
    fee = fee_of(pay)
    return {
        "currency": definition.pay.currency,
        "pay": pay / 100,
        "fee": fee / 100,
        "total": (pay + fee) / 100,
        "minutes": definition.minutes * people,
        "calls": calls,
    }
