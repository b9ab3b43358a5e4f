"""The pages about paying: differences, decisions, pay against the promise, and the ledger.

Each decision is made after a sheet that lists everybody, the sums and the fee.
"""

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from surveys.console.monitoring.people import DecisionError
from surveys.models import Payment, Study, Submission, TeamRequest, fee_of
from surveys.models.hashes import fingerprint
from surveys.prolific import decisions
from surveys.prolific.reconciliation import ACTIONS, MEANINGS, Board, Kind, read_board
from surveys.prolific.tasks import pay_and_read_back_one
from surveys.prolific.transfer import prolific_ids
from surveys.studies.access import Role
from surveys.studies.lifecycle import definition_of
from surveys.studies.pages import FORM, address_without_page, page_of, saying, show, study_page
from surveys.studies.second_person import SecondPersonError, What, ask, confirm, decline, shown_requests, waiting
from surveys.studies.wording import duration, money, money_range, plural

PAGE_SIZE = 50
REAL = "api.prolific.com"
HOW = {"cell": "the same to each, so that the median keeps it", "person": "to each what their own time is short of"}
LARGEST_BONUS = 100_000  # cents, for one person by one form
SUM = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,2})?")
FIELDS = ("meaning", "cell", "how", "people", "amount", "reason")  # what a sheet submits once more


@study_page(Role.RESEARCHER, require_safe)
def paying(request: HttpRequest) -> HttpResponse:
    return board_page(request)


def board_page(request: HttpRequest, status: int = 200, bonus: Mapping[str, str] | None = None) -> HttpResponse:
    """Show the board; `bonus` fills the form for a bonus."""
    study = request.study
    definition, board = definition_of(study.current_id), read_board(study)
    currency = definition.pay.currency
    proposals, counts = decisions.propose(board), board.counts
    meaning = request.GET.get("meaning", "")
    rows = [row for row in board.rows if row.meaning == meaning] if meaning in counts else board.open or board.rows
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    return show(
        request,
        "prolific/paying.html",
        "paying",
        status,
        bonus=bonus,
        sentence=say_board(board, proposals, currency),
        board=board,
        named=prolific_ids(study) if not board.remotes else [remote.prolific_id for remote in board.remotes],
        remotes=[(remote, read_when(remote.read_at)) for remote in board.remotes],
        proposals=[proposal_row(proposal, currency) for proposal in proposals],
        told=[
            (each, paying_in_words(each, currency))
            for each in shown_requests(definition.second_person, TeamRequest.What.PAY, study)
        ],
        cells=[] if board.is_erased else [cell_row(cell, currency) for cell in decisions.pay_by_cell(study, board)],
        rows=page,
        shown=[(row, MEANINGS[row.meaning], money_of(row.theirs, currency)) for row in page],
        meanings=[(name, f"{MEANINGS[name].label} ({counts[name]:,})") for name in MEANINGS if counts[name]],
        meaning=meaning,
        query=address_without_page(request),
        totals=ledger_totals(board, currency),
        **frame(),
    )


def frame() -> dict:
    """Context of every page about Prolific: whether this is a rehearsal, and whether there is a token."""
    return {
        "is_rehearsal": urlsplit(settings.PROLIFIC_API).hostname != REAL,
        "has_token": bool(os.environ.get(settings.PROLIFIC_TOKEN_VARIABLE)),
        "token_variable": settings.PROLIFIC_TOKEN_VARIABLE,
    }


def paying_in_words(asked: TeamRequest, currency: str) -> str:
    sums = [cents for _, cents, _ in asked.detail["listed"]]
    return f"pay {money(sum(sums), currency)} to {plural(len(sums), 'person', 'people')}"


def reason_of(payment: Payment | decisions.Amount) -> str:
    """The reason of a payment, in words if it is a meaning."""
    return MEANINGS[payment.reason].label if payment.reason in MEANINGS else payment.reason


def say_board(board: Board, proposals: list[decisions.ProposedDecision], currency: str) -> str:
    if not any(remote.read_at for remote in board.remotes):
        return "Nothing has been read from Prolific yet."
    there = sum(row.theirs is not None for row in board.rows)
    undecided = sum(row.theirs is not None for row in board.open)
    if undecided:
        cents = sum(each.cents for each in proposals if each.moves_money)
        need = "needs" if undecided == 1 else "need"
        words = f"{undecided:,} of {plural(there, 'submission')} {need} a decision"
        words += f": {money(cents, currency)} to people." if cents else "."
    else:
        words = f"Both sides agree on {plural(there, 'submission')}."
    if alone := len(board.rows) - there:
        words += f" {plural(alone, 'session')} here {'has' if alone == 1 else 'have'} no submission on Prolific."
    return words


def read_when(at: datetime | None) -> str:
    return f"read {duration((timezone.now() - at).total_seconds())} ago" if at else "not read yet"


