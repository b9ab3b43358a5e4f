"""A second process for the cells of a report: it has what this one has read, and a core of its own.

Of two threads one waits whenever Python itself is at work, which is a third of a report (benchmarks/README.md). The
second process is a fork: it has all answers without a copy of them. It touches no database, log or file, ends with this
process, and where it is killed this process does what is left. Not by `multiprocessing`: a worker of Celery may not
have children of that kind.
"""

import ctypes
import gc
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import takewhile
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from analysis.stats.speed import Once, cores, each

Known = TypeVar("Known")
Cell = TypeVar("Cell")
Value = TypeVar("Value")

LEAST_ROOM = 512 * 2**20  # bytes that must be free; benchmarks/README.md says what a second process takes
PATIENCE = 60.0  # seconds for an answer beyond three times those that the first process was at work
LIBRARY = ctypes.CDLL(None)  # C's
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


class Second:
    """From `with` to its end cells are worked by two processes, if that can be; before and after, by this one.

    The second one begins when there is first enough to do. `idle_threads` names those that hold nothing which a fork
    needs: beside any other one there is no fork.
    """

    def __init__(self, idle_threads: Callable[[], Collection[str]] = tuple) -> None:
        self.idle_threads = idle_threads
        self.may_begin = False
        self.process: _Process | None = None

    def __enter__(self) -> "Second":
        self.may_begin = True
        return self

    def __exit__(self, *error: object) -> None:
        self.may_begin = False
        if self.process:
            self.process.end()
            self.process = None

    def each(
        self, work: Callable[[Known, Cell], Value], known: Known, once: Once, cells: Sequence[Cell], is_long: bool
    ) -> list[Value]:
        """work(known, cell) of every cell, in their order. It must not use the database.

        The two processes begin at the two ends, so that neighbours should be cells that need the same. `known` is what
        it was when the second process began, and must be the same in all calls; the rest is pickled. What one process
        has found in `once` the other gets. `is_long`: whether there is so much to do that a second process may begin.
        """
        process = self._process(known, once, is_long)
        if process and process.ahead in (None, (work, cells)):
            return process.share(work, known, once, cells)
        return each(partial(work, known), cells)

    def begin(
        self, work: Callable[[Known, Cell], Value], known: Known, once: Once, cells: Sequence[Cell], is_long: bool
    ) -> None:
        """Have the second process begin with what `each` will be called for; until then others are worked here."""
        process = self._process(known, once, is_long)
        if process and not process.ahead:
            process.order(work, cells)

    def _process(self, known: Any, once: Once, is_long: bool) -> "_Process | None":
        if self.may_begin and is_long:
            self.may_begin = False
            if can_fork(self.idle_threads()):
                self.process = _Process(known, once)
        return self.process if self.process and self.process.lives else None


def can_fork(idle_threads: Collection[str]) -> bool:
    """Whether there is a core and room for a second process, and no thread that might hold what it needs."""
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return False
    others = {thread.name for thread in threading.enumerate() if thread is not threading.main_thread()}
    return others <= {*idle_threads} and cores() > 1 and _room() >= LEAST_ROOM


def _room() -> float:
    """Bytes of memory that are free, here and in this container."""
    free = Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0]
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    with suppress(OSError, ValueError):  # where there is no limit, it is "max"
        return min(int(free) * 1024, int(limit.read_text()) - int(used.read_text()))
    return int(free) * 1024


