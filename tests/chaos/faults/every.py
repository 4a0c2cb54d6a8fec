"""All faults. A fault strikes, lasts for some seconds at most, and is over when its function returns."""

from __future__ import annotations

from collections.abc import Callable

from tests.chaos.faults.cancel_statements import cancel_statements
from tests.chaos.faults.crash_postgres import crash_postgres
from tests.chaos.faults.cut_connections import cut_connections
from tests.chaos.faults.delay_messages import delay_messages
from tests.chaos.faults.demote_broker import demote_broker
from tests.chaos.faults.demote_postgres import demote_postgres
from tests.chaos.faults.deploy import deploy
from tests.chaos.faults.double_messages import double_messages
from tests.chaos.faults.fill_broker import fill_broker
from tests.chaos.faults.fill_connections import fill_connections
from tests.chaos.faults.flush_broker import flush_broker
from tests.chaos.faults.freeze_beat import freeze_beat
from tests.chaos.faults.freeze_broker import freeze_broker
from tests.chaos.faults.freeze_postgres import freeze_postgres
from tests.chaos.faults.freeze_worker import freeze_worker
from tests.chaos.faults.kill_beat import kill_beat
from tests.chaos.faults.kill_parent import kill_parent
from tests.chaos.faults.kill_plain import kill_plain
from tests.chaos.faults.kill_pool_process import kill_pool_process
from tests.chaos.faults.kill_starting import kill_starting
from tests.chaos.faults.kill_web import kill_web
from tests.chaos.faults.kill_worker import kill_worker
from tests.chaos.faults.lock_rows import lock_rows
from tests.chaos.faults.lose_messages import lose_messages
from tests.chaos.faults.more_beats import more_beats
from tests.chaos.faults.no_memory import no_memory
from tests.chaos.faults.quit_worker import quit_worker
from tests.chaos.faults.refuse_writes import refuse_writes
from tests.chaos.faults.restart_broker import restart_broker
from tests.chaos.faults.restart_postgres import restart_postgres
from tests.chaos.faults.short_statements import short_statements
from tests.chaos.faults.stop_broker import stop_broker
from tests.chaos.faults.wrong_clock import wrong_clock
from tests.chaos.world import World

FAULTS: tuple[Callable[[World], None], ...] = (
    cancel_statements,
    crash_postgres,
    cut_connections,
    delay_messages,
    demote_broker,
    demote_postgres,
    fill_broker,
    deploy,
    double_messages,
    fill_connections,
    flush_broker,
    freeze_beat,
    freeze_broker,
    freeze_postgres,
    freeze_worker,
    kill_beat,
    kill_parent,
    kill_plain,
    kill_pool_process,
    kill_starting,
    kill_web,
    kill_worker,
    lock_rows,
    lose_messages,
    more_beats,
    no_memory,
    quit_worker,
    refuse_writes,
    restart_broker,
    restart_postgres,
    short_statements,
    stop_broker,
    wrong_clock,
)
