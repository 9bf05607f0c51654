"""Worlds in which names could collide, or are used again."""

from app.kube.hook import JSON
from tests.worlds.story import DEPLOYMENT, MINUTE, SPACE, Story, a_deployment, role, world


def _service(name: str) -> JSON:
    ports = [{"name": "web", "port": 80}]
    metadata = {"name": name, "namespace": SPACE}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}


@world()
def test_two_deployments_whose_names_could_collide(story: Story) -> None:
    """Expected: `a` with role `b-c` and `a-b` with role `c` share no Pod name, and each has its own Pods.

    Both want a Service `a-b-c` for their role. Who came first has it; the other says NameTaken and names it. No Service
    ever selects the Pods of both. When the first is deleted, the second takes the name and is Ready.
    """
    story.given(a_deployment(role("b-c", replicas=2), name="a"), a_deployment(role("c", replicas=2), name="a-b"))
    story.until_ready("a").passes(MINUTE)
    first, second = story.uids(name="a"), story.uids(name="a-b")
    assert len(first) == len(second) == 2
    assert not set(first) & set(second)
    assert story.phase("a") == ("Ready", "2/2")
    assert story.says("Stalled", "a-b") == ("True", "NameTaken")
    assert "Service a-b-c" in story.words("Stalled", "a-b")
    service = story.plane.get("Service.v1", f"{SPACE}/a-b-c")
    assert service is not None
    assert service["spec"]["selector"]["hangar.dev/deployment"] == "a"
    story.plane.delete(DEPLOYMENT, f"{SPACE}/a")
    story.until_ready("a-b", within=12 * MINUTE)
    service = story.plane.get("Service.v1", f"{SPACE}/a-b-c")
    assert service is not None
    assert service["spec"]["selector"]["hangar.dev/deployment"] == "a-b"
    assert story.uids(name="a-b") == second


@world()
def test_a_service_of_that_name_is_there_already(story: Story) -> None:
    """Expected: somebody's Service is not touched; the deployment is not Ready, says why, and publishes no endpoint.

    An endpoint would be somebody else's. Its Pods run all the same. Once that Service is gone, ours is made.
    """
    theirs = story.plane.apply(_service("qwen"))
    story.given(a_deployment(role(replicas=2))).passes(10 * MINUTE)
    assert story.plane.get("Service.v1", f"{SPACE}/qwen") == theirs
    assert story.says("Stalled") == ("True", "NameTaken")
    assert story.says("Ready") == ("False", "NameTaken")
    assert "qwen" in story.words("Stalled")
    assert "endpoint" not in story.status()
    assert story.status()["ready"] == "2/2"
    pods = story.uids()
    story.plane.delete("Service.v1", f"{SPACE}/qwen")
    story.until_ready(within=MINUTE)
    assert story.status()["endpoint"] == "http://qwen.team-a.svc:8000"
    assert story.uids() == pods


@world()
def test_a_deployment_is_deleted_and_made_again_at_once(story: Story) -> None:
    """Expected: the old one drains before its name is free; the new one is another object with Pods of its own.

    Nothing of the old answer is used for the new one, though both have one name.
    """
    manifest = a_deployment(role(replicas=2))
    story.given(manifest).until_ready().passes(MINUTE)
    old, before = story.deployment()["metadata"]["uid"], story.uids()
    story.plane.delete(DEPLOYMENT, f"{SPACE}/qwen")
    story.until(lambda: story.plane.get(DEPLOYMENT, f"{SPACE}/qwen") is None, within=MINUTE)
    story.given(manifest)
    assert story.deployment()["metadata"]["uid"] != old
    story.passes(0.5)
    assert story.phase() == ("Starting", "0/2")
    story.until_ready()
    assert set(story.uids()) == set(before)
    assert not set(story.uids().values()) & set(before.values())


@world()
def test_a_deployment_is_made_again_while_the_old_pods_drain(story: Story) -> None:
    """Expected: somebody strips the finalizer and makes the deployment again while its old Pods still drain.

    The new deployment waits for their names, takes none of them for its own, and is Ready when they are gone.
    """
    manifest = a_deployment(role(replicas=2))
    story.given(manifest).until_ready().passes(MINUTE)
    before = story.uids()
    story.plane.delete(DEPLOYMENT, f"{SPACE}/qwen")
    obj = story.deployment()
    obj["metadata"].pop("finalizers")
    story.plane.store.update(obj)
    assert story.plane.get(DEPLOYMENT, f"{SPACE}/qwen") is None
    story.given(manifest).passes(1)
    assert story.phase() == ("Starting", "0/2")
    story.until_ready(within=5 * MINUTE)
    assert not set(story.uids().values()) & set(before.values())
    assert story.says("Stalled") is None


@world()
def test_a_deployment_is_deleted_in_the_background(story: Story) -> None:
    """Expected: phase Deleting while the Pods drain, then nothing is left, no Service either."""
    story.given(a_deployment(role(replicas=2), role("wide", size=2)), a_deployment(name="other"))
    story.until_ready().until_ready("other")
    other = story.uids(name="other")
    story.plane.delete(DEPLOYMENT, f"{SPACE}/qwen")
    story.passes(1)
    assert story.status()["phase"] == "Deleting"
    assert story.says("Ready") == ("False", "Deleting")
    assert len(story.pods()) == 4, "they drain"
    story.until(lambda: story.plane.get(DEPLOYMENT, f"{SPACE}/qwen") is None, within=MINUTE).passes(1)
    assert story.pods() == {}
    services = {one["metadata"]["name"] for one in story.plane.all_of("Service.v1", SPACE)}
    assert services == {"other", "other-server"}
    assert story.uids(name="other") == other


@world()
def test_a_deployment_is_deleted_in_the_foreground(story: Story) -> None:
    """Expected: the garbage collector takes the children, the hook only reports: Deleting until the last Pod is gone.

    The Pods drain as in the background, nothing is made again meanwhile, and no error is recorded.
    """
    story.given(a_deployment(role(replicas=2), role("wide", size=2))).until_ready().passes(MINUTE)
    before, since = story.uids(), story.now
    story.plane.delete(DEPLOYMENT, f"{SPACE}/qwen", propagation="Foreground")
    story.passes(1)
    assert story.phase()[0] == "Deleting"
    assert set(story.pods()) == set(before), "they drain"
    assert story.uids() == {}
    story.until(lambda: story.plane.get(DEPLOYMENT, f"{SPACE}/qwen") is None, within=MINUTE).passes(1)
    assert story.pods() == {}
    assert story.plane.all_of("Service.v1", SPACE) == []
    made = {one["uid"] for one in story.timeline.entries if one["time"] > since and "uid" in one}
    assert made == set(before.values())
    assert story.events() == []
