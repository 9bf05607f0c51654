"""Defaults of a Pod's spec, alone or in a template, as Kubernetes 1.35 fills them."""

from app.kube import quantities
from app.kube.hook import JSON
from app.local.values import clone, listed, mapping

_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_PROBE_DEFAULTS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_SPEC_DEFAULTS: JSON = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "securityContext": {},
}


def filled_spec(spec: JSON) -> JSON:
    """The spec of a Pod or of a Pod template, with its defaults."""
    filled = _SPEC_DEFAULTS | spec
    if "serviceAccountName" in spec:
        filled["serviceAccount"] = spec["serviceAccountName"]
    for field in ("containers", "initContainers"):
        if field in spec:
            filled[field] = [_container(mapping(one)) for one in listed(spec[field])]
    if "volumes" in spec:
        filled["volumes"] = [_volume(mapping(one)) for one in listed(spec["volumes"])]
    return filled


def _container(container: JSON) -> JSON:
    filled = {
        "imagePullPolicy": "Always" if _latest(str(container.get("image", ""))) else "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "resources": {},
        **container,
    }
    for probe in _PROBES:
        if probe in filled:
            filled[probe] = _probe(mapping(filled[probe]))
    if "ports" in filled:
        filled["ports"] = [{"protocol": "TCP", **port} for port in listed(filled["ports"])]
    filled["resources"] = _resources(mapping(filled["resources"]))
    # Go drops an empty value of a variable; the variable itself stays.
    if "env" in filled:
        filled["env"] = [{k: v for k, v in one.items() if (k, v) != ("value", "")} for one in listed(filled["env"])]
    return filled


def _latest(image: str) -> bool:
    tag = image.rpartition("/")[2].partition("@")
    return not tag[1] and tag[0].partition(":")[2] in {"", "latest"}


def _probe(probe: JSON) -> JSON:
    filled = {**_PROBE_DEFAULTS, **probe}
    if "httpGet" in filled:
        filled["httpGet"] = {"scheme": "HTTP", "path": "/", **mapping(filled["httpGet"])}
    return filled


def _resources(resources: JSON) -> JSON:
    """Quantities are stored in one spelling, and a limit without a request is a request too."""
    found = dict(resources)
    for kind in ("limits", "requests"):
        if kind in resources:
            found[kind] = {key: _spelt(value) for key, value in mapping(resources[kind]).items()}
    if "limits" in found:
        found["requests"] = found["limits"] | found.get("requests", {})
    return found


def _spelt(quantity: int | str) -> str:
    """The server's spelling; what is no quantity stays, for the checks to refuse."""
    try:
        return quantities.canonical(quantity)
    except ValueError:
        return str(quantity)


def _volume(volume: JSON) -> JSON:
    filled = clone(volume)
    if not any(key != "name" for key in filled):
        filled["emptyDir"] = {}
    for source in ("configMap", "secret", "projected", "downwardAPI"):
        if source in filled:
            filled[source] = {"defaultMode": 420, **mapping(filled[source])}
    return dict(filled)
