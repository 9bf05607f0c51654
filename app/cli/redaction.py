"""Taking secrets out of a recorded call, so that it can be kept beside code.

What is replaced, each distinct value by a placeholder `redacted-1`, `redacted-2` …:

- values of environment variables, annotations of domains that are not known, the data of Secrets;
- credentials: values of key-like flags, fields and variables (`--api-key`, `apiKey`, `HF_TOKEN`), those in URLs, bearer
  tokens and private keys; wherever else such a value occurs, it is replaced there too.

The same value gets the same placeholder in the request and in the response, and inside last-applied configurations and
other JSON in strings, which keep their structure. Managed fields hold names, not values, and stay.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from app.api.base import GROUP
from app.api.owned import RANK_ENVIRONMENT
from app.cli.credentials import key_field, key_like, replace_credentials
from app.kube.hook import JSON

PLACEHOLDER = re.compile(r"redacted-\d+")

# Annotations of these domains, and of those below them, say how an object is handled; they hold no secrets.
_KNOWN_DOMAINS = (GROUP, "kubernetes.io", "k8s.io", "prometheus.io", "sglang.ai", "metacontroller.io")
_ENVIRONMENTS = frozenset({"env", "envs", "extraEnv", "environment"})
# A shorter credential is replaced only where it stands as one: `1` or `test` occur elsewhere by chance.
_SHORTEST_ELSEWHERE = 8
# A value that only names another variable.
_REFERENCE = re.compile(r"\$\w+|\$\(\w+\)|\$\{\w+\}")


class Redactor:
    """Replaces the secrets of one call. `read` first everything that belongs together, then take `redacted` copies."""

    def __init__(self) -> None:
        self._placeholders: dict[str, str] = {}
        self._elsewhere: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    @property
    def count(self) -> int:
        """How many distinct values are replaced."""
        return len(self._placeholders)

    def read(self, documents: Iterable[Any]) -> None:
        """Finds the secrets of several documents."""
        for document in documents:
            self._value(document)
        self._compile()

    def rename(self, names: Mapping[str, str]) -> None:
        """Replaces these texts as well, wherever they occur."""
        self._elsewhere |= names
        self._compile()

    def redacted(self, document: Any) -> Any:
        """A copy of a document that was read, with placeholders in it."""
        return self._value(document)

    def _compile(self) -> None:
        longest_first = sorted(self._elsewhere, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def _hidden(self, value: str, *, credential: bool = False) -> str:
        if not value or PLACEHOLDER.fullmatch(value) or _REFERENCE.fullmatch(value):
            return value
        placeholder = self._placeholders.setdefault(value, f"redacted-{len(self._placeholders) + 1}")
        if credential and len(value) >= _SHORTEST_ELSEWHERE:
            self._elsewhere[value] = placeholder
        return placeholder

    def _credential(self, value: str) -> str:
        return self._hidden(value, credential=True)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return self._list(value)
        return self._object(value) if isinstance(value, dict) else value

    def _object(self, obj: JSON) -> JSON:
        if obj.get("kind") == "Secret" and obj.get("apiVersion") == "v1":
            return {key: self._secret(key, value) for key, value in obj.items()}
        found = {key: self._field(key, value) for key, value in obj.items()}
        name, value = obj.get("name"), obj.get("value")
        if isinstance(name, str) and isinstance(value, str) and key_like(name):
            found["value"] = self._credential(value)
        return found

    def _field(self, key: str, value: Any) -> Any:
        if key == "managedFields":
            return value
        if key in _ENVIRONMENTS and isinstance(value, list):
            return [self._variable(item) for item in value]
        if key in _ENVIRONMENTS and isinstance(value, dict):
            return {name: self._hidden_variable(name, item) for name, item in value.items()}
        if key == "annotations" and isinstance(value, dict):
            return {name: self._annotation(name, item) for name, item in value.items()}
        if isinstance(value, str) and key_field(key):
            return self._credential(value)
        return self._value(value)

    def _variable(self, item: Any) -> Any:
        if not (isinstance(item, dict) and isinstance(item.get("name"), str) and "value" in item):
            return self._value(item)
        return {**item, "value": self._hidden_variable(item["name"], item["value"])}

    def _hidden_variable(self, name: str, value: Any) -> Any:
        if not isinstance(value, str) or name in RANK_ENVIRONMENT:
            return self._value(value)
        self._text(value)  # a credential inside the value is one wherever else it occurs
        return self._hidden(value, credential=key_like(name))

    def _annotation(self, name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return self._value(value)
        domain = name.rpartition("/")[0]
        known = any(domain == one or domain.endswith(f".{one}") for one in _KNOWN_DOMAINS)
        return self._text(value) if known else self._hidden(value)

    def _secret(self, key: str, value: Any) -> Any:
        """A field of a Secret. Its data stays base64."""
        if key not in {"data", "stringData"} or not isinstance(value, dict):
            return self._field(key, value)
        hide = self._credential if key == "stringData" else self._encoded
        return {name: hide(item) if isinstance(item, str) else item for name, item in value.items()}

    def _encoded(self, value: str) -> str:
        try:
            plain = base64.b64decode(value, validate=True).decode()
        except ValueError:
            plain = value
        return base64.b64encode(self._credential(plain).encode()).decode()

    def _list(self, items: list[Any]) -> list[Any]:
        """A list; after a key-like flag its values are credentials, up to the next flag."""
        found: list[Any] = []
        after_key = False
        for item in items:
            if not isinstance(item, str):
                found.append(self._value(item))
                continue
            is_flag = item.startswith("-")
            found.append(self._credential(item) if after_key and not is_flag else self._text(item))
            after_key = (key_like(item) and "=" not in item and " " not in item) if is_flag else after_key
        return found

    def _text(self, text: str) -> str:
        if text[:1] in {"{", "["}:
            try:
                document = json.loads(text)
            except ValueError:
                pass
            else:
                changed = self._value(document)
                return text if changed == document else json.dumps(changed, separators=(",", ":"), ensure_ascii=False)
        text = replace_credentials(text, self._credential)
        return self._pattern.sub(lambda found: self._elsewhere[found[0]], text) if self._pattern else text
