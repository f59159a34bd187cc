package pod

// A Shape says how the pod template of a kind differs from a Pod, and what the
// kind's API and controller do not allow in it. The zero value is the shape of a
// template that is like a Pod.
type Shape struct {
	// BareSpec: the template is the pod's spec itself. It does not say where the
	// pods' labels and annotations come from.
	BareSpec bool
	// WorkloadMetadata: the pods get the labels and annotations of the object
	// itself, and the template has none.
	WorkloadMetadata bool
	// NoNativeSidecars: the API drops `restartPolicy` of init containers.
	NoNativeSidecars bool
	// FirstIsApp: the controller takes the first container for the app.
	FirstIsApp bool
	// ProbesMadeBy names the controller that makes the pods' probes from those in
	// the template; "" if the pods get them as they are.
	ProbesMadeBy string
	// Declared: the functionConfig has the kind, and no rule of the program knows it.
	Declared bool
	// IsPatch: a container has no image, so another program makes the pod template of this one.
	IsPatch bool
	// AddsProbes names the operator that adds probes over the network to the pods; "" if none is known.
	AddsProbes string
}
