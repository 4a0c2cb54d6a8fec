"""`orchestrator bench`: the workloads of docs/performance.md on servers of its own, measured and checked."""
