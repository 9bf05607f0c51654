"""What a cluster answers when it does not do what was asked, as sentences for people."""

from app.kube.reader import ReadError


class ClusterError(ReadError):
    """The cluster could not be asked, or refuses for another reason than those below."""


class Conflict(ClusterError):
    """The object was changed after it was read."""


class Unauthorized(ClusterError):
    """The cluster does not know who asks."""


class ConfigError(Exception):
    """A kubeconfig that cannot be used; the message names the file and the entry."""
