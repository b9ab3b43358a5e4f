"""The pages about paying: what differs, what there is to decide, pay against the promise, and the ledger."""

import os
import re
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from surveys.console.pages import address_without_page, page_of, show, study_page
from surveys.console.wording import duration, money, money_range, plural
from surveys.models import Payment, Submission
from surveys.monitoring.people import DecisionError
from surveys.prolific.board import Board, read_board
from surveys.prolific.decisions import (
    CHANGED,
    Amount,
    ProposedDecision,
    cents_of,
    check_newest,
    decide,
    decide_amounts,
    fee_of,
    find_proposal,
    propose,
)
from surveys.prolific.mirror import prolific_ids
from surveys.prolific.reconciliation import ACTIONS, MEANINGS, Kind
from surveys.prolific.tasks import pay_and_read_back_one
from surveys.prolific.top_ups import REASONS, CellPay, cost_of, pay_by_cell
from surveys.studies.access import Role
from surveys.studies.lifecycle import definition_of

PAGE_SIZE = 50
REAL = "api.prolific.com"
LARGEST_BONUS = 100_000  # cents, for one person by one form
SUM = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,2})?")
# What a page asks with once more before it pays.
FIELDS = ("meaning", "count", "cents", "cell", "how", "newest", "people", "amount", "reason")
HOW = {"cell": "the same to each, so that the median keeps it", "person": "to each what their own time is short of"}


@study_page(Role.RESEARCHER)
@require_safe
def paying(request: HttpRequest) -> HttpResponse:
    return board_page(request)


def board_page(request: HttpRequest, status: int = 200, bonus: Mapping[str, str] | None = None) -> HttpResponse:
    """`bonus`: what stands in the form for one."""
    study = request.study
    board, currency = read_board(study), definition_of(study.current_id).pay.currency
    proposals, counts = propose(study, board), board.counts
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
        cells=[cell_row(cell, currency) for cell in pay_by_cell(study, board)],
        newest=newest_of(board),
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


def reason_of(payment: Payment) -> str:
    """In words where the reason is a meaning."""
    return MEANINGS[payment.reason].label if payment.reason in MEANINGS else payment.reason


def say_board(board: Board, proposals: list[ProposedDecision], currency: str) -> str:
    if not any(remote.read_at for remote in board.remotes):
        return "Nothing has been read from Prolific yet."
    there = sum(row.theirs is not None for row in board.rows)
    if not board.open:
        return f"Both sides agree on {plural(there, 'submission')}."
    cents = sum(each.cents for each in proposals if each.moves_money)
    words = f"{len(board.open):,} of {plural(len(board.rows), 'submission')} need a decision"
    return f"{words}: {money(cents, currency)} to people." if cents else f"{words}."


def read_when(at: datetime | None) -> str:
    return f"read {duration((timezone.now() - at).total_seconds())} ago" if at else "not read yet"


def newest_of(board: Board) -> int:
    return max((each.id for row in board.rows if row.theirs for each in row.theirs.ledger), default=0)


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
    """(state, payments, money) of the whole ledger, the states that occur."""
    entries = [each for row in board.rows if row.theirs for each in row.theirs.ledger]
    return [
        (label, len(found), money(sum(each.cents for each in found), currency))
        for state, label in Payment.State.choices
        if (found := [each for each in entries if each.state == state])
    ]


# --- what people decide -------------------------------------------------------


def back(request: HttpRequest, decided: int) -> HttpResponse:
    """To the page again; what was decided is sent in the background."""
    if decided:
        pay_and_read_back_one.delay(request.study.pk)
        words = f"{plural(decided, 'submission')} decided. It is sent in the background and then read back."
        messages.success(request, words)
    return redirect("paying:board", request.study.slug)


@study_page(Role.RESEARCHER)
@require_POST
def read_now(request: HttpRequest) -> HttpResponse:
    pay_and_read_back_one.delay(request.study.pk)
    messages.info(request, "Everything is read back from Prolific in the background. Reload the page in a moment.")
    return redirect("paying:board", request.study.slug)


def is_sure(request: HttpRequest) -> bool:
    """Whether this comes from the page that says once more what is paid to whom."""
    return request.POST.get("sure") == "yes"


