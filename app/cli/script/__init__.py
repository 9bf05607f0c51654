"""Scripts of `hangar run`: timed events in a YAML file, read and checked first, and then carried out."""

# What the actions do is registered where these are imported.
from app.cli.script import disasters, objects

__all__ = ["disasters", "objects"]
