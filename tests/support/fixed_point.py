"""Applying an answer as Metacontroller and an API server would, with no scheduler and no kubelet behind them."""

from copy import deepcopy
from datetime import datetime

import orjson

from app.kube import times
from app.kube.hook import JSON, SyncAnswer
from app.local.merge import apply_update
from tests.support.builders import NOW, UID, observed

_SERVICE_DEFAULTS: JSON = {"clusterIP": "10.0.0.12", "type": "ClusterIP", "sessionAffinity": "None"}


def applied(envelope: JSON, found: SyncAnswer, now: datetime = NOW) -> JSON:
    """The next request after `found` was applied: let-go children gone, new ones there, InPlace ones merged."""
    after = deepcopy(envelope)
    after["parent"]["status"] = deepcopy(found.status)
    namespace = envelope["parent"]["metadata"]["namespace"]
    desired = {(child["kind"], child["metadata"]["name"]): child for child in found.children}
    for children in after["children"].values():
        for key, item in list(children.items()):
            identity = (item["kind"], item["metadata"]["name"])
            if "deletionTimestamp" in item["metadata"] or identity not in desired:
                del children[key]
            elif item["kind"] != "Pod":
                children[key] = apply_update(item, _labelled(desired[identity]))
    for (kind, name), child in desired.items():
        children = after["children"].setdefault(f"{kind}.{child['apiVersion']}", {})
        if f"{namespace}/{name}" not in children:
            children[f"{namespace}/{name}"] = _created(child, namespace, now)
    return after


def _labelled(child: JSON) -> JSON:
    child = deepcopy(child)
    child["metadata"].setdefault("labels", {})["controller-uid"] = UID
    return child


def _created(child: JSON, namespace: str, now: datetime) -> JSON:
    item = observed(_labelled(child), namespace, UID)
    item["metadata"]["creationTimestamp"] = times.render(now)
    if item["kind"] == "Service":
        item["spec"] = {**_SERVICE_DEFAULTS, **item["spec"]}
    else:
        item["spec"] |= {"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler"}
        item["status"] = {"phase": "Pending"}
    return item


def snapshot(envelope: JSON) -> bytes:
    """Children and status of a request, comparable."""
    status = envelope["parent"].get("status")
    return orjson.dumps([envelope["children"], status], option=orjson.OPT_SORT_KEYS)
