"""Tests of the main controller."""
