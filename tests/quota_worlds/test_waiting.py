"""Worlds in which quota is short: all of it, some of it, or none is to be had."""

from app.local.quota.options import KueueOptions, all_but
from tests.quota_worlds.story import HIGH, QUEUE, QuotaStory, a_local_queue, quota_world
from tests.worlds.story import HOUR, MINUTE, a_deployment, a_node, role

MORE = "1 more needed"


def _full_then_freed(story: QuotaStory) -> None:
    story.job("holds", 4).until(lambda: story.job_holds("holds"))
    story.given(a_deployment(role(replicas=2, queueName=QUEUE))).passes(MINUTE)
    pods = story.uids()
    assert len(pods) == 2
    assert story.phase() == ("Starting", "0/2")
    assert story.says("QuotaReserved") == ("False", "Pending")
    words = story.words("QuotaReserved")
    assert words.startswith("2 of 2 replicas without quota (server): couldn't assign flavors to pod set ")
    assert words.endswith(f"in flavor h100, {MORE} (2 replicas)"), "Kueue's sentence, once"
    phase, reason, message = story.admission()
    assert (phase, reason) == ("Pending", "InsufficientQuota")
    assert MORE in message
    assert MORE in story.status()["phaseMessage"]
    assert story.quota() == (0, None), "a zero that was seen, and no flavor"
    before = len(story.timeline.entries)
    story.passes(6 * HOUR)
    assert len(story.timeline.entries) == before, "it waits without a word"
    story.job_ends("holds").until_ready(within=5 * MINUTE)
    assert story.uids() == pods, "the same Pods, let through"
    assert story.says("QuotaReserved") == ("True", "Reserved")
    assert story.words("QuotaReserved") == "quota is reserved for 2 replicas in cluster queue pool"
    assert story.quota() == (2, ["h100"])
    assert story.admission() == ("Running", "", "")


@quota_world(4)
def test_a_full_queue_is_waited_for_until_it_is_freed(story: QuotaStory) -> None:
    """Expected: both replicas exist and wait; QuotaReserved is Pending with Kueue's own sentence, once for both.

    The admission is Pending for InsufficientQuota. Six hours change nothing. When the quota is freed the same Pods go
    on, and the deployment is Ready with both replicas on the flavor.
    """
    _full_then_freed(story)


@quota_world(4, options=KueueOptions(granular=True))
def test_a_full_queue_reads_the_same_in_kueues_newer_vocabulary(story: QuotaStory) -> None:
    """Expected: the same, word for word, whichever of its two vocabularies Kueue speaks."""
    _full_then_freed(story)


@quota_world(2)
def test_half_a_set_is_admitted(story: QuotaStory) -> None:
    """Expected: two of three replicas serve and are Degraded; the third waits, and is named by its role.

    The furthest state is Running, the open question is quota. When quota is raised the third follows; the first two
    are not touched.
    """
    story.given(
        a_deployment(
            role("prefill", kind="Prefill", queueName=QUEUE, workloadPriorityClass=HIGH),
            role("decode", kind="Decode", replicas=2, queueName=QUEUE),
        )
    )
    story.until(lambda: story.phase() == ("Degraded", "2/3")).passes(10 * MINUTE)
    before = story.uids()
    assert story.says("QuotaReserved") == ("False", "Pending")
    assert story.words("QuotaReserved").startswith("1 of 3 replicas without quota (decode): ")
    assert story.admission()[:2] == ("Running", "InsufficientQuota")
    assert (story.quota("prefill"), story.quota("decode")) == ((1, ["h100"]), (1, ["h100"]))
    assert "assembly" not in story.status(), "every kind has quota: nothing is timed"
    story.pool_becomes(3).until_ready(within=5 * MINUTE)
    assert story.uids() == before


@quota_world(2)
def test_what_never_fits_says_so_in_kueues_words(story: QuotaStory) -> None:
    """Expected: a replica that asks for more than the queue will ever have waits, and the sentence says it."""
    story.given(a_deployment(role(queueName=QUEUE, resources={"limits": {"nvidia.com/gpu": 4}}))).passes(MINUTE)
    assert story.says("QuotaReserved") == ("False", "Pending")
    assert "current podset request (4) > maximum capacity (2)" in story.words("QuotaReserved")
    assert story.admission()[:2] == ("Pending", "InsufficientQuota")


@quota_world(4)
def test_quota_is_raised(story: QuotaStory) -> None:
    """Expected: of six replicas four serve; raised to six, the other two follow within minutes, and none is remade."""
    story.given(a_deployment(role(replicas=6, queueName=QUEUE)))
    story.until(lambda: story.phase() == ("Degraded", "4/6")).passes(MINUTE)
    before = story.uids()
    assert story.quota() == (4, ["h100"])
    story.pool_becomes(6).until_ready(within=5 * MINUTE)
    assert story.uids() == before
    assert story.quota() == (6, ["h100"])


