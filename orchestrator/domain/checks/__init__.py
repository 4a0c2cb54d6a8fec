"""What must hold between the parts of a document: behind `domain.validate`."""
