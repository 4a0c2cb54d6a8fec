"""No more connections to Postgres are to be had."""

from __future__ import annotations

from contextlib import ExitStack, suppress

import psycopg2
from sqlalchemy.engine import make_url

from tests.chaos.faults.cut_connections import cut_connections
from tests.chaos.world import CONNECTIONS, World


def fill_connections(world: World) -> None:
    url = make_url(world.database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with ExitStack() as held:
        cut_connections(world)
        with suppress(psycopg2.OperationalError):
            for _ in range(CONNECTIONS):
                held.callback(psycopg2.connect(url, connect_timeout=2).close)
        world.last(0.5, 2)
