"""Every reason that a status can carry: one member each, with what it means and what to do about it.

Reasons are API: `docs/status.md` and the descriptions in the CRD are generated from here.
"""

from enum import StrEnum


class Explained(StrEnum):
    """A word of the API with its meaning and the action it asks for."""

    meaning: str
    action: str

    def __new__(cls, value: str, meaning: str, action: str) -> "Explained":
        """Keeps the two sentences beside the value."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        member.action = action
        return member


class Reason(Explained):
    """Reasons of conditions."""

    # Shared by several conditions.
    NO_REPLICAS = (
        "NoReplicas",
        "No replica has been created yet.",
        "Wait, or raise `replicas` where that is not what you meant.",
    )
    NOT_APPLICABLE = (
        "NotApplicable",
        "The deployment declares nothing that this condition could speak about.",
        "Nothing to do.",
    )
    PENDING = (
        "Pending",
        "Not decided yet: no sync has looked at this object (Unknown), or a replica waits for its quota (False).",
        "Wait. Where it stays Unknown, look at Metacontroller's log; where False, free quota in the queue.",
    )
    SPEC_INVALID = (
        "SpecInvalid",
        "The stored spec does not validate, so nothing was rendered; what runs keeps running.",
        "Correct the field that the message names.",
    )

    # ReplicasUpToDate
    UP_TO_DATE = ("UpToDate", "Every replica matches what this pass rendered.", "Nothing to do.")
    ROLLOUT_IN_PROGRESS = (
        "RolloutInProgress",
        "Replicas differ from the render and turn over, one per role per pass.",
        "Wait; the message names the replica that holds the gate, where one does.",
    )
    REPLACEMENT_IN_PROGRESS = (
        "ReplacementInProgress",
        "Every surviving replica matches the render, but fewer exist than are declared.",
        "Watch the departed Pods: each replacement is created once no Pod of its seat is left.",
    )
    ROLLOUT_NOT_OBSERVED = (
        "RolloutNotObserved",
        "This pass accounted for no replica, so it says nothing either way.",
        "Read the message: reconciling is off, the render was refused, or nothing runs.",
    )

    # QuotaReserved
    RESERVED = ("Reserved", "Every replica has its quota reserved.", "Nothing to do.")
    POD_GROUP_INCOMPLETE = (
        "PodGroupIncomplete",
        "Fewer replicas exist whole than a role declares, so Kueue makes no Workload for the missing ones.",
        "Wait until the missing Pods exist; `Reconciling` and `Stalled` say what is in the way.",
    )
    PREEMPTED_IN_PART = (
        "PreemptedInPart",
        "Another workload took the quota of some replicas, while others hold theirs.",
        "Add capacity, delete the deployment to free what it holds, or move the roles to queues of their own.",
    )
    PARKED = (
        "Parked",
        "Replicas were deactivated, or the set did not assemble in time; they ask for nothing any more.",
        "Change `spec.resumedAt` (`hangar resume`) when there is room; the same manifest again does not do it.",
    )
    NO_QUEUE_IN_RESERVED_NAMESPACE = (
        "NoQueueInReservedNamespace",
        "The deployment is in a namespace that Kueue does not manage, so it is never scheduled.",
        "Make it in another namespace.",
    )
    ADMISSION_IN_FLIGHT = (
        "AdmissionInFlight",
        "A replica is whole and has no Workload yet: Kueue makes it a moment later.",
        "Wait; after a minute the message says that Kueue may not manage the namespace.",
    )
    ALL_REPLICAS_TERMINATING = (
        "AllReplicasTerminating",
        "Every replica is on its way out, so none holds quota to report on.",
        "Wait until their Pods are gone.",
    )

    # RoleKindsReady
    ALL_KINDS_READY = ("AllKindsReady", "Every role kind has at least one ready replica.", "Nothing to do.")
    KINDS_NOT_READY = (
        "KindsNotReady",
        "At least one role kind has no ready replica.",
        "Look at the roles of the kinds that the message names.",
    )
    NO_ROLE_STATUSES = (
        "NoRoleStatuses",
        "This pass accounted for no role.",
        "Wait for the next pass; `Stalled` says what is in the way.",
    )

    # KVEventsPublishing
    NO_ROUTER = (
        "NoRouter",
        "A prefill/decode pair has no router that could consume its events.",
        "Nothing to do where clients address the roles themselves.",
    )

    # Ready, the summary
    ALL_REPLICAS_READY = ("AllReplicasReady", "Every declared replica serves.", "Nothing to do.")
    REPLICAS_NOT_READY = (
        "ReplicasNotReady",
        "At least one declared replica does not serve.",
        "Read `status.admission` and the role counts: they say which and why.",
    )
    SCALED_TO_ZERO = ("ScaledToZero", "Every role is at zero replicas.", "Raise `replicas` to serve again.")
    DELETING = ("Deleting", "The deployment is being deleted.", "Wait until its Pods are gone.")

    # Reconciling (present only while True)
    REPLICAS_STARTING = (
        "ReplicasStarting",
        "Replicas exist and do not all serve yet.",
        "Wait; `admission` says for what.",
    )
    CHILD_NOT_OBSERVED = (
        "ChildNotObserved",
        "Something asked for in this or an earlier pass is not there yet.",
        "Wait; if it stays, look at this object's events.",
    )
    SCALING_IN = (
        "ScalingIn",
        "Replicas beyond the declared count are leaving.",
        "Wait until their Pods are gone.",
    )

    # Stalled (present only while True): refusals
    INSTANCE_TYPE_NOT_FOUND = (
        "InstanceTypeNotFound",
        "A role names an InstanceType that does not exist.",
        "Create the InstanceType; the deployment goes on by itself.",
    )
    INSTANCE_TYPE_INVALID = (
        "InstanceTypeInvalid",
        "A role names an InstanceType whose spec does not validate.",
        "Make a corrected InstanceType under another name and a deployment that uses it.",
    )
    IMAGE_NOT_DERIVABLE = (
        "ImageNotDerivable",
        "No image is stated and none can be derived for a role.",
        "State `roles[].image`, or an image template on the InstanceType.",
    )
    ARGUMENT_OWNED = (
        "ArgumentOwned",
        "A role passes an argument or variable that is Hangar's own to render.",
        "Remove it; a deployment made with a `roles[].command` of its own may pass anything.",
    )
    ARGUMENT_CONFLICT = (
        "ArgumentConflict",
        "A setting is stated twice, or two settings contradict each other.",
        "Keep one of the two that the message names.",
    )
    ENGINE_UNSUPPORTED = (
        "EngineUnsupported",
        "The engine version cannot run what the role asks for.",
        "Raise `engine.version`, or make a deployment whose role states its own `command`.",
    )
    QUEUE_UNSUPPORTED = (
        "QueueUnsupported",
        "A role names a queue, and this installation does not use Kueue.",
        "Switch Kueue on (`HANGAR_KUEUE`), or name no queue.",
    )
    NOT_ALLOWED = (
        "NotAllowed",
        "A role asks for something that this installation does not allow.",
        "Ask the platform team for the setting that the message names.",
    )
    NOT_GATED = (
        "NotGated",
        "Pods that name a queue were not held back by Kueue, so they run outside of any quota.",
        "Check that Kueue's Pod integration is on and manages the namespace; then delete those Pods.",
    )
    CHILD_NOT_CREATED = (
        "ChildNotCreated",
        "Something has been asked for for a minute and is not there.",
        "Look at this object's events: the API server refuses it, or another object holds the name.",
    )
    NAME_TAKEN = (
        "NameTaken",
        "An object that is not ours has the name of a Service that this deployment needs.",
        "Remove or rename that object, or use a deployment of another name.",
    )


class AdmissionReason(Explained):
    """Reasons of `status.admission`: the least advanced open question of any replica."""

    PARKED = (
        "Parked",
        "Replicas are parked and ask for no quota.",
        "Change `spec.resumedAt` (`hangar resume`) when there is room.",
    )
    QUEUE_MISSING = (
        "QueueMissing",
        "The LocalQueue that a role names does not exist, or its cluster queue does not.",
        "Make the queue, or name another.",
    )
    QUEUE_STOPPED = (
        "QueueStopped",
        "The queue takes nothing on at the moment.",
        "Ask who stopped it, or name another queue.",
    )
    PREEMPTED = (
        "Preempted",
        "Another workload took the quota of a replica.",
        "Wait for capacity, or raise the priority.",
    )
    INSUFFICIENT_QUOTA = (
        "InsufficientQuota",
        "The queue has no quota left for a replica, or never had so much.",
        "Read Kueue's words: *unused* quota comes back, the maximum does not.",
    )
    INSUFFICIENT_CAPACITY = (
        "InsufficientCapacity",
        "Kueue's topology or the scheduler finds no room for a replica.",
        "Add nodes, free devices, or ask for less.",
    )
    WAITING_FOR_CHECKS = (
        "WaitingForChecks",
        "Quota is reserved, and an admission check of the queue is not ready yet.",
        "Look at the check that the message names.",
    )
    INSUFFICIENT_DEVICES = (
        "InsufficientDevices",
        "A node refused a Pod because its devices were not there.",
        "Look at the node's device plugin.",
    )
    IMAGE_PULL_FAILED = (
        "ImagePullFailed",
        "The engine image cannot be pulled.",
        "Check the image name, the registry and `imagePullSecrets`.",
    )
    CONTAINER_CONFIG_ERROR = (
        "ContainerConfigError",
        "The kubelet cannot make a container as it is described.",
        "Create the Secret, ConfigMap or volume that the message names.",
    )
    CRASH_LOOPING = (
        "CrashLooping",
        "The engine starts and ends again and again.",
        "Read the log of the Pod that the message names.",
    )
    NOT_ANSWERING = (
        "NotAnswering",
        "An engine that served does not answer its health gate any more.",
        "Look at the engine's log and load; the kubelet restarts it if it stays quiet.",
    )
    LOADING_MODEL = (
        "LoadingModel",
        "The engine runs and does not answer yet.",
        "Wait while it loads the model.",
    )
