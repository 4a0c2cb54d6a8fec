"""Text to plain data: behind `domain.load`."""
