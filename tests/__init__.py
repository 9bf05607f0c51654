"""Hangar's tests."""
