"""What `hangar run` runs for: until all is Ready, a condition holds, all is gone, or some time has passed."""

from abc import ABC, abstractmethod

from app.api.conditions import MODEL_DEPLOYMENT_CONDITIONS
from app.api.kinds import MODEL_DEPLOYMENT
from app.cli.durations import seconds
from app.cli.problems import CommandError
from app.cli.watching import serves, settled
from app.kube import names
from app.kube.hook import JSON
from app.local.podstatus import condition
from app.local.table import Change
from app.local.values import labels, mapping, qualified

DEPLOYMENT = f"{MODEL_DEPLOYMENT.kind}.{names.API_VERSION}"
_STATUSES = ("True", "False", "Unknown")


class Goal(ABC):
    """What is waited for. It follows the changes, so that asking costs nothing however many objects there are."""

    words = ""

    def __init__(self) -> None:
        self._there: set[str] = set()
        self._open: set[str] = set()

    def follow(self, change: Change) -> None:
        """Takes note of one change in the store."""
        if change.resource.key != DEPLOYMENT:
            return
        title = qualified(change.new)
        if change.type == "DELETED":
            self._there.discard(title)
            self._open.discard(title)
            return
        self._there.add(title)
        if self.met(change.new):
            self._open.discard(title)
        else:
            self._open.add(title)

    @abstractmethod
    def met(self, obj: JSON) -> bool:
        """Whether one stored deployment is where it should be."""

    def reached(self, now: float) -> bool:
        """Whether all are, at `now` seconds since the start."""
        return bool(self._there) and not self._open

    def kept(self, obj: JSON) -> bool:
        """Whether a deployment, in the end, is what was asked for; a goal can be reached by what does not serve."""
        return self.met(obj)


class Ready(Goal):
    """Every deployment answers for its spec and says Ready."""

    words = "Ready"

    def met(self, obj: JSON) -> bool:
        """Settled, which a deployment at zero replicas is too."""
        return settled(obj)

    def kept(self, obj: JSON) -> bool:
        """Settled, and it serves."""
        return settled(obj) and serves(obj)


class HasCondition(Goal):
    """Every deployment has a condition of one status, for its spec as it is now."""

    def __init__(self, kind: str, status: str) -> None:
        super().__init__()
        self._kind, self._status = kind, status
        self.words = f"{kind}={status}"
        only_when_true = {one.type for one in MODEL_DEPLOYMENT_CONDITIONS if one.only_when_true}
        self._absent = "False" if kind in only_when_true else ""

    def met(self, obj: JSON) -> bool:
        """An absent abnormal condition counts as False."""
        answered = mapping(obj.get("status")).get("observedGeneration") == obj["metadata"]["generation"]
        return bool(answered and condition(obj, self._kind).get("status", self._absent) == self._status)


class Gone(Goal):
    """No deployment is left, nor any Pod of one."""

    words = "gone"

    def __init__(self) -> None:
        super().__init__()
        self._pods: set[str] = set()
        self._begun = False

    def follow(self, change: Change) -> None:
        """Counts Pods of deployments too."""
        super().follow(change)
        self._begun = self._begun or bool(self._there)
        if change.resource.key == "Pod.v1" and names.DEPLOYMENT in labels(change.new):
            if change.type == "DELETED":
                self._pods.discard(qualified(change.new))
            else:
                self._pods.add(qualified(change.new))

    def met(self, obj: JSON) -> bool:
        """What is there is not gone."""
        return False

    def reached(self, now: float) -> bool:
        """Whether there were some, and none is left."""
        return self._begun and not self._there and not self._pods


class Passed(Goal):
    """So much simulated time has passed; nothing else is asked."""

    def __init__(self, end: float) -> None:
        super().__init__()
        self.end = end
        self.words = f"over after {end:g} simulated seconds"

    def met(self, obj: JSON) -> bool:
        """Any state will do."""
        return True

    def reached(self, now: float) -> bool:
        """Whether the time has come."""
        return now >= self.end


def goal_of(text: str) -> Goal:
    """The goal that `--until` names. Raises `CommandError` that says what there is."""
    if text == "Ready":
        return Ready()
    if text == "gone":
        return Gone()
    if text.startswith("condition="):
        return _condition(text.removeprefix("condition="))
    try:
        return Passed(seconds(text))
    except ValueError:
        raise CommandError(
            f"--until {text}: write Ready, gone, a duration such as 10m, or condition=TYPE/STATUS such as "
            "condition=Stalled/True"
        ) from None


def _condition(text: str) -> Goal:
    kind, _, status = text.partition("/")
    known = [one.type for one in MODEL_DEPLOYMENT_CONDITIONS]
    if kind not in known:
        raise CommandError(f"--until condition={text}: there is no condition {kind}; there are {', '.join(known)}")
    if status not in _STATUSES:
        raise CommandError(f"--until condition={text}: add a status, {', '.join(_STATUSES)}: condition={kind}/True")
    return HasCondition(kind, status)
