package pod

// virtualLabel is the label that a virtual kubelet gives to its node, and its value: the pods of that node run in a
// service of a cloud, such as Azure Container Instances (virtual-kubelet/virtual-kubelet, node/nodeutil).
const (
	virtualLabel = "type"
	virtualValue = "virtual-kubelet"
)

// IsVirtual reports whether the pod runs on no other nodes than those of a virtual kubelet. No mesh has a
// sidecar there, and azure-aci supports neither native sidecars nor an env var with the pod's IP.
func IsVirtual(spec *Spec) bool { return spec.demands([]string{virtualLabel}, virtualValue) }

// PlaceLabels returns the labels of a node that [IsWindows] and [IsVirtual] look for in a nodeSelector.
func PlaceLabels() []string { return append(WindowsLabels(), virtualLabel) }
