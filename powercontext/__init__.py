"""Project package: settings, URLs, entry points. Wiring, nothing else."""
