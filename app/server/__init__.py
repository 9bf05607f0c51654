"""The hook service: HTTP around the controllers, with authentication, limits, metrics, logs and a life cycle."""
