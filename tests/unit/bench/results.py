"""Measurements made up for tests."""

from __future__ import annotations

from typing import Any

FACTS = {
    "measured_at": "2026-11-29", "version": "0.1.0", "python": "3.11.7", "celery": "5.7.0", "valkey": "9.1",
    "postgres": "18.6", "postgres_settings": {"fsync": "on"}, "cores": 2, "memory_gib": 24, "filesystem": "ext4",
    "settings": {}, "rounds": 3, "slots": [4],
}  # fmt: skip


def line(workload: str = "W1", size: str = "20x50", slots: int = 4, number: int = 0, **figures: Any) -> dict[str, Any]:
    """A measurement of ours that counts."""
    made = {"workload": workload, "size": size, "slots": slots, "round": number, "ok": True, "faults": []}
    return {**made, "seconds": 2.0, "foreign_cpu_percent": 0.0, **figures}


def graph_line(speed: float, workload: str = "W1", size: str = "20x50", **figures: Any) -> dict[str, Any]:
    """One of a graph."""
    made = {
        "steps": 1000, "steps_per_s": speed, "statements_per_step": 11.0, "commits_per_step": 1.1,
        "wal_bytes_per_step": 2500, "cpu_s": {"worker": 1.5, "beat": 0.0, "postgres": 1.0},
        "peak_mb": {"worker": 250, "beat": 87}, "grown_mb": {"worker": 1, "beat": 0},
        "statements": [["BEGIN", 2.25]] if workload == "W1" else [], "p50_gap_ms": 4.0, "p95_gap_ms": 9.0,
    }  # fmt: skip
    return line(workload, size, **{**made, **figures})


def peer_line(label: str, speed: float, workload: str = "W1", asked: str = "20x50", **figures: Any) -> dict[str, Any]:
    """One of the suite."""
    made = {
        "label": label, "version": "1.0", "workload": workload, "size": asked, "asked": asked, "round": 0,
        "durable": True, "seconds": 2.0, "steps_per_s": speed, "p50_step_gap_ms": 4.0, "p95_step_gap_ms": 9.0,
        "peak_rss_mb": 300, "foreign_cpu_pct": 0.0, "ok": True,
    }  # fmt: skip
    return {**made, **figures}


def results(*lines: dict[str, Any], peers: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """A whole results.json."""
    return {"facts": dict(FACTS), "lines": list(lines), "peers": list(peers)}
