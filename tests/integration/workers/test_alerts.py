"""Messages of alerts on their way, through real HTTP and mail servers that behave well, badly or not at all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.header import decode_header, make_header
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.config import Config
from orchestrator.domain.alerts import Channel, State
from orchestrator.domain.signatures import TIMED, check
from orchestrator.services.alert_rules import pause_rule, resume_rule, set_rule, try_rule
from orchestrator.services.cancel import cancel
from orchestrator.services.deliver_alerts import Claimed, Delivery, Undelivered, next_wait
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.store.db import Database
from tests.alerting import SEAL, Alarms
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.workers.fleet import Fleet
from tests.mailbox import Sink, mail_server
from tests.processes import unused_port
from tests.support import wait_for
from tests.watching import wait_for_horizon
from workers import post
from workers.alarm import Alarm
from workers.mail import connected

KEY = "a key for tests, long enough"


@dataclass
class Endpoint:
    """An HTTP server that keeps what it gets, and answers the next calls with `answers`, then 200. An answer of None
    does not come as long as the endpoint is there."""

    port: int
    calls: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    answers: list[tuple[int, str] | None] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/T0/very-secret-part"

    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, body in self.calls]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        endpoint: Endpoint = self.server.endpoint  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with endpoint.lock:  # the first call gets the first answer
            endpoint.calls.append(({name.lower(): value for name, value in self.headers.items()}, body))
            answer = endpoint.answers.pop(0) if endpoint.answers else (200, "ok")
        if answer is None:
            endpoint.gone.wait()
            return
        self.send_response(answer[0])
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(answer[1].encode())

    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def serve(port: int = 0) -> Iterator[Endpoint]:
    with ThreadingHTTPServer(("127.0.0.1", port), _Handler) as server:
        server.daemon_threads = True
        made = Endpoint(server.server_address[1])
        server.endpoint = made  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield made
        made.gone.set()
        server.shutdown()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serve() as made:
        yield made


@pytest.fixture
def sink() -> Iterator[Sink]:
    with mail_server() as made:
        yield made


@pytest.fixture
def alarms(module_db: Database) -> Alarms:
    with module_db.transaction() as conn:
        conn.execute(text("DELETE FROM alert_rules"))
    hands = Hands(module_db)
    charge = step("charge", function="fail", input={"message": "{{ input.message }}"})
    register(hands.engine, document(charge, name="order"))
    return Alarms(hands)


Make = Callable[..., Alarm]


@pytest.fixture
def make(module_db: Database, broker_url: str) -> Make:
    """A beat's alarm, driven by hand."""

    def made(**settings: str) -> Alarm:
        url = module_db.engine.url.render_as_string(hide_password=False)
        env = {"DATABASE_URL": url, "REDIS_URL": broker_url, "SECRET_KEY": KEY, "ORCHESTRATOR_ALERT_SECONDS": "0.1"}
        return Alarm(Config.from_env(env | {f"ORCHESTRATOR_{name}": value for name, value in settings.items()}))

    return made


def fails(alarms: Alarms, message: str = "no luck") -> str:
    run_id = start(alarms.hands.engine, "order", {"message": message}).run_id
    alarms.hands.work()
    return run_id


def ended(alarms: Alarms, alarm: Alarm, many: int = 1) -> list[Any]:
    """The deliveries, when so many have ended or failed once."""

    def over() -> bool:
        alarm.act()
        return sum(row.error is not None or row.due_at is None for row in alarms.rows()) >= many

    wait_for(over, what="the messages were sent")
    return alarms.rows()


