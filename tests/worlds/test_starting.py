"""Worlds in which replicas come up: well, slowly, or not at all."""

from app.local.faults import Ending, Fault
from tests.worlds.story import HOUR, MINUTE, Story, a_deployment, a_node, role, world


@world()
def test_a_deployment_starts(story: Story) -> None:
    """Expected: Starting until the first replica serves, Degraded until the last does, then Ready and nothing more.

    The replica of two Pods counts once. Every Pod is made once, and no error is recorded.
    """
    story.given(a_deployment(role("prefill", kind="Prefill", replicas=2), role("decode", kind="Decode", size=2)))
    story.until_ready()
    assert story.readings("phase") == [None, "Starting", "Degraded", "Ready"]
    assert story.status()["roleSummary"] == "2P1D"
    assert story.status()["endpoint"] == "http://qwen.team-a.svc:8000"
    assert story.status()["admission"] == {"phase": "Running"}
    assert story.says("ReplicasUpToDate") == ("True", "UpToDate")
    assert story.says("Reconciling") is story.says("Stalled") is None
    pods = story.uids()
    assert len(pods) == 4
    before = len(story.timeline.entries)
    story.passes(6 * HOUR)
    assert story.uids() == pods
    assert len(story.timeline.entries) == before, "six quiet hours"
    assert story.events() == []


@world()
def test_a_load_takes_longer_than_one_startup_budget(story: Story) -> None:
    """Expected: the kubelet restarts the container after 30 minutes, and the second load, with a warm cache, serves.

    All that time the deployment is Starting and says that the model is loading. Hangar lets nothing go: the Pod is one
    and the same.
    """
    story.goes_wrong(Fault(load=45 * MINUTE, times=1)).given(a_deployment())
    story.until(lambda: bool(story.uids())).passes(MINUTE)
    pods = story.uids()
    story.passes(20 * MINUTE)
    assert story.phase() == ("Starting", "0/1")
    assert story.status()["admission"]["reason"] == "LoadingModel"
    story.until_ready(within=HOUR)
    assert 30 * MINUTE < story.now < 33 * MINUTE
    assert story.uids() == pods
    assert story.pod("server")["status"]["containerStatuses"][0]["restartCount"] == 1  # type: ignore[index]
    assert story.readings("phase") == [None, "Starting", "Ready"]


@world()
def test_an_engine_crashes_again_and_again(story: Story) -> None:
    """Expected: one of two replicas never serves; the other is not touched, and the deployment is Degraded 1/2.

    It says CrashLooping with the exit code and the count of restarts. Restarting is the kubelet's: Hangar neither
    deletes nor remakes the Pod, however long it lasts. When the engine holds, all is Ready again.
    """
    story.given(a_deployment(role(replicas=2)))
    story.goes_wrong(Fault(story.seat("server", 1), until=HOUR, ending=Ending(exit_code=1, after=20)))
    story.until(lambda: story.phase() == ("Degraded", "1/2"))
    pods = story.uids()
    story.passes(30 * MINUTE)
    assert story.phase() == ("Degraded", "1/2")
    admission = story.status()["admission"]
    assert (admission["phase"], admission["reason"]) == ("Running", "CrashLooping")
    assert "ended with exit code 1" in admission["message"]
    assert story.says("Stalled") is None
    assert story.interruptions() == [], "a restart in place is no interruption"
    story.until_ready(within=HOUR)
    assert story.uids() == pods


@world(nodes=[a_node("only", gpu=2)])
def test_there_is_no_room_until_somebody_makes_some(story: Story) -> None:
    """Expected: two of three replicas serve, the third waits, and the scheduler's words say for what.

    It is bound as soon as a node with room joins; nobody asks Hangar to do anything for that.
    """
    story.given(a_deployment(role(replicas=3)))
    story.until(lambda: story.phase() == ("Degraded", "2/3")).passes(HOUR)
    admission = story.status()["admission"]
    assert (admission["phase"], admission["reason"]) == ("Running", "InsufficientCapacity")
    assert "0/1 nodes are available: 1 Insufficient nvidia.com/gpu." in admission["message"]
    pods = story.uids()
    story.plane.nodes.add(a_node("new", gpu=8))
    story.until_ready(within=5 * MINUTE)
    assert story.uids() == pods


@world()
def test_the_instance_type_comes_later(story: Story) -> None:
    """Expected: nothing is made while the InstanceType is missing, and Stalled names it; then all goes on by itself.

    When it is deleted again, what runs keeps running, and the deployment serves all the while.
    """
    story.given(a_deployment(role(instanceType="h100", replicas=2))).passes(10 * MINUTE)
    assert story.says("Stalled") == ("True", "InstanceTypeNotFound")
    assert "h100" in story.words("Stalled")
    assert story.uids() == {}
    assert story.plane.all_of("Service.v1", "team-a") == []
    shape = {"accelerator": {"resource": "nvidia.com/gpu", "manufacturer": "NVIDIA", "product": "H100"}}
    kind = "InstanceType"
    instance_type = {"apiVersion": "hangar.dev/v1alpha1", "kind": kind, "metadata": {"name": "h100"}, "spec": shape}
    story.given(instance_type).until_ready(within=5 * MINUTE)
    assert story.says("Stalled") is None
    pods = story.uids()
    story.plane.delete("InstanceType.hangar.dev/v1alpha1", "h100")
    story.passes(HOUR)
    assert story.says("Stalled") == ("True", "InstanceTypeNotFound")
    assert story.uids() == pods
    assert story.phase() == ("Ready", "2/2")
    story.given(instance_type).until_ready(within=MINUTE)
    assert story.uids() == pods
