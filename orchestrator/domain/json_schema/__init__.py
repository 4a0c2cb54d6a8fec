"""JSON Schema 2020-12 over values of bounded cost: behind `domain.inputs` and `domain.validate`."""
