// Package workload knows the kinds of Kubernetes objects that make pods: where
// in an object the pod templates are, whether the pods are to finish, and what
// a kind's API and controller leave room for in its templates. In every other
// object it finds what looks like a container with a probe, so that none goes
// unmentioned.
//
// It reads objects and never changes them, and decides nothing about probes.
package workload