def test_a_webhook_gets_it_signed_as_our_own_hooks_take_it(alarms: Alarms, make: Make, endpoint: Endpoint) -> None:
    alarms.rule(webhook=endpoint.url, secret="s3cret", kinds=["run_failed"])
    run_id = fails(alarms, "<!channel> & *bold*")
    (row,) = ended(alarms, make(PUBLIC_URL="https://o.example/base/"))
    ((headers, body),) = endpoint.calls
    assert check(TIMED, "s3cret", headers, body, time.time()) is not None
    told = json.loads(body)
    assert (told["id"], told["state"], told["workflow"]) == (str(row.id), "firing", "order")
    assert told["causes"][0] | {"failed_at": None} == {
        "step": "charge",
        "type": "RuntimeError",
        "line": "<!channel> & *bold*",
        "count": 1,
        "run_id": run_id,
        "failed_at": None,
        "url": f"https://o.example/base/runs/{run_id}",
    }
    assert "RuntimeError: &lt;!channel&gt; &amp; *bold*" in told["text"]
    assert (row.sent_at is not None, row.error, row.attempts) == (True, None, 1)


def test_a_mail_tells_the_same_to_every_address(alarms: Alarms, make: Make, sink: Sink) -> None:
    alarms.rule("r\N{LATIN SMALL LETTER U WITH DIAERESIS}le", webhook=None, emails=["a@x.example", "b@x.example"])
    run_id = fails(alarms, "Subject: no\r\nBcc: thief@x.example\r\n.\r\nmore")
    (row,) = ended(alarms, make(SMTP_URL=f"smtp://127.0.0.1:{sink.port}?tls=none", MAIL_FROM="o@x.example"))
    (mail,) = sink.mails
    assert sink.recipients == [["a@x.example", "b@x.example"]]
    assert str(make_header(decode_header(mail["Subject"]))) == "[warning] 1 run of 'order' failed"
    assert (mail["From"], mail["Bcc"], mail["Message-ID"]) == ("o@x.example", None, f"<{row.id}@x.example>")
    body = mail.get_payload(decode=True).decode()  # type: ignore[union-attr]
    assert f"step 'charge': RuntimeError: Subject: no - run {run_id}" in body
    assert "r\N{LATIN SMALL LETTER U WITH DIAERESIS}le" in body


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([(500, "out of\norder")], "answered 500: out of order"),
        ([(404, "Cannot POST /T0/very-secret-part")], "answered 404: Cannot POST /T0/***"),
        ([(404, f"{'x' * 290}/T0/very-secret-part")], f"answered 404: {'x' * 290}/T0/"),
        ([(302, "")], "answered 302, a redirect, which is not followed: give the URL it leads to"),
    ],
)
def test_what_an_endpoint_answers_is_told_and_it_is_tried_again(
    alarms: Alarms, make: Make, endpoint: Endpoint, answers: Sequence[tuple[int, str]], error: str
) -> None:
    alarms.rule(webhook=endpoint.url)
    endpoint.answers[:] = answers
    fails(alarms)
    alarm = make()
    (row,) = ended(alarms, alarm)
    assert (row.error, row.sent_at, row.due_at is not None) == (error, None, True)
    alarms.pass_time(seconds=11)
    wait_for(lambda: alarm.act() or alarms.rows()[0].sent_at, what="it was sent")
    assert [body["id"] for body in endpoint.bodies()] == [str(row.id)] * 2


def test_an_endpoint_that_hangs_holds_up_only_its_own(
    alarms: Alarms, make: Make, endpoint: Endpoint, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post, "WAIT_SECONDS", 0.3)
    monkeypatch.setattr(post, "connected", lambda server, _: connected(server, 10.0))  # our own may be slow
    alarms.rule(webhook=endpoint.url, emails=["a@x.example"])
    endpoint.answers[:] = [None]
    fails(alarms)
    alarm = make(SMTP_URL=f"smtp://127.0.0.1:{sink.port}?tls=none")
    rows = {row.channel: row for row in ended(alarms, alarm, many=2)}
    assert rows["email"].sent_at is not None
    assert rows["webhook"].error == "no answer within 0.3 seconds"


