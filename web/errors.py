"""What a request is refused for before it comes to any use case."""

from __future__ import annotations

from orchestrator.errors import OrchestratorError, ProblemsError


class Refused(OrchestratorError):
    """The request is answered with `status`. `retry_after`: seconds until another try may do better."""

    status = 400

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class Unauthenticated(Refused):
    """Nobody knows who asks."""

    status = 401


class Forbidden(Refused):
    """Whoever asks may not do this."""

    status = 403


class TooManyRequests(Refused):
    """It was asked too often."""

    status = 429


class TooLarge(Refused):
    """The body is larger than what this address takes."""

    status = 413


class UnsupportedBody(Refused):
    """The body is of a kind that is not read here."""

    status = 415


class MalformedBody(ProblemsError):
    """The body is not what its content type says."""

    headline = "the body cannot be read"
