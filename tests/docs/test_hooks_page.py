"""The example of docs/hooks.md: curl and openssl."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from orchestrator.services.hooks import HookSpec, create_hook
from orchestrator.services.register import register
from orchestrator.services.seal import Seal
from orchestrator.store.db import Database
from tests.architecture.pages import page
from tests.documents import document, step
from tests.hands import Hands
from tests.web.browser import SECRET_KEY, served

EXAMPLE = re.search(r"```bash\n(.*?)```", page("docs/hooks.md").text, re.DOTALL)


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("openssl")), reason="needs curl and openssl")
def test_the_example_starts_a_run(orchestrator_module_database_url: str, module_db: Database) -> None:
    assert EXAMPLE is not None
    hands = Hands(module_db)
    register(hands.engine, document(step("a"), name="order"))
    hook = create_hook(
        hands.engine, Seal(SECRET_KEY), "orders", HookSpec("order", input={"id": "{{ body.order.id }}"}), actor="test"
    )
    with served(orchestrator_module_database_url) as address:
        told = {"ADDRESS": address, "HOOK": hook.id, "SECRET": hook.secret, "PATH": "/usr/bin:/bin:/usr/local/bin"}
        said = subprocess.run(["bash", "-c", EXAMPLE[1]], env=told, capture_output=True, text=True, timeout=30)
    assert (said.returncode, said.stderr) == (0, "")
    assert json.loads(said.stdout)["created"] is True
