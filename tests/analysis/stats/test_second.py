"""Two processes share the cells of one list; whatever becomes of the second one, the results are the same."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from analysis.stats import second
from analysis.stats.second import Second, can_fork
from analysis.stats.speed import Once

ROOT = Path(__file__).resolve().parents[3]


class Known:
    """What both processes have."""

    def __init__(self) -> None:
        self.first, self.once = os.getpid(), Once()


@pytest.fixture
def known() -> Known:
    return Known()


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[Second]:
    """Both, though tests may run beside other threads; nothing of the second is left behind."""
    monkeypatch.setattr(second, "can_fork", lambda idle_threads: True)
    descriptors, process = set(os.listdir("/proc/self/fd")), psutil.Process()
    children = set(process.children())
    with Second() as both:
        yield both
    assert set(process.children()) == children  # a zombie would be one
    assert set(os.listdir("/proc/self/fd")) == descriptors


def share(pair: Second, work: Any, known: Known, cells: Sequence[Any]) -> list[Any]:
    return pair.each(work, known, known.once, cells, True)


def is_second(known: Known) -> bool:
    return os.getpid() != known.first


def whose(known: Known, cell: int) -> tuple[int, bool]:
    time.sleep(0.002)
    return cell * 10, is_second(known)


@pytest.mark.parametrize("cells", [0, 1, 2, 7, 60])
def test_results_stand_in_the_order_of_the_cells(pair: Second, known: Known, cells: int) -> None:
    for _ in range(2):
        assert [value for value, _ in share(pair, whose, known, range(cells))] == [cell * 10 for cell in range(cells)]


def test_the_second_process_begins_at_the_other_end(pair: Second, known: Known) -> None:
    by_second = [second for _, second in share(pair, whose, known, range(60))]
    assert by_second == sorted(by_second) and {*by_second} == {False, True}


def test_more_cells_than_a_pipe_holds(pair: Second, known: Known) -> None:
    assert share(pair, double, known, range(100_000)) == [2 * cell for cell in range(100_000)]


def double(known: Known, cell: int) -> int:
    return 2 * cell


def end_by(known: Known, cell: tuple[int, int]) -> int:
    """In the second process the third cell ends it."""
    place, how = cell
    time.sleep(0.002)
    if is_second(known) and place == 37:
        os.kill(os.getpid(), how)
        time.sleep(60)
    return place


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1])
def test_of_a_killed_process_the_first_does_what_is_left(pair: Second, known: Known, how: int) -> None:
    handled: list[int] = []
    before = [signal.signal(number, lambda number, frame: handled.append(number)) for number in STOPPING]
    try:
        assert share(pair, end_by, known, [(place, how) for place in range(40)]) == list(range(40))
        assert pair.process and not pair.process.lives
        assert share(pair, double, known, range(5)) == [0, 2, 4, 6, 8]
    finally:
        for number, handler in zip(STOPPING, before, strict=True):
            signal.signal(number, handler)
    assert handled == []


STOPPING = (signal.SIGTERM, signal.SIGUSR1)


def test_a_process_that_hangs_is_not_waited_for(pair: Second, known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second, "PATIENCE", 0.1)
    assert share(pair, hang, known, range(4)) == [0, 1, 2, 3]


def hang(known: Known, cell: int) -> int:
    time.sleep(60 if is_second(known) else 0.01)
    return cell


class Unkept(Exception):
    def __init__(self, one: int, two: int) -> None:  # pickle cannot make it anew
        super().__init__("lost")


def fail(known: Known, cell: tuple[str, bool]) -> None:
    error, in_second = cell
    time.sleep(0.002)
    if is_second(known) == in_second:
        raise Unkept(1, 2) if error == "unkept" else ZeroDivisionError("as it was")


@pytest.mark.parametrize("in_second", [False, True])
def test_what_goes_wrong_in_a_cell_is_raised(pair: Second, known: Known, in_second: bool) -> None:
    with pytest.raises(ZeroDivisionError, match="as it was"):
        share(pair, fail, known, [("zero", in_second)] * 20)


def test_what_goes_wrong_and_cannot_be_told_is_told_in_words(pair: Second, known: Known) -> None:
    with pytest.raises(RuntimeError, match="Unkept: lost"):
        share(pair, fail, known, [("unkept", True)] * 20)


def find(known: Known, cell: int) -> int:
    time.sleep(0.002)
    return int(known.once.get(("found", cell), lambda: cell + is_second(known) * 1000))


def test_what_one_process_found_the_other_does_not_compute_again(pair: Second, known: Known) -> None:
    found = share(pair, find, known, range(20))
    assert {value >= 1000 for value in found} == {False, True}
    assert [known.once.found["found", cell] for cell in range(20)] == found
    backwards = share(pair, find, known, range(19, -1, -1))  # the ends have changed hands
    assert backwards == found[::-1]


def test_it_begins_ahead_and_others_are_worked_meanwhile(pair: Second, known: Known) -> None:
    cells = range(30)
    pair.begin(whose, known, known.once, cells, True)
    assert share(pair, double, known, range(50)) == [2 * cell for cell in range(50)]
    time.sleep(1)
    assert share(pair, whose, known, cells) == [(cell * 10, True) for cell in cells]  # there was nothing left to do
    assert share(pair, double, known, range(50)) == [2 * cell for cell in range(50)]


def test_what_was_begun_ahead_and_is_never_asked_for_ends_with_the_rest(pair: Second, known: Known) -> None:
    pair.begin(whose, known, known.once, range(30), True)


def test_before_and_after_all_is_done_by_the_first(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second, "can_fork", lambda idle_threads: True)
    alone = Second()
    with Second() as short:
        assert short.each(whose, known, known.once, range(4), False) == [(cell * 10, False) for cell in range(4)]
    for one in (alone, short):
        assert share(one, whose, known, range(4)) == [(cell * 10, False) for cell in range(4)]


def test_there_is_no_fork_beside_a_thread_that_is_not_known_to_be_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    there = [thread.name for thread in threading.enumerate()]
    monkeypatch.setattr(second, "cores", lambda: 2)
    monkeypatch.setattr(second, "_room", lambda: second.LEAST_ROOM)
    assert can_fork(there)
    with ended_thread() as name:
        assert not can_fork(there)
        assert can_fork([*there, name])
    found: list[bool] = []
    asked = threading.Thread(target=lambda: found.append(can_fork([*there, threading.current_thread().name])))
    asked.start()
    asked.join()
    assert found == [False]  # asked in a thread, as a web server's are
    monkeypatch.setattr(second, "_room", lambda: second.LEAST_ROOM - 1)
    assert not can_fork(there)
    monkeypatch.setattr(second, "_room", lambda: second.LEAST_ROOM)
    monkeypatch.setattr(second, "cores", lambda: 1)
    assert not can_fork(there)


class ended_thread:  # noqa: N801 - used as a function is
    def __enter__(self) -> str:
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.end.wait, name="busy")
        self.thread.start()
        return "busy"

    def __exit__(self, *error: object) -> None:
        self.end.set()
        self.thread.join()


PROGRAM = """
from analysis.stats.second import Second
from tests.analysis.stats.test_second import Known, tell_and_wait
import analysis.stats.second as second
second.can_fork = lambda idle_threads: True
known = Known()
with Second() as both:
    both.each(tell_and_wait, known, known.once, range(2), True)
"""


def tell_and_wait(known: Known, cell: int) -> None:
    if is_second(known):
        print(os.getpid(), flush=True)
    time.sleep(60)


def test_it_ends_with_the_first_process() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=ROOT, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        other = psutil.Process(int(first.stdout.readline()))
        first.kill()
        other.wait(10)
    assert not other.is_running()
