"""Code-first workflows in this process, with no server: what `orchestrator.testing` does for them."""
