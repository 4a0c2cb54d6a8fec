"""The language behind `domain.expressions`: Jinja's grammar, filters and tests over JSON, at a bounded cost."""