@quota_world(4)
def test_quota_is_lowered_below_what_is_used(story: QuotaStory) -> None:
    """Expected: nothing. Kueue takes no quota back that it has given, and a deployment that serves goes on."""
    story.given(a_deployment(role(replicas=4, queueName=QUEUE))).until_ready().passes(MINUTE)
    before = story.uids()
    story.pool_becomes(2).passes(HOUR)
    assert story.uids() == before
    assert story.says("QuotaReserved") == ("True", "Reserved")


@quota_world({"h100": 1, "h200": 1}, flavors={one: {"nodeLabels": {"card": one}} for one in ("h100", "h200")},
    nodes=[
        {**a_node(f"node-{card}", gpu=8), "metadata": {"name": f"node-{card}", "labels": {"card": card}}}
        for card in ("h100", "h200")
    ],
)  # fmt: skip
def test_replicas_are_split_over_two_flavors(story: QuotaStory) -> None:
    """Expected: one replica on each kind of node, Ready, and the role names both flavors, sorted."""
    story.given(a_deployment(role(replicas=2, queueName=QUEUE))).until_ready()
    assert story.quota() == (2, ["h100", "h200"])
    assert sorted(story.node_of("server", ordinal) for ordinal in (0, 1)) == ["node-h100", "node-h200"]
    assert story.says("ReplicasUpToDate") == ("True", "UpToDate"), "what Kueue adds on admission is no drift"
    before = story.uids()
    story.passes(HOUR)
    assert story.uids() == before


@quota_world(4)
def test_a_queue_does_not_exist(story: QuotaStory) -> None:
    """Expected: QueueMissing, with Kueue's words; once the LocalQueue exists the same Pods go on."""
    story.given(a_deployment(role(queueName="nope"))).passes(MINUTE)
    before = story.uids()
    assert story.says("QuotaReserved") == ("False", "Pending")
    assert "LocalQueue nope doesn't exist" in story.words("QuotaReserved")
    assert story.admission()[:2] == ("Pending", "QueueMissing")
    story.given(a_local_queue("nope")).until_ready(within=5 * MINUTE)
    assert story.uids() == before


@quota_world(4, stopPolicy="Hold")
def test_a_queue_is_stopped_before_the_deployment_comes(story: QuotaStory) -> None:
    """Expected: QueueStopped, in Kueue's words; once the queue goes on, Ready."""
    story.given(a_deployment(role(queueName=QUEUE))).passes(MINUTE)
    assert story.says("QuotaReserved") == ("False", "Pending")
    assert story.admission()[:2] == ("Pending", "QueueStopped")
    assert "ClusterQueue pool is inactive" in story.words("QuotaReserved")
    story.pool_becomes(stopPolicy="None").until_ready(within=5 * MINUTE)


@quota_world(4)
def test_a_queue_is_put_on_hold_under_a_deployment_that_serves(story: QuotaStory) -> None:
    """Expected: nothing; a hold keeps what runs. A replica that fails meanwhile cannot come back until it ends."""
    story.given(a_deployment(role(replicas=2, queueName=QUEUE))).until_ready().passes(MINUTE)
    before = story.uids()
    story.pool_becomes(stopPolicy="Hold").passes(HOUR)
    assert story.uids() == before
    story.plane.kubelet.evict(story.seat("server", 1), "memory")
    story.passes(10 * MINUTE)
    assert story.phase() == ("Degraded", "1/2")
    assert story.admission()[:2] == ("Running", "QueueStopped")
    story.pool_becomes(stopPolicy="None").until_ready(within=5 * MINUTE)


@quota_world(4)
def test_a_queue_is_drained_under_a_deployment_that_serves(story: QuotaStory) -> None:
    """Expected: Kueue takes both replicas away; they are remembered as Evicted, made again, and wait for the queue.

    Nobody is parked: when the queue goes on, the deployment is Ready again without anybody's doing.
    """
    story.given(a_deployment(role(replicas=2, queueName=QUEUE))).until_ready().passes(MINUTE)
    before = story.uids()
    story.pool_becomes(stopPolicy="HoldAndDrain").passes(5 * MINUTE)
    assert not set(story.uids().values()) & set(before.values())
    assert len(story.uids()) == 2
    assert story.interruptions() == [("Evicted", "0-1", 0)]
    assert story.says("QuotaReserved") == ("False", "Pending")
    assert story.admission()[:2] == ("Pending", "QueueStopped")
    assert "parked" not in story.status()
    story.pool_becomes(stopPolicy="None").until_ready(within=5 * MINUTE)


