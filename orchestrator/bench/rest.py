"""Start runs through the REST API, as programs that know nothing of us do."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import urlsplit

from orchestrator.bench.stage import Stage
from orchestrator.domain.roles import Role
from orchestrator.errors import OrchestratorError
from orchestrator.services.tokens import create_token

CLIENTS = 4  # connections at a time, each kept open


def start_by_rest(stage: Stage, workflow: str, count: int, log: str) -> list[str]:
    """Start `count` runs, one a request; their ids. Raises `OrchestratorError` for an answer that is none."""
    token = create_token(stage.watcher, f"bench {workflow}", Role.OPERATOR, actor="bench").token
    shares = [range(first, count, CLIENTS) for first in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        started = pool.map(lambda share: _start_share(stage.web_url, token, workflow, share, log), shares)
        return [run_id for share in started for run_id in share]


def _start_share(web_url: str, token: str, workflow: str, numbers: range, log: str) -> list[str]:
    connection = HTTPConnection(urlsplit(web_url).netloc, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    run_ids = []
    for number in numbers:
        body = json.dumps({"workflow": workflow, "input": {"log": log, "run": number}})
        connection.request("POST", "/api/v1/runs", body, headers)
        answer = connection.getresponse()
        said = json.loads(answer.read())
        if answer.status != 201:
            raise OrchestratorError(f"a start by REST was answered with {answer.status}: {said['detail']}")
        run_ids.append(said["id"])
    connection.close()
    return run_ids
