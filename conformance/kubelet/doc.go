// Package kubelet compares verdicts.
package kubelet

import (
	_ "google.golang.org/grpc/health"
	_ "k8s.io/kubernetes/pkg/probe/grpc"
	_ "k8s.io/kubernetes/pkg/probe/http"
	_ "k8s.io/kubernetes/pkg/probe/tcp"
)
