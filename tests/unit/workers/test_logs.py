"""What functions print and log, by attempt."""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Iterator

import pytest

from orchestrator.domain.masking import Masker
from orchestrator.loglines import make_formatter
from orchestrator.store.logs import LogLine
from workers import logs
from workers.logs import ATTEMPT_CHARACTERS, ATTEMPT_LINES, LINE_CHARACTERS, Capture, Captured, Handler, Tee, uncaptured


class Out:
    """The worker's own stdout, behind the capturing stream once it is `on`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch, self._stream = monkeypatch, io.StringIO()

    def on(self) -> None:
        """Within the test: pytest has a stdout of its own for fixtures."""
        self._monkeypatch.setattr(sys, "stdout", Tee("stdout", self._stream))

    def getvalue(self) -> str:
        return self._stream.getvalue()


@pytest.fixture
def out(monkeypatch: pytest.MonkeyPatch) -> Out:
    return Out(monkeypatch)


@pytest.fixture
def handler() -> Iterator[Handler]:
    made = Handler()
    root = logging.getLogger()
    level = root.level
    root.addHandler(made)
    root.setLevel(logging.INFO)
    yield made
    root.removeHandler(made)
    root.setLevel(level)


def captured(capture: Capture, *, alone: bool = False) -> Captured:
    made = Captured(capture, alone=alone)
    made.start()
    return made


def messages(lines: list[LogLine]) -> list[str]:
    return [line.message for line in lines]


def test_printed_lines_go_to_the_attempt_and_to_the_worker(out: Out) -> None:
    out.on()
    capture = Capture()
    scope = captured(capture)
    print("one")  # noqa: T201
    print("two", "three", end="")  # noqa: T201
    scope.stop()
    print("outside")  # noqa: T201
    assert out.getvalue() == "one\ntwo threeoutside\n"
    lines = capture.finish()
    assert messages(lines) == ["one", "two three"]
    assert {(line.stream, line.level) for line in lines} == {("stdout", "INFO")}


def test_a_line_is_kept_when_it_is_whole() -> None:
    capture = Capture()
    capture.write("stdout", "ab")
    assert capture.take() == []
    capture.write("stdout", "c\nd")
    assert messages(capture.take()) == ["abc"]
    assert messages(capture.finish()) == ["d"]


def test_stdout_and_stderr_keep_their_own_lines() -> None:
    capture = Capture()
    capture.write("stdout", "to out ")
    capture.write("stderr", "to err\n")
    capture.write("stdout", "more\n")
    assert [(line.stream, line.level, line.message) for line in capture.finish()] == [
        ("stderr", "WARNING", "to err"),
        ("stdout", "INFO", "to out more"),
    ]


def test_of_a_progress_bar_only_what_stays_on_the_screen_is_kept() -> None:
    capture = Capture()
    for percent in range(0, 101, 10):
        capture.write("stderr", f"\r{percent}%")
    capture.write("stderr", "\n")
    capture.write("stderr", "windows\r\n")
    assert messages(capture.finish()) == ["100%", "windows"]


def test_a_progress_bar_that_never_ends_its_line_uses_bounded_memory() -> None:
    capture = Capture()
    for number in range(20_000):
        capture.write("stderr", f"\r{number:010}")
    assert len(capture._begun["stderr"]) <= LINE_CHARACTERS + 11
    assert messages(capture.finish()) == ["0000019999"]


def test_a_line_without_an_end_is_cut_and_says_so() -> None:
    capture = Capture()
    for _ in range(100):
        capture.write("stdout", "x" * 1000)
    (line,) = capture.finish()
    assert line.message.startswith("x" * LINE_CHARACTERS)
    assert line.message.endswith("(the rest was cut)")
    assert len(line.message) < LINE_CHARACTERS + 50


def test_lines_over_the_limit_are_counted_in_one_last_line() -> None:
    capture = Capture()
    for number in range(ATTEMPT_LINES + 5):
        capture.write("stdout", f"{number}\n")
    lines = capture.finish()
    assert len(lines) == ATTEMPT_LINES + 1
    assert lines[-1].message == "5 more lines were not kept"


def test_characters_over_the_limit_of_an_attempt_are_told_as_lines_that_were_not_kept() -> None:
    capture = Capture()
    room = ATTEMPT_CHARACTERS // LINE_CHARACTERS + 1
    for _ in range(room + 3):
        capture.log("INFO", "x" * LINE_CHARACTERS)
    lines = capture.finish()
    assert len(lines) == room + 1
    assert lines[-1].message == "3 more lines were not kept"


def test_the_limit_holds_over_lines_that_were_stored_meanwhile() -> None:
    capture = Capture()
    for _ in range(3):
        for _ in range(ATTEMPT_LINES // 2):
            capture.log("INFO", "line")
        taken = capture.take()
    assert taken == []
    assert messages(capture.finish()) == [f"{ATTEMPT_LINES // 2} more lines were not kept"]


def test_lines_that_could_not_be_stored_keep_their_place() -> None:
    capture = Capture()
    capture.log("INFO", "first")
    taken = capture.take()
    capture.log("INFO", "second")
    capture.put_back(taken)
    assert messages(capture.finish()) == ["first", "second"]


def test_what_postgres_cannot_hold_is_replaced() -> None:
    capture = Capture()
    capture.write("stdout", "nul \0 and surrogate \ud800 and é\n")
    (line,) = capture.finish()
    assert line.message == "nul \ufffd and surrogate ? and é"
    line.message.encode()


def test_secrets_are_masked_in_the_lines_and_in_the_workers_output(out: Out) -> None:
    out.on()
    capture = Capture(Masker(["hunter22", "two\nlines"]))
    scope = captured(capture)
    print("the password is hunter22, and", "two\nlines")  # noqa: T201
    sys.stdout.write("hunt")
    sys.stdout.write("er22\n")
    scope.stop()
    assert messages(capture.finish()) == ["the password is ***, and ***", "***"]
    assert "password is ***" in out.getvalue()


def test_what_no_attempt_prints_is_masked_with_all_secrets_of_the_process(
    out: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    out.on()
    monkeypatch.setattr(logs._process, "masker", Masker(["hunter22"]))
    print("left over: hunter22")  # noqa: T201
    record = logging.LogRecord("shop", logging.INFO, __file__, 1, "logged: %s", ("hunter22",), None)
    assert out.getvalue() == "left over: ***\n"
    assert make_formatter("text", logs.masker, dict).format(record).endswith(": logged: ***")


def test_the_stream_stays_open_whoever_closes_it(out: Out) -> None:
    out.on()
    sys.stdout.close()
    print("still here")  # noqa: T201
    assert out.getvalue() == "still here\n"


def test_what_lies_under_the_stream_stays_open_too() -> None:
    under = io.BytesIO()
    tee = Tee("stdout", io.TextIOWrapper(under, write_through=True))
    for buffer in (tee.buffer, tee.detach()):
        io.TextIOWrapper(buffer).close()
    tee.write("still here")
    assert under.getvalue() == b"still here"


class Broken(io.StringIO):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error

    def flush(self) -> None:
        raise self.error


@pytest.mark.parametrize("error", [BrokenPipeError(), ValueError("closed"), OSError(28, "disk full")], ids=repr)
def test_a_line_that_the_worker_cannot_pass_on_is_kept_all_the_same(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", Tee("stdout", Broken(error)))
    capture = Capture()
    scope = captured(capture)
    print("kept", flush=True)  # noqa: T201
    scope.stop()
    assert messages(capture.finish()) == ["kept"]


def test_streams_that_a_function_replaced_or_removed_are_back_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    tees = {name: Tee(name, io.StringIO()) for name in ("stdout", "stderr")}
    monkeypatch.setattr(logs._process, "tees", tees)
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.delattr(sys, "stderr")
    capture = Capture()
    scope = captured(capture, alone=True)
    assert (sys.stdout, sys.stderr) == (tees["stdout"], tees["stderr"])
    scope.stop()


def test_a_stream_that_another_attempt_may_be_using_is_left_in_place(out: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    out.on()
    monkeypatch.setattr(logs._process, "tees", {"stdout": Tee("stdout", io.StringIO())})
    before = sys.stdout
    captured(Capture()).stop()
    assert sys.stdout is before


def test_logged_records_go_to_the_attempt_with_their_level(handler: Handler) -> None:
    capture = Capture()
    scope = captured(capture)
    logging.getLogger("orchestrator.step").warning("from %s", "ctx.log")
    logging.getLogger("shop.stock").info("low")
    logging.getLogger("shop.stock").debug("too fine")
    scope.stop()
    logging.getLogger("shop.stock").info("outside")
    assert [(line.stream, line.level, line.message) for line in capture.finish()] == [
        ("log", "WARNING", "from ctx.log"),
        ("log", "INFO", "shop.stock: low"),
    ]


def test_a_logged_exception_keeps_its_traceback(handler: Handler) -> None:
    capture = Capture()
    scope = captured(capture)
    try:
        raise ValueError("here")
    except ValueError:
        logging.getLogger("orchestrator.step").exception("it broke")
    scope.stop()
    (line,) = capture.finish()
    assert line.message.startswith("it broke\nTraceback")
    assert line.message.endswith("ValueError: here")


def test_a_log_call_with_wrong_arguments_does_not_fail_the_step(
    handler: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[logging.LogRecord] = []
    monkeypatch.setattr(handler, "handleError", told.append)
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    scope = captured(Capture())
    logging.getLogger("orchestrator.step").info("%d", "not a number")
    scope.stop()
    assert len(told) == 1


def test_threads_that_run_different_attempts_do_not_mix_their_lines(out: Out) -> None:
    out.on()
    captures = {name: Capture() for name in ("a", "b", "c")}
    together = threading.Barrier(len(captures))

    def run(name: str) -> None:
        scope = captured(captures[name])
        together.wait()
        for number in range(100):
            print(f"{name} {number}")  # noqa: T201
        scope.stop()

    threads = [threading.Thread(target=run, args=(name,)) for name in captures]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, capture in captures.items():
        assert messages(capture.finish()) == [f"{name} {number}" for number in range(100)]


def test_a_thread_of_the_only_attempt_belongs_to_it(out: Out) -> None:
    out.on()
    capture = Capture()
    scope = captured(capture, alone=True)
    thread = threading.Thread(target=lambda: print("from a thread"))  # noqa: T201
    thread.start()
    thread.join()
    scope.stop()
    assert messages(capture.finish()) == ["from a thread"]


def test_the_workers_own_threads_belong_to_no_attempt(out: Out) -> None:
    out.on()
    capture = Capture()
    scope = captured(capture, alone=True)

    def keeper() -> None:
        uncaptured()
        print("from the keeper")  # noqa: T201

    thread = threading.Thread(target=keeper)
    thread.start()
    thread.join()
    scope.stop()
    assert capture.finish() == []
    assert out.getvalue() == "from the keeper\n"


def test_stopping_twice_does_no_harm(out: Out) -> None:
    out.on()
    outer, inner = Capture(), Capture()
    first = captured(outer, alone=True)
    second = captured(inner, alone=True)
    second.stop()
    second.stop()
    assert logs.current() is outer
    first.stop()
    assert logs.current() is None


def test_the_stream_is_still_a_stream(out: Out) -> None:
    out.on()
    assert sys.stdout.write("four") == 4
    sys.stdout.writelines(["a", "b"])
    sys.stdout.flush()
    assert not sys.stdout.isatty()
    assert out.getvalue() == "fourab"
