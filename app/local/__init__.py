"""A control plane in one process: API server, Metacontroller's composite loop, garbage collection, kubelets.

Time is simulated: nothing sleeps, the clock jumps to what is due next, and the same run gives the same timeline.
It knows Kubernetes and Metacontroller, not models, and it speaks HTTP to whatever hook a CompositeController names.

What it does not imitate: informer caches (reads are always current), `managedFields`, server-side apply, rolling
update strategies, foreground deletion, CEL rules, canonical spelling of quantities, node capacity and affinity,
init containers, and rate limits of Metacontroller's client.
"""
