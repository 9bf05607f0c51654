"""From a pydantic model to the structural schema that a CustomResourceDefinition wants.

Kubernetes takes a part of OpenAPI 3: no references, no `null`, no `additionalProperties` beside `properties`, no
titles. Unknown fields are the API server's to prune or refuse, so closed models need no word for it.
"""

from typing import Any

from pydantic import BaseModel

JSON = dict[str, Any]

# The order in which a schema reads well; what is not listed follows.
_ORDER = ("description", "type", "format", "enum", "default")
_DROPPED = frozenset({"title", "$defs", "$ref", "anyOf", "allOf", "properties", "items", "default"})
_INT_OR_STRING = "x-kubernetes-int-or-string"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_RULES = "x-kubernetes-validations"


def structural(model: type[BaseModel]) -> JSON:
    """The structural schema of `model`, with the wire's names.

    Raises `ValueError` where a field has a type that Kubernetes cannot state (a union of other than one type and
    None, an integer and a string).
    """
    document = model.model_json_schema(by_alias=True)
    return _convert(document, document.get("$defs", {}))


def _convert(node: JSON, definitions: JSON) -> JSON:
    if "$ref" in node:
        target = definitions[node["$ref"].removeprefix("#/$defs/")]
        return _over(_convert(target, definitions), _convert({k: v for k, v in node.items() if k != "$ref"}, {}))
    if node.get(_INT_OR_STRING):
        return _int_or_string(node)
    found = {key: value for key, value in node.items() if key not in _DROPPED}
    if node.get("default") is not None:
        found["default"] = node["default"]
    if node.get(_PRESERVE) or not isinstance(node.get("additionalProperties"), dict):
        found.pop("additionalProperties", None)
    else:
        found["additionalProperties"] = _convert(node["additionalProperties"], definitions)
    if "properties" in node:
        found["properties"] = {name: _convert(part, definitions) for name, part in node["properties"].items()}
    if "items" in node:
        found["items"] = _convert(node["items"], definitions)
    if "anyOf" in node:
        return _over(_convert(_only_branch(node), definitions), found)
    return _readable(found)


def _only_branch(node: JSON) -> JSON:
    branches = [branch for branch in node["anyOf"] if branch != {"type": "null"}]
    if len(branches) != 1:
        raise ValueError(f"a structural schema cannot say {node['anyOf']}: use one type, or one type and None")
    branch: JSON = branches[0]
    return branch


def _int_or_string(node: JSON) -> JSON:
    """Kubernetes' own form: the bounds of both types stand outside, as each only judges values of its type."""
    found = {key: value for key, value in node.items() if key not in _DROPPED}
    for branch in node["anyOf"]:
        found |= {key: value for key, value in branch.items() if key != "type"}
    return _readable(found | {"anyOf": [{"type": "integer"}, {"type": "string"}]})


def _over(base: JSON, own: JSON) -> JSON:
    """A type's schema with what the field that uses it says of itself; rules of both apply."""
    rules = [*base.get(_RULES, ()), *own.get(_RULES, ())]
    return _readable(base | own | ({_RULES: rules} if rules else {}))


def _readable(node: JSON) -> JSON:
    return {key: node[key] for key in _ORDER if key in node} | node
