"""How long to wait before the next attempt, and whether there is one (docs/definition.md)."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.domain.definition import Backoff, Retry

# Past this the power no longer matters: every sane max_delay is smaller, and a float would overflow.
_LONGEST = 10 * 365 * 86400.0


def delay_after(retry: Retry, attempt: int, spread: float) -> float:
    """Seconds to wait after failed attempt number `attempt` (1 for the first).

    constant `delay`; linear `delay * n`; exponential `delay * factor ** (n - 1)`; capped by `max_delay`, then
    moved by `jitter`: `spread` in [0, 1) places the wait evenly over +-jitter of it.
    """
    wait = min(_plain_delay(retry, attempt), _LONGEST if retry.max_delay is None else retry.max_delay)
    return max(0.0, wait * (1 + retry.jitter * (2 * spread - 1)))


def _plain_delay(retry: Retry, attempt: int) -> float:
    if retry.backoff is Backoff.CONSTANT:
        return retry.delay
    if retry.backoff is Backoff.LINEAR:
        return retry.delay * attempt
    try:
        return retry.delay * retry.factor ** (attempt - 1)
    except OverflowError:
        return _LONGEST if retry.delay else 0.0


def retryable(retry: Retry, classes: Iterable[str]) -> bool:
    """Whether an exception with these class names (its own and its bases') may be retried at all.

    `abort_on` wins over `retry_on`; an empty `retry_on` means every exception.
    """
    names = set(classes)
    if names & set(retry.abort_on):
        return False
    return not retry.retry_on or bool(names & set(retry.retry_on))
