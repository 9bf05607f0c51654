"""Tests of what is read of other people's objects."""
