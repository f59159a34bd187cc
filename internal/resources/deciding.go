package resources

import "github.com/rewrite-probes/rewrite-probes/internal/field"

// Deciding returns the fields of a pod spec that decide what [Pod.Defaults] returns: while they
// have these values, or are absent, it returns the same, whatever else changes. Most pods have a
// container that decides alone: one with a request or a limit, and no limit of CPU, makes its pod
// Burstable and limitless.
func Deciding(spec field.Path, containers Containers, ranges []LimitRange, source Source) []field.Path {
	own := spec.Key("resources")
	all := []field.Path{own}
	if len(ranges) == 0 && len(source(own)) == 0 {
		if limited := decideTogether(spec, containers, source); limited != nil {
			return append(all, limited...)
		}
	}
	for at := range containers {
		path := spec.Item(at.List(), at.Index).Key("resources")
		all = append(all, path)
		if len(ranges) > 0 || len(source(own)) > 0 {
			continue
		}
		if some := decidesAlone(source(path)); some != nil {
			return []field.Path{own, path.Key("limits", computeResources[0]), path.Join(some)}
		}
	}
	return all
}

// decidesAlone returns a request or a limit that makes a container Burstable; nil if the
// container has a limit of CPU, or nothing that counts.
func decidesAlone(resources field.Map) field.Path {
	r, bad := readRequirements(resources)
	if bad != nil || r.limits[0].set {
		return nil
	}
	for i := len(computeResources) - 1; i >= 0; i-- { // a memory changes less often than a CPU
		switch name := computeResources[i]; {
		case r.requests[i].milli > 0:
			return field.NewPath("requests", name)
		case r.limits[i].milli > 0:
			return field.NewPath("limits", name)
		}
	}
	return nil
}

// decideTogether returns the fields that make a pod Burstable whose containers all have a limit of CPU: these
// limits, and a request that differs from its limit. nil if it is another pod.
func decideTogether(spec field.Path, containers Containers, source Source) (fields []field.Path) {
	var differs []field.Path // of the first container that is Burstable by one resource
	for at := range containers {
		path := spec.Item(at.List(), at.Index).Key("resources")
		r, bad := readRequirements(source(path))
		if bad != nil || !r.limits[0].set {
			return nil
		}
		fields = append(fields, path.Key("limits", computeResources[0]))
		for i, name := range computeResources {
			request := r.requests[i].or(r.limits[i])
			if differs == nil && request.milli != r.limits[i].milli {
				differs = []field.Path{path.Key("requests", name), path.Key("limits", name)}
			}
		}
	}
	if differs == nil {
		return nil
	}
	return append(fields, differs...)
}
