"""Kueue's kinds as the API server serves them: defaults, bounds, and no to what this control plane does not imitate.

A field that is not in these schemas is refused rather than dropped: a quota that is silently another one would be worse
than none.
"""

from collections.abc import Iterator
from typing import Any

from app.kube import quantities
from app.kube.hook import JSON
from app.local.resources import Resource
from app.local.schema import Problem, Structural
from app.local.table import Change
from app.local.values import clone, listed, mapping, same

GROUP = "kueue.x-k8s.io"
VERSION = "v1beta2"
API_VERSION = f"{GROUP}/{VERSION}"
# Under which names Kueue's reconcilers and its scheduler write.
MANAGER, ADMISSION = "kueue", "kueue-admission"
_TEXT: JSON = {"type": "string"}
_TEXTS: JSON = {"type": "object", "additionalProperties": _TEXT}
_ANY: JSON = {"x-kubernetes-preserve-unknown-fields": True}


def _object(required: tuple[str, ...] = (), **properties: Any) -> JSON:
    found: JSON = {"type": "object", "properties": properties}
    return found | ({"required": list(required)} if required else {})


def _list(items: JSON, **bounds: int) -> JSON:
    return {"type": "array", "items": items, **bounds}


def _one_of(*values: str) -> JSON:
    return {"type": "string", "enum": list(values), "default": values[0]}


_STOP = _one_of("None", "Hold", "HoldAndDrain")
_LABEL_SELECTOR = _object(matchLabels=_TEXTS, matchExpressions=_list({"type": "object", **_ANY}))
_QUANTITY: JSON = {"x-kubernetes-int-or-string": True}
_QUOTA = _object(("name", "nominalQuota"), name=_TEXT, nominalQuota=_QUANTITY)
_GROUP = _object(
    ("coveredResources", "flavors"),
    coveredResources=_list(_TEXT, minItems=1),
    flavors=_list(_object(("name", "resources"), name=_TEXT, resources=_list(_QUOTA, minItems=1)), minItems=1),
)
_CLUSTER_QUEUE = _object(
    resourceGroups=_list(_GROUP, maxItems=16),
    namespaceSelector=_LABEL_SELECTOR,
    queueingStrategy=_one_of("BestEffortFIFO", "StrictFIFO"),
    stopPolicy=_STOP,
    preemption={
        # The two cohort fields are common in manifests, and mean nothing without a cohort.
        **_object(
            withinClusterQueue=_one_of("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
            reclaimWithinCohort=_TEXT,
            borrowWithinCohort={"type": "object", **_ANY},
        ),
        "default": {},
    },
    flavorFungibility={
        **_object(whenCanPreempt=_one_of("TryNextFlavor", "MayStopSearch"), whenCanBorrow=_TEXT),
        "default": {},
    },
)
_FLAVOR = _object(
    nodeLabels=_TEXTS,
    nodeTaints=_list(_object(("key", "effect"), key=_TEXT, value=_TEXT, effect=_TEXT)),
    tolerations=_list({"type": "object", **_ANY}),
    topologyName=_TEXT,
)
_LOCAL_QUEUE = _object(("clusterQueue",), clusterQueue=_TEXT, stopPolicy=_STOP)
_TOPOLOGY = _object(("levels",), levels=_list(_object(("nodeLabel",), nodeLabel=_TEXT), minItems=1))
_WORKLOAD = {"type": "object", **_ANY, "properties": {"active": {"type": "boolean", "default": True}}}
_PRIORITY = _object(("value",), value={"type": "integer"}, description=_TEXT)


def _unknown(schema: JSON, value: Any, path: str) -> Iterator[Problem]:
    """Fields that the schema does not know, each of them refused."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(mapping(schema.get("items")), item, f"{path}[{index}]")
    elif isinstance(value, dict) and "additionalProperties" not in schema:
        known = mapping(schema.get("properties"))
        for key, item in value.items():
            if key in known:
                yield from _unknown(known[key], item, f"{path}.{key}".lstrip("."))
            elif not schema.get("x-kubernetes-preserve-unknown-fields"):
                yield f"{path}.{key}".lstrip("."), "this control plane does not imitate it: remove it for a local run"


def _read(schema: JSON, obj: JSON) -> tuple[JSON, list[Problem]]:
    """The object with defaults; what is wrong with everything but its envelope and status."""
    envelope = {key: obj[key] for key in ("apiVersion", "kind", "metadata", "status") if key in obj}
    body: JSON = {key: clone(value) for key, value in obj.items() if key not in envelope}
    found = list(_unknown(schema, body, ""))
    filled, wrong = Structural(schema).take(body)
    return envelope | filled, found or wrong


def _of_spec(schema: JSON) -> JSON:
    return _object(("spec",), spec=schema)


def _admit_cluster_queue(obj: JSON, _: JSON | None) -> tuple[JSON, list[Problem]]:
    admitted, found = _read(_of_spec(_CLUSTER_QUEUE), obj)
    return admitted, found or list(_quota_problems(admitted["spec"]))


def _quota_problems(spec: JSON) -> Iterator[Problem]:
    for index, group in enumerate(listed(spec.get("resourceGroups"))):
        for place, flavor in enumerate(group["flavors"]):
            path = f"spec.resourceGroups[{index}].flavors[{place}].resources"
            if [one["name"] for one in flavor["resources"]] != group["coveredResources"]:
                yield path, "Invalid value: must name the coveredResources of its group, in their order"
            for number, one in enumerate(flavor["resources"]):
                try:
                    quantities.parse(one["nominalQuota"])
                except ValueError as problem:
                    yield f"{path}[{number}].nominalQuota", f"Invalid value: {problem}"


def _admit(schema: JSON) -> Any:
    return lambda obj, _: _read(schema, obj)


CLUSTER_QUEUE = Resource(
    API_VERSION,
    "clusterqueues",
    "ClusterQueue",
    namespaced=False,
    counted=("",),
    status=True,
    admit=_admit_cluster_queue,
)
LOCAL_QUEUE = Resource(
    API_VERSION, "localqueues", "LocalQueue", counted=("",), status=True, admit=_admit(_of_spec(_LOCAL_QUEUE))
)
FLAVOR = Resource(
    API_VERSION,
    "resourceflavors",
    "ResourceFlavor",
    namespaced=False,
    counted=("",),
    admit=_admit(_object(spec=_FLAVOR)),
)
TOPOLOGY = Resource(
    API_VERSION, "topologies", "Topology", namespaced=False, counted=("",), admit=_admit(_of_spec(_TOPOLOGY))
)
PRIORITY_CLASS = Resource(
    API_VERSION, "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False, admit=_admit(_PRIORITY)
)
WORKLOAD = Resource(API_VERSION, "workloads", "Workload", counted=("",), status=True, admit=_admit(_of_spec(_WORKLOAD)))
KINDS = (CLUSTER_QUEUE, LOCAL_QUEUE, FLAVOR, TOPOLOGY, PRIORITY_CLASS, WORKLOAD)
_OF_QUEUES = frozenset({one.key for one in (CLUSTER_QUEUE, LOCAL_QUEUE, FLAVOR, TOPOLOGY)})


def concerns_queues(change: Change) -> bool:
    """Whether a change may have changed whether, and what, a queue admits; a written status has not."""
    if change.resource.key not in _OF_QUEUES:
        return False
    return change.old is None or change.type == "DELETED" or not same(change.old.get("spec"), change.new.get("spec"))