def money_of(theirs: Submission | None, currency: str) -> tuple[str, str]:
    return (money(theirs.reward, currency), money(theirs.bonus, currency)) if theirs else ("", "")


def proposal_row(proposal: decisions.ProposedDecision, currency: str) -> dict:
    return {
        "proposal": proposal,
        "meaning": MEANINGS[proposal.meaning],
        "action": ACTIONS[proposal.action],
        "instead": ACTIONS.get(MEANINGS[proposal.meaning].instead, ""),
        "pays": money(proposal.cents, currency) if proposal.cents else "",
        "fee": money(proposal.fee, currency) if proposal.cents and proposal.moves_money else "",
    }


def cell_row(cell: decisions.CellPay, currency: str) -> dict:
    pays = partial(money, currency=currency)
    return {
        "cell": cell,
        "per_hour": pays(cell.per_hour) if cell.per_hour is not None else "",
        "promised": money_range(cell.promised, currency),
        "below": cell.below,
        "options": [
            {"how": how, "words": HOW[how], "n": n, "cents": cents} | {"pays": pays(cents), "fee": pays(fee)}
            for how, n, cents, fee in cell.options
        ],
    }


def ledger_totals(board: Board, currency: str) -> list[tuple[str, int, str]]:
    """(state, payments, money) of the whole ledger, for each state that occurs."""
    entries = [each for row in board.rows if row.theirs for each in row.theirs.ledger]
    return [
        (label, len(found), money(sum(each.cents for each in found), currency))
        for state, label in Payment.State.choices
        if (found := [each for each in entries if each.state == state])
    ]


@study_page(Role.RESEARCHER, require_safe)
def show_ledger(request: HttpRequest) -> HttpResponse:
    currency = definition_of(request.study.current_id).pay.currency
    mine = Payment.objects.filter(submission__remote__study=request.study).select_related("submission")
    state = request.GET.get("state", "")
    state = state if state in Payment.State.values else ""
    mine = mine.filter(state=state) if state else mine
    page = page_of(request, mine.order_by("-pk"), PAGE_SIZE)
    return show(
        request,
        "prolific/ledger.html",
        "paying",
        rows=page,
        payments=[(payment, money(payment.cents, currency), reason_of(payment)) for payment in page],
        states=Payment.State.choices,
        state=state,
        query=address_without_page(request),
    )


def back(request: HttpRequest, decided: int) -> HttpResponse:
    """Go back to the page; decided payments are sent in the background."""
    if decided:
        pay_and_read_back_one.delay(request.study.pk)
        words = f"{plural(decided, 'submission')} decided. It is sent in the background and then read back."
        messages.success(request, words)
    return redirect("paying:board", request.study.slug)


@study_page(Role.RESEARCHER, require_POST)
def read_now(request: HttpRequest) -> HttpResponse:
    pay_and_read_back_one.delay(request.study.pk)
    messages.info(request, "Everything is read back from Prolific in the background. Reload the page in a moment.")
    return redirect("paying:board", request.study.slug)


def sheet_salt(request: HttpRequest) -> str:
    """The purpose a list is signed for: this study's payments of this kind."""
    return f"sheet {request.path}"


def read_sheet(request: HttpRequest) -> decisions.Listed | None:
    """The list of the sheet that this request comes from; None if it comes from no sheet of ours."""
    try:
        return [tuple(each) for each in signing.loads(request.POST.get("listed", ""), salt=sheet_salt(request))]
    except signing.BadSignature:
        return None


@dataclass(frozen=True)
class Payout:
    """A payment to several people: for a meaning, to a cell up to the promise (`how`), or bonuses (`gives`)."""

    kind: str
    meaning: str = ""
    cell: str = ""
    how: str = ""
    gives: tuple[decisions.Amount, ...] = ()

    @property
    def what(self) -> str:
        return ACTIONS[MEANINGS[self.meaning].action] if self.meaning else Kind(self.kind).label

    @property
    def key(self) -> str:
        """The key by which one request waits at a time; different bonuses wait side by side."""
        gives = fingerprint([asdict(each) for each in self.gives])[:12] if self.gives else ""
        return f"{self.kind} {self.meaning}{self.cell}{gives} {self.how}".strip()

    def find(self, study: Study, board: Board) -> list[decisions.Amount]:
        """The amounts to be paid now."""
        if self.meaning:
            return decisions.amounts_of(decisions.rows_of(board, self.meaning))
        if self.how:
            cells = {str(cell.id or ""): cell for cell in decisions.pay_by_cell(study, board)}
            return cells[self.cell].amounts(self.how) if self.cell in cells else []
        there = {row.theirs.id for row in board.rows if row.theirs}
        return [amount for amount in self.gives if amount.submission in there]

    def decide(self, study: Study, actor: str, seen: decisions.Listed, second: TeamRequest | None = None) -> int:
        """Decide exactly the list seen; raises ListChanged if another one would be paid now."""
        if self.meaning:
            return decisions.decide_listed(study, self.meaning, actor, seen, second)
        amounts = self.find(study, read_board(study))
        return decisions.decide_amounts(study, self.kind, amounts, actor, seen, second)

    def to_detail(self, seen: decisions.Listed) -> dict[str, Any]:
        return {"payout": asdict(self), "listed": seen}


