//go:build tools

// Package tools pins the programs of the newest Kubernetes line, whose libraries the small programs beside it share.
package tools

import (
	_ "k8s.io/component-base/logs/kube-log-runner"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kubeadm"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
