"""One spelling of a JSON value, so that equal values have equal bytes and hashes."""

import hashlib
from typing import Any

import orjson


def dumps(value: Any) -> bytes:
    """`value` as JSON with sorted keys and no white space."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def sha256(value: Any) -> str:
    """Hex SHA-256 of the canonical JSON of `value`."""
    return hashlib.sha256(dumps(value)).hexdigest()
