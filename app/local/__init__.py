"""A control plane in one process: API server, Metacontroller's composite loop, garbage collection, kubelets.

Time is simulated: nothing sleeps, the clock jumps to what is due next, and the same run gives the same timeline.
It knows Kubernetes and Metacontroller, not models, and it speaks HTTP to whatever hook a CompositeController names.

What it does not imitate: DecoratorControllers and hook version v1; rolling update strategies and server-side apply;
Metacontroller's informer caches (reads are always current) and its client's rate limits; foreground deletion and
orphaning; `managedFields`, CEL rules, canonical spelling of quantities, most validation of Kubernetes' own kinds;
node capacity, selectors and affinity; init containers, liveness probes, crashes, mounted service account tokens.
"""

from app.local.plane import Plane

__all__ = ["Plane"]
