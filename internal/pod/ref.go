package pod

import "iter"

type Ref struct {
	Init  bool
	Index int
}

func (r Ref) List() string {
	if r.Init {
		return "initContainers"
	}
	return "containers"
}

// IsSidecar reports whether a container is a native sidecar.
func IsSidecar(at Ref, c *Container) bool {
	return at.Init && c.RestartPolicy == "Always"
}

// StartsAfter reports whether the container starts after another one. Init
// containers start first, and each list in its order.
func (r Ref) StartsAfter(other Ref) bool {
	if r.Init != other.Init {
		return other.Init
	}
	return r.Index > other.Index
}

func Names(containers iter.Seq2[Ref, *Container]) []string {
	var names []string
	for _, c := range containers {
		names = append(names, c.Name)
	}
	return names
}
