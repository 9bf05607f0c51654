"""A control plane in one process: API server, Metacontroller's loops, garbage collection, nodes and their kubelets.

Time is simulated: nothing sleeps, the clock jumps to what is due next, and the same run gives the same timeline.
It knows Kubernetes and Metacontroller, not models, and it speaks HTTP to whatever hook a controller object names.

What it imitates, each line with its test, and how it is put together: docs/local-run.md. In short, it does not imitate:
hook version v1, rolling update strategies, server-side apply and TLS to hooks; Metacontroller's informer caches (reads
are always current), its client's rate limit and its number of workers; conversion between versions of a kind, RBAC,
admission webhooks and patches; the controllers of Deployments, StatefulSets and Services; most validation of
Kubernetes' own kinds beyond what a controller easily gets wrong; processes, images and models.
"""

from app.local.plane import Plane

__all__ = ["Plane"]
