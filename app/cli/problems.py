"""Mistakes of whoever types a command: one sentence and exit code 2, never a trace."""

from pathlib import Path
from typing import Any

import orjson


class CommandError(Exception):
    """A command that cannot be carried out as typed; the message says what to change."""


def read_json(path: Path) -> Any:
    """The JSON document in a file. Raises `CommandError` where there is none."""
    try:
        return orjson.loads(path.read_bytes())
    except OSError as problem:
        raise CommandError(f"{path}: {problem.strerror}") from None
    except orjson.JSONDecodeError as problem:
        raise CommandError(f"{path} is not JSON: {problem}") from None
