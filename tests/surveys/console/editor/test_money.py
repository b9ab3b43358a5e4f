"""What a study costs, by hand."""

import pytest

from surveys.console.editor.preview_pages import Money


def test_pay_an_hour_fee_and_sum() -> None:
    found = Money(cents=150, currency="USD", minutes=7, people=80, branches=2)
    assert (found.an_hour, found.least, found.is_enough) == ("$12.86", "$8.00", True)
    # Prolific's fee is a third of the pay.
    assert (found.pay, found.fee, found.total, found.cost(20)) == ("$120.00", "$40.00", "$160", "$80")


@pytest.mark.parametrize(("cents", "minutes", "enough"), [(160, 12, True), (159, 12, False), (1, 0, True)])
def test_what_is_enough_is_told_to_the_cent(cents: int, minutes: int, enough: bool) -> None:
    found = Money(cents, "USD", minutes, people=10, branches=1)
    assert (found.is_enough, found.an_hour == "–") == (enough, not minutes)