def go_on(request: HttpRequest, payout: Payout, board: Board, shown: bool = True) -> HttpResponse:
    """Ask with a sheet that lists everybody; once it comes back and is still true, pay or ask a second person.

    `shown`: whether the page with the form showed what would be paid now; ListChanged is raised if it did not.
    """
    study, seen = request.study, read_sheet(request)
    amounts = payout.find(study, board)
    now = decisions.listed(board, amounts)
    if not (seen or shown):
        raise decisions.ListChanged
    if seen and seen == now and wants_second(study):
        instead = waiting(study, What.PAY).filter(key=payout.key).exists()
        ask(study, What.PAY, payout.key, request.user, payout.to_detail(now))
        words = "You have asked. It is paid once another researcher or owner confirms it."
        messages.success(request, words + " It takes the place of what you had asked for." * instead)
        return redirect("paying:board", study.slug)
    if seen:
        with suppress(decisions.ListChanged):
            return back(request, payout.decide(study, request.user.get_username(), seen))
        board = read_board(study)
        amounts = payout.find(study, board)
    if not amounts:
        raise decisions.ListChanged
    form = {
        "fields": [(name, request.POST[name]) for name in FIELDS if name in request.POST],
        "listed": signing.dumps(decisions.listed(board, amounts), salt=sheet_salt(request), compress=True),
    }
    return show_sheet(request, payout.what, board, amounts, seen, **form)


def wants_second(study: Study) -> bool:
    return What.PAY in definition_of(study.current_id).second_person


def show_sheet(
    request: HttpRequest,
    what: str,
    board: Board,
    amounts: list[decisions.Amount],
    seen: decisions.Listed | None,
    **more: Any,
) -> HttpResponse:
    """Show people, amounts and cost, and that the decision is final; decide nothing yet. `seen`: the list before."""
    pays = partial(money, currency=definition_of(request.study.current_id).pay.currency)
    now, cents = decisions.listed(board, amounts), decisions.cost_of(amounts)
    rows = {row.theirs.id: row for row in board.rows if row.theirs}
    changes, there = changes_of(seen, now, pays) if seen else {}, {name for name, _, _ in now}
    gone = {name: sum_ for name, sum_, _ in seen or () if name not in there}
    page: dict[str, Any] = {
        "what": what,
        "reasons": sorted({reason_of(each) for each in amounts}),
        "people": [(rows[name], pays(sum_), changes.get(name, "")) for name, sum_, _ in now],
        "gone": [(rows.get(name), pays(sum_)) for name, sum_ in gone.items()],
        "differs": seen is not None and seen != now,
        "n": len(amounts),
        "pays": pays(cents),
        "fee": pays(fee_of(cents)),
        "together": pays(cents + fee_of(cents)),
        "asks": wants_second(request.study),
    }
    return show(request, "prolific/confirm.html", "paying", **page, **more, **frame())


def changes_of(seen: decisions.Listed, now: decisions.Listed, pays: Callable[[int], str]) -> dict[int, str]:
    """The changes since the sheet before, by submission."""
    before, found = {name: (sum_, newest) for name, sum_, newest in seen}, {}
    for name, sum_, newest in now:
        was, known = before.get(name, (None, newest))
        new = ["new on the list"] if was is None else [f"{pays(was)} before"] if was != sum_ else []
        found[name] = ", ".join(new + ["got another payment since"] * (newest != known))
    return found


@study_page(Role.RESEARCHER, require_POST)
def decide_meaning(request: HttpRequest) -> HttpResponse:
    study, meaning, decided = request.study, request.POST.get("meaning", ""), 0
    count, cents = whole(request, "count"), whole(request, "cents")
    instead = meaning in MEANINGS and request.POST.get("action") == MEANINGS[meaning].instead != ""
    with saying(request, DecisionError, SecondPersonError):
        if not instead and meaning in MEANINGS and decisions.ProposedDecision(meaning, count, cents).moves_money:
            board, payout = read_board(study), Payout("decide", meaning)
            amounts = payout.find(study, board)
            return go_on(request, payout, board, (len(amounts), decisions.cost_of(amounts)) == (count, cents))
        decided = decisions.decide(study, meaning, request.user.get_username(), count, cents, instead=instead)
    if instead and decided:
        messages.success(request, f"{plural(decided, 'submission')} dismissed. Nothing is sent to Prolific.")
        return redirect("paying:board", study.slug)
    return back(request, decided)


