"""How Kueue is configured, as far as it changes what Pods see of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from app.kube.hook import JSON

NAMESPACE_NAME = "kubernetes.io/metadata.name"
# The Pod webhook is not called for these at all, whatever Kueue's configuration says.
WITHOUT_WEBHOOK = frozenset({"kube-system", "kueue-system"})


def all_but(*spaces: str) -> Mapping[str, Any]:
    """The selector of every namespace but these, as Kueue's own default is written."""
    return MappingProxyType(
        {"matchExpressions": [{"key": NAMESPACE_NAME, "operator": "NotIn", "values": list(spaces)}]}
    )


@dataclass(frozen=True, slots=True)
class KueueOptions:
    """`managed_namespaces` is `managedJobsNamespaceSelector`, a label selector over namespaces.

    `pods_ready_seconds` is `waitForPodsReady.timeout` and its recoveryTimeout: a Workload that has quota and is not
    ready for so long is evicted. 30 minutes is Kueue's own from 0.19 on; None waits for ever.

    `granular` says QuotaReserved's reasons in the vocabulary that Kueue 0.20 has on by default (its feature gate
    `UnadmittedWorkloadsObservability`) instead of the older one.
    """

    managed_namespaces: Mapping[str, Any] = field(default_factory=lambda: all_but("kube-system", "kueue-system"))
    granular: bool = False
    pods_ready_seconds: float | None = 1800

    @property
    def selector(self) -> JSON:
        """The selector as a plain map."""
        return dict(self.managed_namespaces)
