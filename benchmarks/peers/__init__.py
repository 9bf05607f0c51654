"""Hooks to compare with: they decode a request and encode an answer, and do nothing else."""
