"""The REST API, one noun a file. docs/architecture.md says how to add one."""
