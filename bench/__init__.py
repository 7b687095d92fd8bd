"""Benchmarks anyone can rerun; never asserted in tests."""
