"""Faults and concurrency, against a real database file."""
