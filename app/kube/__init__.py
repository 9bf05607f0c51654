"""Kubernetes as Hangar sees it: names, times, other people's kinds, and the plain types of a hook call."""
