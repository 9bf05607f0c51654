"""Whole runs with Kueue: deployments that wait, lose their quota and get it back."""
