"""Actions on what runs: Pods, engines, nodes, and the hook service."""

from collections.abc import Callable
from datetime import timedelta

from app.cli.script import actions as do
from app.cli.script import podactions as pods
from app.cli.script.base import NodeTarget
from app.cli.script.stage import Moment, act
from app.cli.script.targets import filter_of, nodes_of, pods_of
from app.kube.hook import JSON
from app.local.disruptions import EVICTION, PREEMPTION, disrupt
from app.local.faults import Ending, Fault
from app.local.network import CallFault
from app.local.podstatus import Words
from app.local.values import name, namespace, qualified

_MOST = 5
_ANSWERS = {"empty": (200, b"{}"), "garbage": (200, b"<html><body>It works!</body></html>")}


def _told(pods: list[JSON]) -> str:
    words = ", ".join(qualified(pod) for pod in pods[:_MOST])
    return words if len(pods) <= _MOST else f"{words} and {len(pods) - _MOST} more"


@act.register
def _(action: pods.KillPod, moment: Moment) -> str:
    plane = moment.cluster.plane
    _, found = pods_of(plane, action)
    for pod in found:
        plane.store.delete(plane.discovery.of(pod), namespace(pod), name(pod), grace=int(action.grace))
    return _told(found)


@act.register
def _(action: pods.EvictPod, moment: Moment) -> str:
    plane = moment.cluster.plane
    wanted, found = pods_of(plane, action)
    if action.by == "Kubelet":
        plane.kubelet.evict(wanted, action.resource)
    for pod in found if action.by != "Kubelet" else ():
        disrupt(plane.store, plane.clock, pod, EVICTION if action.by == "API" else PREEMPTION)
    return f"{_told(found)}, by {action.by}"


@act.register
def _(action: pods.Crash, moment: Moment) -> str:
    plane = moment.cluster.plane
    wanted, found = pods_of(plane, action)
    ending = Ending(action.exit_code, action.reason, action.after)
    plane.kubelet.crash(wanted, ending, action.container)
    if action.times > 1:
        plane.faults.add(Fault(wanted, ending=ending, container=action.container, times=action.times - 1))
    return f"{_told(found)}, exit code {action.exit_code}"


@act.register
def _(action: pods.Hang, moment: Moment) -> str:
    wanted, found = pods_of(moment.cluster.plane, action)
    moment.cluster.plane.kubelet.hang(wanted, action.for_, action.container)
    return _told(found)


@act.register
def _(action: pods.SlowLoad, moment: Moment) -> str:
    plane = moment.cluster.plane
    wanted, until = filter_of(plane, action), moment.until(action.for_)
    plane.faults.add(Fault(wanted, until, load=action.load, container=action.container, times=action.times))
    return f"{action.words}: {action.load:g} s"


@act.register
def _(action: pods.ImageMissing, moment: Moment) -> str:
    moment.cluster.plane.faults.add(Fault(until=moment.until(action.for_), image=action.image))
    return action.image


@act.register
def _(action: pods.RefusePods, moment: Moment) -> str:
    plane = moment.cluster.plane
    wanted, until = filter_of(plane, action), moment.until(action.for_)
    plane.faults.add(Fault(wanted, until, refusal=Words(action.reason, action.message)))
    return f"{action.words}: {action.reason}"


@act.register
def _(action: do.KillNode, moment: Moment) -> str:
    return _each_node(action, moment, moment.cluster.plane.nodes.kill)


@act.register
def _(action: do.RestoreNode, moment: Moment) -> str:
    return _each_node(action, moment, moment.cluster.plane.nodes.restore)


@act.register
def _(action: do.RemoveNode, moment: Moment) -> str:
    return _each_node(action, moment, moment.cluster.plane.nodes.remove)


def _each_node(action: NodeTarget, moment: Moment, do_it: Callable[[str], None]) -> str:
    found = nodes_of(moment.cluster.plane, action)
    for node in found:
        do_it(node)
    return ", ".join(found)


@act.register
def _(action: do.KillHook, moment: Moment) -> str:
    moment.cluster.hook.stop()
    return "its calls are refused"


@act.register
def _(action: do.StartHook, moment: Moment) -> str:
    moment.cluster.hook.start()
    return "it answers"


@act.register
def _(action: do.KillHookMidCall, moment: Moment) -> str:
    moment.cluster.hook.stop_in_the_next_call(action.hook)
    return f"in the next {action.hook} call"


@act.register
def _(action: do.HookFault, moment: Moment) -> str:
    fault = CallFault(hook=action.hook or "", delay=action.delay, times=action.times, until=moment.until(action.for_))
    told = []
    if action.answer is not None:
        status = action.answer if isinstance(action.answer, int) else 200
        fault.status, fault.body = _ANSWERS.get(str(action.answer), (status, b"not the hook"))
        told.append(f"answer {action.answer}")
    moment.cluster.plane.network.fail(fault)
    return ", ".join(told + ([f"after {action.delay:g} s"] if action.delay else []))


@act.register
def _(action: do.HookClock, moment: Moment) -> str:
    moment.cluster.hook_clock.wrong_by = timedelta(seconds=action.by)
    return f"wrong by {action.by:+g} s"
