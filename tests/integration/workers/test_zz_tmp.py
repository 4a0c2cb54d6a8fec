from __future__ import annotations
import os
from typing import Any
import pytest
from orchestrator.services.cancel import cancel
from tests.integration.workers.fleet import Fleet
from tests.support import wait_for
from pathlib import Path
@pytest.fixture
def fleet(database_url: str, broker_url: str, tmp_path: Path):
    made = Fleet(database_url, broker_url, tmp_path)
    made.environment["PYTHONPATH"]="/tmp/gv"
    yield made
    made.end()
@pytest.mark.parametrize("pool",["gevent","eventlet"])
def test_chain(fleet, pool):
    w=fleet.worker(pool, concurrency=10); fleet.beat()
    steps=[{"name":"s0","function":"t.add","input":{"a":0}}]+[{"name":f"s{n}","function":"t.add","input":{"a":"{{ "+f"steps.s{n-1}.output"+" }}"},"depends_on":[f"s{n-1}"]} for n in range(1,30)]
    assert fleet.ended(fleet.start(steps))["output"]=={"s29":30}
    r=fleet.start([{"name":f"s{n}","function":"t.span","input":{"journal":fleet.journal,"seconds":1}} for n in range(10)])
    assert fleet.ended(r)["status"]=="succeeded"
    ev=fleet.events("start"); print(max(e["at"] for e in ev)-min(e["at"] for e in ev))
    words=[f"w{n}" for n in range(4)]
    r=fleet.start([{"name":w_,"function":"t.talk","input":{"word":w_,"file":fleet.flag("go")}} for w_ in words])
    wait_for(lambda: len(fleet.rows("SELECT FROM workflow_run_steps WHERE status='running'"))==4)
    wait_for(lambda: len(fleet.rows("SELECT FROM step_logs"))>=8)
    fleet.raise_flag("go"); fleet.ended(r)
    for w_ in words:
        rows=fleet.rows("SELECT l.stream, l.message FROM step_logs l JOIN workflow_run_steps s ON s.id=l.step_id WHERE s.name=:n ORDER BY l.id",n=w_)
        print([x.message for x in rows]); assert all(w_ in x.message for x in rows)
    r=fleet.start([{"name":"a","function":"t.swallow","input":{"journal":fleet.journal,"file":fleet.flag("go2")},"timeout":0.5}])
    assert fleet.ended(r)["error"]["type"]=="Timeout"
    fleet.raise_flag("go2")
    wait_for(lambda: "its claim was lost" in w.said())
    print(w.stop())
