"""Alerts of one beat process, in threads of their own: no endpoint that hangs holds up the coordinator's tick.

One thread looks by the rules and takes what is to be sent; each message is sent by a thread, a few at a time.
"""

from __future__ import annotations

import logging
import threading
import time

from orchestrator.bootstrap import make_engine
from orchestrator.config import Config
from orchestrator.data_folder import DataFolder
from orchestrator.domain.alerts import Channel
from orchestrator.errors import Locked, Troubled, Unreachable
from orchestrator.services.deliver_alerts import Claimed, Undelivered, claim_deliveries, note_failed, note_sent, opened
from orchestrator.services.seal import Seal
from orchestrator.services.watch_alerts import Watch, watch
from orchestrator.store.alert_deliveries import wanted
from workers.outage import Outage
from workers.post import mail, post

log = logging.getLogger("orchestrator.alerts")
_SENDERS = 4
_LOCK_SECONDS = 5.0


class Alarm:
    """Looks and sends until it is stopped."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._engine = make_engine(
            config, load_functions=False, pool_size=2, name="orchestrator-alerts", lock_timeout=_LOCK_SECONDS
        )
        self._seal = Seal(config.secret_key or DataFolder(config.data_dir).read("secret_key"))
        self._state, self._outage = Watch(), Outage(log, "looking for alerts")
        self._woken, self._stopped = threading.Event(), False
        self._sending: set[threading.Thread] = set()
        self._looks_at = 0.0
        self._thread = threading.Thread(target=self._go_on, name="orchestrator-alerts", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What is being sent is left: it is sent again by another, or at the next start."""
        self._stopped = True
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(1.0)

    def _go_on(self) -> None:
        while not self._stopped:
            self._woken.clear()
            self.act()
            self._woken.wait(self._config.alert_seconds)
        self._engine.close()

    def act(self) -> None:
        """Look if it is time, and begin to send what is due; nothing that goes wrong ends the thread."""
        try:
            with self._outage.ridden_out():
                self._act()
        except (Locked, Troubled) as error:
            log.warning("looking for alerts is left to the next time: %s", error)
        except Exception:  # noqa: BLE001 - the next look tries again
            log.exception("looking for alerts failed; it is tried again")

    def _act(self) -> None:
        looks, sends = wanted(self._engine.db)
        if looks and time.monotonic() >= self._looks_at:
            watch(self._engine, self._state)
            self._looks_at = time.monotonic() + self._config.alert_seconds
            sends = True
        room = _SENDERS - len(self._sending)
        if sends and room > 0:
            for row in claim_deliveries(self._engine, room):
                self._begin(row)

    def _begin(self, row: Claimed) -> None:
        sender = threading.Thread(target=self._send, args=(row,), name="orchestrator-alert", daemon=True)
        self._sending.add(sender)
        sender.start()

    def _send(self, row: Claimed) -> None:
        """One attempt, and what came of it."""
        try:
            try:
                self._hand_over(row)
            except Exception as error:  # noqa: BLE001 - told beside the message, which is tried again
                if not isinstance(error, Undelivered):
                    log.exception("alert message %s could not be sent", row.id)
                note_failed(self._engine, row, error)
            else:
                note_sent(self._engine, row)
        except (Locked, Unreachable) as error:
            log.warning("alert message %s: what came of it could not be stored, so it is sent again: %s", row.id, error)
        finally:
            self._sending.discard(threading.current_thread())
            self._woken.set()

    def _hand_over(self, row: Claimed) -> None:
        delivery = opened(row, self._seal, self._config.secrets, self._config.alert_hosts)
        if delivery.channel is Channel.WEBHOOK:
            post(delivery)
        else:
            mail(delivery, self._config.smtp_url, self._config.mail_from)
