"""What docs/speed.md has a reader ask with psql."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from sqlalchemy import text

from orchestrator.config_urls import psql_url
from orchestrator.embedded.binaries import postgres_programs
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands

PAGE = Path(__file__).parents[2] / "docs" / "speed.md"
# The extension must be loaded by the server; a table of its columns stands for its view.
STANDS_FOR_IT = """
CREATE TABLE pg_stat_statements (calls bigint, total_exec_time float8, rows bigint, query text, toplevel bool);
INSERT INTO pg_stat_statements VALUES (7, 1.5, 7, 'SELECT 1 FROM orchestrator_settle($1)', true);
CREATE FUNCTION pg_stat_statements_reset() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()';
"""


def test_psql_tells_what_a_step_costs(db: Database, database_url: str) -> None:
    _, before, after = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    with db.transaction() as conn:
        conn.execute(text(STANDS_FOR_IT))
    hands = Hands(db)
    hands.start(document(step("a"), step("b", "a")))
    hands.work()
    asked = before.replace(", pg_stat_reset_shared('wal')", "") + after.replace(
        "stats_reset", "timestamptz '-infinity'"
    )
    psql = [str(postgres_programs(None) / "psql"), "-X", "-v", "ON_ERROR_STOP=1", psql_url(database_url)]
    said = subprocess.run(psql, input=asked, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert re.search(r"\n +2 +\| +3\.50 \| ", said.stdout), said.stdout
    assert re.search(r"7 \| 0\.21 \| +7 \| orchestrator_settle", said.stdout), said.stdout