@quota_world(8, nodes=[a_node("node-a", gpu=1)])
def test_quota_is_there_and_no_node_has_room(story: QuotaStory) -> None:
    """Expected: both replicas hold quota; one is placed and serves, the other is Admitted and waits for capacity.

    The words are the scheduler's. A node that joins makes it Ready.
    """
    story.given(a_deployment(role(replicas=2, queueName=QUEUE)))
    story.until(lambda: story.phase() == ("Degraded", "1/2")).passes(MINUTE)
    assert story.says("QuotaReserved") == ("True", "Reserved")
    phase, reason, message = story.admission()
    assert (phase, reason) == ("Running", "InsufficientCapacity")
    assert "0/1 nodes are available: 1 Insufficient nvidia.com/gpu." in message
    story.plane.nodes.add(a_node("node-b", gpu=1))
    story.until_ready(within=5 * MINUTE)


RACK = "example.com/rack"
RACKS = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Topology",
    "metadata": {"name": "racks"},
    "spec": {"levels": [{"nodeLabel": RACK}, {"nodeLabel": "kubernetes.io/hostname"}]},
}


def _racked(title: str, rack: str) -> dict[str, object]:
    return {**a_node(title, gpu=4), "metadata": {"name": title, "labels": {RACK: rack}}}


@quota_world(
    100,
    nodes=[_racked("a-1", "a"), _racked("b-1", "b"), _racked("b-2", "b")],
    flavors={"h100": {"topologyName": "racks"}},
    more=[RACKS],
)
def test_a_replica_wants_one_rack_and_no_rack_is_large_enough(story: QuotaStory) -> None:
    """Expected: InsufficientCapacity with Kueue's words about the topology, not a word about quota.

    Once a node joins the rack, all Pods of the replica are placed in it, and the deployment is Ready.
    """
    asked = role(
        size=3,
        queueName=QUEUE,
        topology={"requiredLevel": RACK},
        resources={"limits": {"nvidia.com/gpu": 4}},
        parallelism={"tensor": 12},
    )
    story.given(a_deployment(asked)).passes(MINUTE)
    assert story.admission()[:2] == ("Pending", "InsufficientCapacity")
    assert 'topology "racks" allows to fit only 2 out of 3 pod(s)' in story.admission()[2]
    story.plane.nodes.add(_racked("b-3", "b"))
    story.until_ready(within=10 * MINUTE)
    assert {pod["spec"]["nodeName"] for pod in story.pods().values()} == {"b-1", "b-2", "b-3"}


@quota_world(4, options=KueueOptions(managed_namespaces=all_but("team-a")))
def test_kueue_does_not_manage_the_namespace(story: QuotaStory) -> None:
    """Expected: the Pods stay gated and nothing says why but us: in flight, and after a minute the likely cause."""
    story.given(a_deployment(role(queueName=QUEUE))).passes(30)
    assert story.says("QuotaReserved") == ("Unknown", "AdmissionInFlight")
    assert "Kueue may not manage this namespace" not in story.words("QuotaReserved")
    story.passes(40)
    assert story.says("QuotaReserved") == ("Unknown", "AdmissionInFlight")
    assert "Kueue may not manage this namespace" in story.words("QuotaReserved")
    assert story.phase() == ("Starting", "0/1")


@quota_world(4)
def test_a_priority_class_does_not_exist(story: QuotaStory) -> None:
    """Expected: in flight while Kueue makes no Workload for it; Ready once the class exists."""
    story.given(a_deployment(role(queueName=QUEUE, workloadPriorityClass="urgent"))).passes(2 * MINUTE)
    assert story.says("QuotaReserved") == ("Unknown", "AdmissionInFlight")
    klass = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "urgent"}}
    story.given({**klass, "value": 5}).until_ready(within=5 * MINUTE)


@quota_world(4)
def test_a_deployment_that_waits_and_one_that_serves_are_deleted(story: QuotaStory) -> None:
    """Expected: both go, with all Workloads, and the queue is empty."""
    story.given(a_deployment(role(replicas=4, queueName=QUEUE))).until_ready()
    story.given(a_deployment(role(queueName=QUEUE), name="waits")).passes(MINUTE)
    for title in ("waits", "qwen"):
        story.plane.delete("ModelDeployment.hangar.dev/v1alpha1", f"team-a/{title}")
    story.until(lambda: not story.plane.all_of("ModelDeployment.hangar.dev/v1alpha1"), within=2 * MINUTE).passes(2)
    assert story.workloads() == []
    assert story.used() == "0"


@quota_world(3)
def test_a_deployment_is_scaled_in_while_it_waits(story: QuotaStory) -> None:
    """Expected: the replicas beyond leave at once, whether they wait or serve, and the quota goes to who waits."""
    story.given(a_deployment(role(replicas=5, queueName=QUEUE)))
    story.until(lambda: story.phase() == ("Degraded", "3/5"))
    story.job("waits", 2).role_edited("server", replicas=1).until_ready(within=MINUTE)
    story.until(lambda: story.job_holds("waits"), within=MINUTE).passes(2)
    assert story.admitted() == [0]
    assert len(story.workloads()) == 2
