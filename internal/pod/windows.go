package pod

import "strings"

// IsWindows reports whether the pod runs on no other nodes than those with Windows. That may
// also be in its RuntimeClass, as Kubernetes' guide for Windows proposes; there it is named windows-2019.
func IsWindows(spec *Spec) bool {
	return spec.OS != nil && spec.OS.Name == osWindows ||
		spec.NodeSelector.Get(windowsBuild) != "" || strings.HasPrefix(spec.RuntimeClassName, osWindows) ||
		spec.demands(osLabels, osWindows)
}

const osWindows = "windows"

// windowsBuild is a label of nodes with Windows alone.
const windowsBuild = "node.kubernetes.io/windows-build"

// osLabels are the labels of a node with its operating system, which the kubelet sets.
var osLabels = []string{"kubernetes.io/os", "beta.kubernetes.io/os"}

// WindowsLabels returns the labels of a node that [IsWindows] looks for in a nodeSelector.
func WindowsLabels() []string {
	return append([]string{windowsBuild}, osLabels...)
}