class _Process:
    """The second process, as the first one sees it."""

    def __init__(self, known: Any, once: Once) -> None:
        self.connection, there = Pipe()
        # A byte for each cell that nobody has taken yet. Reading it is taking the next cell.
        self.left, self.to_fill = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.untold: dict[Any, Any] = {}  # what this process has found since it last told the other
        self.ahead: tuple[Any, Any] | None = None  # the work and cells that it is at
        self.lives = True
        with _signals_held(), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of later Pythons, about any thread
            first = os.getpid()
            gc.freeze()  # else a collection in the second process would copy all that it looks at
            self.pid = os.fork()
            if not self.pid:
                self._serve(first, there, known, once)
            gc.unfreeze()
        there.close()

    # --- in the first process

    def share(self, work: Callable[[Any, Any], Value], known: Any, once: Once, cells: Sequence[Any]) -> list[Value]:
        began = time.monotonic()
        try:
            if not self.ahead:
                self.order(work, cells)
            once.take_fresh()
            found = self._work(partial(work, known), cells, range(len(cells)))
            self.ahead, self.untold = None, once.take_fresh()
            theirs, fresh = self._answer(PATIENCE + 3 * (time.monotonic() - began))
        except BaseException:
            self.end()
            raise
        once.found.update(fresh)
        found.update(theirs)
        return [found[place] if place in found else work(known, cell) for place, cell in enumerate(cells)]

    def order(self, work: Callable[[Any, Any], Any], cells: Sequence[Any]) -> None:
        order = pickle.dumps((work, cells, self.untold), pickle.HIGHEST_PROTOCOL)
        os.write(self.to_fill, bytes(len(cells)))
        self.ahead = work, cells
        with suppress(OSError):  # it is no more, as its answer will show
            self.connection.send_bytes(order)

    def _answer(self, patience: float) -> tuple[dict[int, Any], dict[Any, Any]]:
        """Results by place, and what was found with them; of a process that is no more, or hangs, none."""
        try:
            if not self.connection.poll(patience):
                raise TimeoutError
            found, fresh = pickle.loads(self.connection.recv_bytes())
        except (OSError, EOFError):
            self.end()
            return {}, {}
        if isinstance(found, BaseException):
            raise found
        return found, fresh

    def end(self) -> None:
        """It holds nothing that would have to be put away."""
        if not self.lives:
            return
        self.lives = False
        with suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.connection.close()
        os.close(self.left)
        os.close(self.to_fill)

    # --- in both

    def _work(self, work: Callable[[Any], Any], cells: Sequence[Any], places: Iterable[int]) -> dict[int, Any]:
        """Results by place, of the first of these places as long as there are cells left."""
        return {place: work(cells[place]) for place in takewhile(lambda _: self._take(), places)}

    def _take(self) -> bool:
        try:
            return bool(os.read(self.left, 1))
        except BlockingIOError:
            return False

    # --- in the second process

    def _serve(self, first: int, connection: Connection, known: Any, once: Once) -> NoReturn:
        try:
            LIBRARY.prctl(DIES_WITH_PARENT, signal.SIGKILL)
            _let_go_of_all_but(connection.fileno(), self.left)
            _forget_signals()
            while os.getppid() == first:
                work, cells, told = pickle.loads(connection.recv_bytes())
                once.found.update(told)
                once.take_fresh()
                connection.send_bytes(self._answer_to(partial(work, known), cells, once))
        finally:
            os._exit(0)

    def _answer_to(self, work: Callable[[Any], Any], cells: Sequence[Any], once: Once) -> bytes:
        try:
            found = self._work(work, cells, reversed(range(len(cells))))
            return pickle.dumps((found, once.take_fresh()), pickle.HIGHEST_PROTOCOL)
        except BaseException as error:
            return _told(error)


def _told(error: BaseException) -> bytes:
    error.add_note("".join(traceback.format_exception(error)))
    try:
        told = pickle.dumps((error, {}))
        pickle.loads(told)
    except Exception:
        return pickle.dumps((RuntimeError("".join(traceback.format_exception(error))), {}))
    return told


@contextmanager
def _signals_held() -> Iterator[None]:
    """Nobody's handler runs in the second process."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _forget_signals() -> None:
    """Each signal has its usual end; only of Ctrl-C the first process decides what it means."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _let_go_of_all_but(*kept: int) -> None:
    """Connections, locks and files of the first process, so that their ends are its own affair."""
    ends = [2, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for before, after in zip(ends, ends[1:], strict=False):
        os.closerange(before + 1, after)