@study_page(Role.RESEARCHER, require_POST)
def top_up(request: HttpRequest) -> HttpResponse:
    """Pay a cell's people the difference to the promise, as the page showed it."""
    board, how = read_board(request.study), request.POST.get("how", "")
    payout = Payout(Kind.TOP_UP, cell=request.POST.get("cell", ""), how=how if how in decisions.REASONS else "")
    with saying(request, DecisionError, SecondPersonError):
        return go_on(
            request, payout, board, decisions.cost_of(payout.find(request.study, board)) == whole(request, "cents")
        )
    return back(request, 0)


@study_page(Role.RESEARCHER, require_POST)
def pay_bonus(request: HttpRequest) -> HttpResponse:
    """Pay the same bonus, with its reason, to everybody named."""
    board = read_board(request.study)
    with saying(request, DecisionError, SecondPersonError):
        return go_on(request, Payout(Kind.BONUS, gives=tuple(read_bonus(request, board))), board)
    return board_page(request, 400, request.POST)


@study_page(Role.RESEARCHER, FORM)
def second(request: HttpRequest, number: int) -> HttpResponse:
    """Show a requested payment, for a second person to confirm or decline."""
    study, account, said = request.study, request.user, request.POST.get("answer", "")
    asked = get_object_or_404(TeamRequest.objects.select_related("asked_by"), study=study, what=What.PAY, pk=number)
    kept = asked.detail["payout"]
    gives = tuple(decisions.Amount(**amount) for amount in kept["gives"])
    payout, seen = Payout(**kept | {"gives": gives}), [tuple(each) for each in asked.detail["listed"]]
    with saying(request, DecisionError, SecondPersonError):
        if said == "confirm":
            actor = account.get_username()
            with transaction.atomic():
                decisions.lock(study)  # before the request, as every decision does
                decided = confirm(asked, account, lambda second: payout.decide(study, actor, seen, second))
            return back(request, decided)
        if said == "decline":
            decline(asked, account, request.POST.get("reason", ""))
            messages.success(request, f"You have declined. {asked.asked_by} sees why.")
            return redirect("paying:board", study.slug)
    if asked.state != TeamRequest.State.WAITING:
        return redirect("paying:board", study.slug)
    board = read_board(study)
    amounts = payout.find(study, board)
    now = decisions.listed(board, amounts)
    if said == "anew" and now and asked.asked_by == account:
        asked = ask(study, What.PAY, payout.key, account, payout.to_detail(now))
        return redirect("paying:second", study.slug, asked.pk)
    stale = f"The list is no longer the one that {asked.asked_by} asked for. It has to be asked anew."
    stale = stale if now else "Nobody on it is left to pay. It waits until somebody declines it."
    return show_sheet(request, payout.what, board, amounts, seen, asked=asked, stale=stale if now != seen else "")


def read_bonus(request: HttpRequest, board: Board) -> list[decisions.Amount]:
    amount = request.POST.get("amount", "").strip()
    whole_sum, _, part = amount.partition(".")
    cents = int(whole_sum) * 100 + int(part.ljust(2, "0")) if SUM.fullmatch(amount) else 0
    if not 0 < cents <= LARGEST_BONUS:
        raise DecisionError("The amount must be a sum such as 1.50, above zero and at most 1,000.")
    reason = request.POST.get("reason", "").replace("\x00", "").strip()[:200]
    if not reason:
        raise DecisionError("Say what the bonus is for.")
    names = list(dict.fromkeys(request.POST.get("people", "").split()))
    paid = {row.ours.pseudonym: row.theirs.id for row in board.rows if row.ours and row.theirs and row.counts}
    if unknown := [name for name in names if name not in paid]:
        raise DecisionError(f"Nothing was decided: {unknown[0][:20]} has no submission on Prolific.")
    if not names:
        raise DecisionError("Nothing was decided: there is nobody to pay. Name people by their pseudonyms.")
    return [decisions.Amount(paid[name], cents, reason) for name in names]


def whole(request: HttpRequest, name: str) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 12 else -1


urlpatterns = [
    path("console/<slug:slug>/paying/", paying, name="board"),
    path("console/<slug:slug>/paying/read/", read_now, name="read"),
    path("console/<slug:slug>/paying/decide/", decide_meaning, name="decide"),
    path("console/<slug:slug>/paying/top-up/", top_up, name="top-up"),
    path("console/<slug:slug>/paying/bonus/", pay_bonus, name="bonus"),
    path("console/<slug:slug>/paying/asked/<int:number>/", second, name="second"),
    path("console/<slug:slug>/paying/ledger/", show_ledger, name="ledger"),
]
