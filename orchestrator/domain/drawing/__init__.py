"""Pictures of a plan: behind `domain.draw`."""
