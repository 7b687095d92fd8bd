"""Real database servers for tests: `python -m tests.engines NAME COMMAND...`."""
