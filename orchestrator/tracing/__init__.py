"""OpenTelemetry traces (docs/adr/0029). Of these only load.py may be imported where OpenTelemetry is not installed."""