def ask_first(request: HttpRequest, board: Board, amounts: list[Amount], what: str) -> HttpResponse:
    """Who gets how much, what it costs, and that it is final; nothing is decided yet."""
    pays = partial(money, currency=definition_of(request.study.current_id).pay.currency)
    rows = {row.theirs.id: row for row in board.rows if row.theirs}
    cents = cost_of(amounts)
    return show(
        request,
        "prolific/confirm.html",
        "paying",
        what=what,
        reasons=sorted({amount.reason for amount in amounts}),
        people=[(rows[amount.submission], pays(amount.cents)) for amount in amounts],
        n=len(amounts),
        pays=pays(cents),
        fee=pays(fee_of(cents)),
        together=pays(cents + fee_of(cents)),
        fields=[(name, request.POST[name]) for name in FIELDS if name in request.POST],
        **frame(),
    )


@study_page(Role.RESEARCHER)
@require_POST
def decide_meaning(request: HttpRequest) -> HttpResponse:
    study, meaning, decided = request.study, request.POST.get("meaning", ""), 0
    seen = (whole(request, "count"), whole(request, "cents"))
    instead = meaning in MEANINGS and request.POST.get("action") == MEANINGS[meaning].instead != ""
    try:
        if not is_sure(request) and not instead:
            board = read_board(study)
            proposal = find_proposal(study, board, meaning, *seen)
            if proposal.moves_money:
                screen_out = definition_of(study.current_id).pay.screen_out_cents
                rows = [row for row in board.open if row.meaning == meaning]
                label = MEANINGS[meaning].label
                amounts = [Amount(row.theirs.id, cents_of(row, screen_out), label) for row in rows if row.theirs]
                return ask_first(request, board, amounts, ACTIONS[proposal.action])
        decided = decide(study, meaning, request.user.get_username(), *seen, instead=instead)
    except DecisionError as error:
        messages.error(request, str(error))
    if instead and decided:
        messages.success(request, f"{plural(decided, 'submission')} dismissed. Nothing is sent to Prolific.")
        return redirect("paying:board", study.slug)
    return back(request, decided)


@study_page(Role.RESEARCHER)
@require_POST
def top_up(request: HttpRequest) -> HttpResponse:
    """To a cell's people what is short of the promise, as the page showed it."""
    study, how, decided = request.study, request.POST.get("how", ""), 0
    board, newest = read_board(study), whole(request, "newest")
    cells = {str(cell.id or ""): cell for cell in pay_by_cell(study, board)}
    cell = cells.get(request.POST.get("cell", ""))
    try:
        amounts = cell.amounts(how) if cell and how in REASONS else []
        if not amounts or cost_of(amounts) != whole(request, "cents"):
            raise DecisionError(CHANGED)
        check_newest(study, newest)
        if not is_sure(request):
            return ask_first(request, board, amounts, Kind.TOP_UP.label)
        decided = decide_amounts(study, Kind.TOP_UP, amounts, request.user.get_username(), newest)
    except DecisionError as error:
        messages.error(request, str(error))
    return back(request, decided)


@study_page(Role.RESEARCHER)
@require_POST
def pay_bonus(request: HttpRequest) -> HttpResponse:
    """The same bonus to everybody who is named, with its reason."""
    study, board, newest = request.study, read_board(request.study), whole(request, "newest")
    try:
        amounts = read_bonus(request, board)
        check_newest(study, newest)
        if not is_sure(request):
            return ask_first(request, board, amounts, Kind.BONUS.label)
        decided = decide_amounts(study, Kind.BONUS, amounts, request.user.get_username(), newest)
    except DecisionError as error:
        messages.error(request, str(error))
        return board_page(request, 400, request.POST)
    return back(request, decided)


def read_bonus(request: HttpRequest, board: Board) -> list[Amount]:
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
    return [Amount(paid[name], cents, reason) for name in names]


def whole(request: HttpRequest, name: str) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 12 else -1


@study_page(Role.RESEARCHER)
@require_safe
def show_ledger(request: HttpRequest) -> HttpResponse:
    currency = definition_of(request.study.current_id).pay.currency
    mine = Payment.objects.filter(submission__remote__study=request.study).select_related("submission")
    state = request.GET.get("state", "")
    if state in Payment.State.values:
        mine = mine.filter(state=state)
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
