"""Pods as the API server admits them: defaults of Kubernetes 1.35, and the edits that it refuses."""

from app.kube.hook import JSON
from app.local.schema import Problem
from app.local.typed import omit_empty
from app.local.values import clone, listed, mapping, same

_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_PROBE_DEFAULTS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_NODE_GONE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_POD_DEFAULTS: JSON = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "enableServiceLinks": True,
    "securityContext": {},
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
}


def admit_pod(obj: JSON, stored: JSON | None) -> tuple[JSON, list[Problem]]:
    """A Pod with its defaults; without a container that has a name and an image it is refused."""
    pod = omit_empty(obj)
    spec = mapping(pod.get("spec"))
    found = _container_problems(spec)
    if found:
        return pod, found
    if stored is not None:
        return pod, _pod_edit_problems(mapping(stored.get("spec")), spec)
    account = spec.get("serviceAccountName", "default")
    pod["spec"] = {**_POD_DEFAULTS, **spec, "serviceAccountName": account, "serviceAccount": account}
    pod["spec"]["containers"] = [_container(one) for one in spec["containers"]]
    pod["spec"]["tolerations"] = _tolerations(listed(spec.get("tolerations")))
    if "volumes" in spec:
        pod["spec"]["volumes"] = [_volume(one) for one in spec["volumes"]]
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(pod["spec"])}
    return pod, []


def _container_problems(spec: JSON) -> list[Problem]:
    containers = listed(spec.get("containers"))
    if not containers:
        return [("spec.containers", "Required value")]
    return [
        (f"spec.containers[{index}].{field}", "Required value")
        for index, one in enumerate(containers)
        for field in ("name", "image")
        if not mapping(one).get(field)
    ]


def _pod_edit_problems(before: JSON, after: JSON) -> list[Problem]:
    """Of a Pod's spec only images, leaving gates, added tolerations and the deadline may change.

    While it has gates, its node selector may grow too.
    """
    old, new = _frozen(before), _frozen(after)
    selectors = mapping(old.get("nodeSelector")), mapping(new.get("nodeSelector"))
    if listed(before.get("schedulingGates")) and selectors[0].items() <= selectors[1].items():
        old, new = {**old, "nodeSelector": {}}, {**new, "nodeSelector": {}}
    if same(old, new):
        return []
    message = (
        "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations) "
        "and `spec.schedulingGates` (only removals)"
    )
    return [("spec", message)]


def _frozen(spec: JSON) -> JSON:
    free = {"schedulingGates", "tolerations", "activeDeadlineSeconds", "containers"}
    containers = [{k: v for k, v in one.items() if k != "image"} for one in listed(spec.get("containers"))]
    return {key: value for key, value in spec.items() if key not in free} | {"containers": containers}


def _container(container: JSON) -> JSON:
    filled = {
        "imagePullPolicy": "Always" if _latest(str(container["image"])) else "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "resources": {},
        **container,
    }
    for probe in _PROBES:
        if probe in filled:
            filled[probe] = _probe(filled[probe])
    if "ports" in filled:
        filled["ports"] = [{"protocol": "TCP", **port} for port in filled["ports"]]
    filled["resources"] = _resources(mapping(filled["resources"]))
    # Go drops an empty value of a variable; the variable itself stays.
    if "env" in filled:
        filled["env"] = [{k: v for k, v in one.items() if (k, v) != ("value", "")} for one in filled["env"]]
    return filled


def _latest(image: str) -> bool:
    tag = image.rpartition("/")[2].partition("@")
    return not tag[1] and tag[0].partition(":")[2] in {"", "latest"}


def _probe(probe: JSON) -> JSON:
    filled = {**_PROBE_DEFAULTS, **probe}
    if "httpGet" in filled:
        filled["httpGet"] = {"scheme": "HTTP", "path": "/", **filled["httpGet"]}
    return filled


def _resources(resources: JSON) -> JSON:
    """Quantities are stored as strings, and a limit without a request is a request too."""
    found: JSON = {
        part: {key: str(value) for key, value in mapping(resources.get(part)).items()}
        for part in ("limits", "requests")
        if part in resources
    }
    if "limits" in found:
        found["requests"] = found["limits"] | found.get("requests", {})
    return found


def _tolerations(stated: list[JSON]) -> list[JSON]:
    """What a Pod tolerates of a lost node is added by an admission plugin, unless the Pod says so itself."""
    said = {one.get("key") for one in stated}
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in _NODE_GONE
        if key not in said
    ]
    return stated + added


def _volume(volume: JSON) -> JSON:
    filled = clone(volume)
    for source in ("configMap", "secret", "projected", "downwardAPI"):
        if source in filled:
            filled[source] = {"defaultMode": 420, **filled[source]}
    return dict(filled)


def qos_class(spec: JSON) -> str:
    """Guaranteed, Burstable or BestEffort, from the CPU and memory of all containers."""
    resources = [mapping(one.get("resources")) for one in listed(spec.get("containers"))]
    limits = [{k: v for k, v in mapping(one.get("limits")).items() if k in {"cpu", "memory"}} for one in resources]
    requests = [{k: v for k, v in mapping(one.get("requests")).items() if k in {"cpu", "memory"}} for one in resources]
    if not any(limits) and not any(requests):
        return "BestEffort"
    equal = all(len(limit) == 2 and limit == request for limit, request in zip(limits, requests, strict=True))
    return "Guaranteed" if equal else "Burstable"
