"""Steps that wait for something instead of calling a function, one kind a file (docs/adr/0015)."""
