"""What the API server refuses in a Pod's spec, alone or in a template: the part of it that a controller runs into.

The words are those of kube-apiserver 1.35. The spec has its defaults already.
"""

import json
from collections.abc import Iterator
from typing import Any

from app.kube import quantities
from app.kube.hook import JSON
from app.local.containerchecks import choice_problems, container_problems, name_problems
from app.local.errors import BadRequest
from app.local.metadata import label_problems, misspelt_key, misspelt_label, wrong_type
from app.local.schema import Problem
from app.local.values import listed, mapping

_QUANTITY_WORDS = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_CHOICES = {"restartPolicy": ("Always", "OnFailure", "Never")}
_TOLERATION_CHOICES = {
    "operator": ("Equal", "Exists"),
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
}


def spec_problems(spec: JSON, path: str = "spec") -> Iterator[Problem]:
    """Everything that is wrong with a filled spec."""
    yield from choice_problems(spec, _CHOICES, path)
    volumes: set[str] = set()
    for index, volume in enumerate(listed(spec.get("volumes"))):
        yield from _volume_problems(mapping(volume), volumes, f"{path}.volumes[{index}]")
    if not listed(spec.get("containers")):
        yield f"{path}.containers", "Required value"
    names: set[str] = set()
    for field in ("initContainers", "containers"):
        for index, container in enumerate(listed(spec.get(field))):
            yield from container_problems(mapping(container), names, volumes, f"{path}.{field}[{index}]")
    yield from _placement_problems(spec, path)


def _volume_problems(volume: JSON, names: set[str], path: str) -> Iterator[Problem]:
    yield from name_problems(volume, names, path)
    for source in [key for key in volume if key != "name"][1:]:
        yield f"{path}.{source}", "Forbidden: may not specify more than 1 volume type"


def _placement_problems(spec: JSON, path: str) -> Iterator[Problem]:
    """Where the Pod may run, and under which name."""
    for field in ("hostname", "subdomain"):
        wrong = misspelt_label(str(spec[field])) if field in spec else None
        if wrong:
            yield f"{path}.{field}", f"Invalid value: {json.dumps(spec[field])}: {wrong}"
    yield from label_problems(f"{path}.nodeSelector", mapping(spec.get("nodeSelector")))
    for index, toleration in enumerate(listed(spec.get("tolerations"))):
        yield from choice_problems(mapping(toleration), _TOLERATION_CHOICES, f"{path}.tolerations[{index}]")
    gates = [str(mapping(one).get("name")) for one in listed(spec.get("schedulingGates"))]
    for index, gate in enumerate(gates):
        wrong = misspelt_key(gate)
        if wrong:
            yield f"{path}.schedulingGates[{index}]", f"Invalid value: {json.dumps(gate)}: {wrong}"
        if gate in gates[:index]:
            yield f"{path}.schedulingGates[{index}]", f"Duplicate value: {json.dumps(gate)}"


def require_types(obj: JSON, spec: JSON) -> None:
    """Raises BadRequest for what the Go types of a Pod's spec cannot hold: the mistakes that are easily made."""
    for container in listed(spec.get("containers")) + listed(spec.get("initContainers")):
        for field in ("args", "command"):
            found = mapping(container).get(field)
            if found is not None and not isinstance(found, list):
                raise wrong_type(obj, found, f"Container.spec.containers.{field}", "[]string")
            for item in listed(found):
                if not isinstance(item, str):
                    raise wrong_type(obj, item, f"Container.spec.containers.{field}", "string")
        for variable in listed(mapping(container).get("env")):
            value = mapping(variable).get("value", "")
            if not isinstance(value, str):
                raise wrong_type(obj, value, "EnvVar.spec.containers.env.value", "string")
        for amounts in mapping(mapping(container).get("resources")).values():
            for amount in mapping(amounts).values():
                _require_quantity(obj, amount)


def _require_quantity(obj: JSON, amount: Any) -> None:
    try:
        quantities.parse(amount)
    except ValueError:
        version, kind = str(obj.get("apiVersion")).rpartition("/")[2], obj.get("kind")
        words = f'{kind} in version "{version}" cannot be handled as a {kind}: {_QUANTITY_WORDS}'
        raise BadRequest(words) from None
