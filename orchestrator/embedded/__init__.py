"""PostgreSQL and Valkey from wheels, for `orchestrator up` and for tests: own folder, own ports, no system service."""

from orchestrator.embedded.errors import ServerFailed
from orchestrator.embedded.guardian import Guardian
from orchestrator.embedded.servers import Servers, ServerUrls
from orchestrator.embedded.shared import servers_for_tests

__all__ = ["Guardian", "ServerFailed", "ServerUrls", "Servers", "servers_for_tests"]
