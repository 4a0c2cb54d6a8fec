"""Workflows to try: `order.yaml` with its functions in `order.py`, and `hello.yaml`, which needs none."""
