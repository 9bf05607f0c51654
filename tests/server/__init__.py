"""Tests of the hook service."""
