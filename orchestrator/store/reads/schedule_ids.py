"""The ids of the schedules that somebody names."""

from __future__ import annotations

from sqlalchemy import Connection, text

from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.ids import is_id
from orchestrator.store.workflows import name_key

_SCHEDULES = text("""
SELECT s.id FROM schedules s JOIN apps a ON a.id = s.app_id
WHERE (s.name_key = :key OR s.id = CAST(:id AS uuid)) AND (CAST(:app AS text) IS NULL OR a.name_key = :app)
ORDER BY s.id
""")


_SCHEDULE_NAMES = text("""
SELECT DISTINCT s.name FROM schedules s JOIN apps a ON a.id = s.app_id
WHERE CAST(:app AS text) IS NULL OR a.name_key = :app ORDER BY s.name LIMIT 2000
""")


def schedule_ids(conn: Connection, which: str, app: str | None) -> list[str]:
    """The schedules of this name or id, of one app or of every; raises `NotFound` naming a near one."""
    of_app = name_key(app) if app is not None else None
    values = {"key": name_key(which), "id": which if is_id(which) else None, "app": of_app}
    found = [str(id) for id in conn.execute(_SCHEDULES, values).scalars()]
    if found:
        return found
    names = conn.execute(_SCHEDULE_NAMES, {"app": of_app}).scalars().all()
    raise NotFound(f"there is no schedule '{which}'{did_you_mean(which, names)}")
