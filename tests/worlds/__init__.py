"""Worlds: what a bad day does to deployments, over time, in front of the real hook service."""
