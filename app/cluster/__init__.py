"""A Kubernetes cluster as the command line reaches it: with the caller's own kubeconfig, over HTTPS.

The Python clients that are well kept bring models of every Kubernetes kind, or an HTTP library of their own, and yet do
not speak the current form of exec plugins. What Hangar needs is four calls, and an HTTP client is there already.
"""

from app.cluster.client import Cluster, connect
from app.cluster.errors import ClusterError, ConfigError, Conflict

__all__ = ["Cluster", "ClusterError", "ConfigError", "Conflict", "connect"]
