"""Measurements, each a module to run; the figures in docs/benchmarks.md are theirs."""
