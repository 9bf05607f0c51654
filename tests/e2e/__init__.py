"""The cases that only a real control plane can show: etcd, kube-apiserver, kube-controller-manager, Kueue."""
