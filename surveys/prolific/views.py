"""The pages about paying: what differs, what to decide, pay against the promise, and the ledger."""

import os
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from urllib.parse import urlsplit

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from surveys.models import Payment, Submission, TeamRequest
from surveys.prolific.board import Board, read_board
from surveys.prolific.decisions import Amount, CellPay, ProposedDecision, pay_by_cell, propose
from surveys.prolific.reconciliation import ACTIONS, MEANINGS
from surveys.prolific.transfer import prolific_ids
from surveys.studies.access import Role
from surveys.studies.lifecycle import definition_of
from surveys.studies.pages import address_without_page, page_of, show, study_page
from surveys.studies.second_person import told
from surveys.studies.wording import duration, money, money_range, plural

PAGE_SIZE = 50
REAL = "api.prolific.com"
HOW = {"cell": "the same to each, so that the median keeps it", "person": "to each what their own time is short of"}


@study_page(Role.RESEARCHER, require_safe)
def paying(request: HttpRequest) -> HttpResponse:
    return board_page(request)


def board_page(request: HttpRequest, status: int = 200, bonus: Mapping[str, str] | None = None) -> HttpResponse:
    """Show the board; `bonus` is what the form for a bonus holds."""
    study = request.study
    definition, board = definition_of(study.current_id), read_board(study)
    currency = definition.pay.currency
    proposals, counts = propose(board), board.counts
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
            for each in told(definition.second_person, TeamRequest.What.PAY, study)
        ],
        cells=[] if board.is_erased else [cell_row(cell, currency) for cell in pay_by_cell(study, board)],
        rows=page,
        shown=[(row, MEANINGS[row.meaning], money_of(row.theirs, currency)) for row in page],
        meanings=[(name, f"{MEANINGS[name].label} ({counts[name]:,})") for name in MEANINGS if counts[name]],
        meaning=meaning,
        query=address_without_page(request),
        totals=ledger_totals(board, currency),
        **frame(),
    )


def frame() -> dict:
    """What every page about Prolific says first: whether this is a rehearsal, and whether there is a token."""
    return {
        "is_rehearsal": urlsplit(settings.PROLIFIC_API).hostname != REAL,
        "has_token": bool(os.environ.get(settings.PROLIFIC_TOKEN_VARIABLE)),
        "token_variable": settings.PROLIFIC_TOKEN_VARIABLE,
    }


def paying_in_words(asked: TeamRequest, currency: str) -> str:
    sums = [cents for _, cents, _ in asked.detail["listed"]]
    return f"pay {money(sum(sums), currency)} to {plural(len(sums), 'person', 'people')}"


def reason_of(payment: Payment | Amount) -> str:
    """The reason of a payment, in words if it is a meaning."""
    return MEANINGS[payment.reason].label if payment.reason in MEANINGS else payment.reason


def say_board(board: Board, proposals: list[ProposedDecision], currency: str) -> str:
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


def proposal_row(proposal: ProposedDecision, currency: str) -> dict:
    return {
        "proposal": proposal,
        "meaning": MEANINGS[proposal.meaning],
        "action": ACTIONS[proposal.action],
        "instead": ACTIONS.get(MEANINGS[proposal.meaning].instead, ""),
        "pays": money(proposal.cents, currency) if proposal.cents else "",
        "fee": money(proposal.fee, currency) if proposal.cents and proposal.moves_money else "",
    }


def cell_row(cell: CellPay, currency: str) -> dict:
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