def test_an_answer_that_comes_byte_by_byte_is_cut_off(
    alarms: Alarms, make: Make, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drip(handler: Any) -> None:
        handler.server.endpoint.calls.append(({}, b"{}"))
        while not handler.server.endpoint.gone.wait(0.05):
            handler.wfile.write(b"x")

    monkeypatch.setattr(_Handler, "do_POST", drip)
    monkeypatch.setattr(post.post, "__defaults__", (0.5,))
    alarms.rule(webhook=endpoint.url)
    fails(alarms)
    (row,) = ended(alarms, make())
    assert row.error == "no answer within 0.5 seconds"


def test_an_endpoint_that_is_away_gets_all_in_order_when_it_is_back(alarms: Alarms, make: Make) -> None:
    port = unused_port()
    alarms.rule(webhook=Endpoint(port).url, repeat_seconds=60)
    alarm = make()
    fails(alarms)
    assert "cannot be reached: [Errno 111] Connection refused" in ended(alarms, alarm)[0].error
    alarms.pass_time(seconds=61)
    fails(alarms)
    with serve(port) as back:
        wait_for(lambda: alarm.act() or sum(bool(row.sent_at) for row in alarms.rows()) == 2, what="both are sent")
        assert [body["id"] for body in back.bodies()] == [str(row.id) for row in alarms.rows()]


def test_a_mail_that_some_have_is_not_sent_to_them_again(alarms: Alarms, make: Make, sink: Sink) -> None:
    alarms.rule(webhook=None, emails=["a@x.example", "nobody@x.example"])
    fails(alarms)
    (row,) = ended(alarms, make(SMTP_URL=f"smtp://127.0.0.1:{sink.port}?tls=none"))
    assert (row.error, row.attempts, row.given_up_at is not None) == ("nobody@x.example: 550 unknown", 1, True)
    assert sink.recipients == [["a@x.example"]]


def test_a_mail_that_is_to_be_sent_later_is_no_refusal(sink: Sink) -> None:
    told: dict[str, Any] = {"state": State.TEST, "rule": "r", "severity": "info", "alert_id": None}
    message = told | {"causes": [], "details": [], "url": None, "next": []}
    delivery = Delivery("1", Channel.EMAIL, message, 1, 0.0, ["later@x.example"], None, None)
    with pytest.raises(Undelivered, match="450 not now") as error:
        post.mail(delivery, f"smtp://127.0.0.1:{sink.port}?tls=none", "o@x.example")
    assert not error.value.refused


def test_what_fails_while_the_only_rule_is_paused_is_not_told_when_it_is_resumed(
    alarms: Alarms, make: Make, endpoint: Endpoint
) -> None:
    """Also while a transaction stays open somewhere on the server, which began before that."""
    alarms.rule(webhook=endpoint.url)
    pause_rule(alarms.hands.engine, "on-call")
    with alarms.hands.db.transaction() as slow:
        slow.execute(text("SELECT pg_current_xact_id()"))
        fails(alarms)
        make().act()
        resume_rule(alarms.hands.engine, "on-call")
        make().act()
    wait_for_horizon(alarms.hands.db)
    make().act()
    assert alarms.rows() == []
    fails(alarms)
    assert len(ended(alarms, make())) == 1


def test_waits_grow_to_an_hour_and_end_after_a_day_or_after_five_refusals() -> None:
    assert [next_wait(n, 0.0) for n in (1, 2, 3, 9, 99)] == [10, 20, 40, 2560, 3600]
    assert next_wait(3, 86_400.0) is None
    assert [next_wait(n, 0.0, refused=True) for n in (4, 5)] == [80, None]


def test_a_message_whose_sender_died_between_sending_and_noting_it_is_sent_again_with_the_same_id(
    alarms: Alarms, make: Make, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    alarms.rule(webhook=endpoint.url)
    fails(alarms)
    unnoted: list[Claimed] = []
    with monkeypatch.context() as patched:
        patched.setattr("workers.alarm.note_sent", lambda _, row: unnoted.append(row))
        dead = make()
        wait_for(lambda: dead.act() or unnoted, what="it was to be noted")  # the endpoint has it a moment before
    other = make()
    other.act()
    assert len(endpoint.calls) == 1  # for a minute it is nobody else's
    alarms.pass_time(seconds=61)
    (row,) = ended(alarms, other)
    assert [body["id"] for body in endpoint.bodies()] == [str(row.id)] * 2


def test_secrets_are_resolved_as_it_is_sent_and_shown_nowhere(
    alarms: Alarms, make: Make, endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    alarms.rule(webhook="secrets.pager", secret="secrets.pager_key")
    fails(alarms)
    assert ended(alarms, make())[0].error == "the coordinator has no secret 'pager' (ORCHESTRATOR_SECRET_PAGER)"
    alarms.pass_time(seconds=61)
    alarm = make(SECRET_PAGER=endpoint.url, SECRET_PAGER_KEY="k3y")
    wait_for(lambda: alarm.act() or alarms.rows()[0].sent_at, what="it was sent")
    assert check(TIMED, "k3y", *endpoint.calls[0], time.time()) is not None
    with alarms.hands.db.transaction() as conn:
        stored = [
            str(row)
            for table in ("alert_rules", "audit_log", "alert_deliveries")
            for row in conn.execute(text(f"SELECT * FROM {table}"))
        ]
    assert "very-secret-part" not in "".join(stored) + caplog.text


def test_a_host_that_is_not_named_gets_nothing(alarms: Alarms, make: Make, endpoint: Endpoint) -> None:
    alarms.rule(webhook=endpoint.url)
    fails(alarms)
    (row,) = ended(alarms, make(ALERT_HOSTS="hooks.example.com,*.internal"))
    assert row.error == "the webhook's URL: leads to 127.0.0.1, which ORCHESTRATOR_ALERT_HOSTS does not name"
    assert endpoint.calls == []


def test_a_test_is_sent_to_each_channel(alarms: Alarms, make: Make, endpoint: Endpoint, sink: Sink) -> None:
    alarms.rule(webhook=endpoint.url, emails=["a@x.example", "nobody@x.example"])
    assert len(try_rule(alarms.hands.engine, "on-call")) == 2
    rows = {row.channel: row for row in ended(alarms, make(SMTP_URL=f"smtp://127.0.0.1:{sink.port}?tls=none"), many=2)}
    assert endpoint.bodies()[0]["text"].startswith("[test] this is a test of the alert rule 'on-call'")
    assert rows["email"].error == "nobody@x.example: 550 unknown"


def test_three_beats_send_each_message_once_and_go_on_while_an_endpoint_hangs(fleet: Fleet, endpoint: Endpoint) -> None:
    endpoint.answers[:] = [None]
    register(fleet.engine, {"name": "order", "steps": [{"name": "a", "function": "t.add"}]})
    for name in ("one", "two"):
        given = {"kinds": ["run_canceled"], "webhook": endpoint.url, "group_seconds": 0}
        set_rule(fleet.engine, SEAL, name, given)
    fleet.environment["SECRET_KEY"] = KEY
    beats = [fleet.beat(ALERT_SECONDS="0.2") for _ in range(3)]
    for name in ("one", "two"):  # once all are there
        try_rule(fleet.engine, name)
    cancel(fleet.engine, start(fleet.engine, "order").run_id)
    hung = wait_for(endpoint.bodies, what="the first is sent")[0]["rule"]

    def others() -> list[str]:
        """What is sent of the other rule. What hangs is given up, and sent with what is behind it, after 20 s."""
        sent = "SELECT state FROM alert_deliveries d JOIN alert_rules r ON r.id = d.rule_id WHERE name <> :hung"
        return [row.state for row in fleet.rows(f"{sent} AND sent_at IS NOT NULL ORDER BY d.id", hung=hung)]

    wait_for(lambda: others() == ["test", "firing"], what="they are sent")
    bodies = endpoint.bodies()
    assert [body["state"] for body in bodies if body["rule"] != hung] == ["test", "firing"]
    waiting = [body["state"] for body in bodies if body["rule"] == hung]
    assert waiting == ["test", "test", "firing"][: len(waiting)]
    assert not any("Traceback" in beat.said() for beat in beats)
