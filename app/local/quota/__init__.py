"""Kueue 0.19 for the local control plane: who gets quota, who waits, and what that does to Pods and Workloads.

Written after trials with the real one, and after its source for what the trials left open. It takes real manifests
(`kueue.x-k8s.io/v1beta2`: ResourceFlavor, ClusterQueue, LocalQueue, WorkloadPriorityClass, Topology), gates Pods as
its webhook does, makes their Workloads, and schedules those by priority and age.

What it does not imitate: cohorts, borrowing and fair sharing, admission checks, MultiKueue and elastic jobs (a
ClusterQueue that asks for them is refused); jobs that are not Pods; fast admission and serving groups; the pause
before an evicted Workload may ask again; a changed priority label of a Pod that exists; preemption for a topology. A
topology is answered by the room that nodes have for whole Pods, without slices and preferred levels.
"""
