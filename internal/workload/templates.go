package workload

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// A Custom says where a kind that this package does not know has a pod template,
// or where a known kind has another one, in any version of the group.
type Custom struct {
	Group, Kind string
	Pattern     field.Path // of the templates; empty if the object itself is like a Pod
	Metadata    field.Path // the pattern of the pods' metadata, if the templates are pod specs; nil if not known
}

// A TemplatePlace is one pod template of an object.
type TemplatePlace struct {
	Path     field.Path
	Metadata field.Path // of the pods, if the template is a pod's spec; nil if not known
	JobLike  bool
	Shape    pod.Shape
}

// Class says how an object is to be treated.
type Class int

// The classes.
const (
	NoPods        Class = iota // it has no pod template and nothing that looks like a probe
	Known                      // it is of a known kind, or of one of the customs
	Unknown                    // its kind is not known, and it may hold probes
	WorkloadGroup              // a WorkloadGroup: it makes no pods, but has a probe
)

// IsWorkloadGroup reports whether a kind is Istio's WorkloadGroup, whose workloads
// run on virtual machines.
func IsWorkloadGroup(group, kind string) bool {
	return group == "networking.istio.io" && kind == "WorkloadGroup"
}

// IsSidecarSet reports whether a kind is OpenKruise's SidecarSet, whose webhook adds containers to pods.
func IsSidecarSet(group, kind string) bool {
	return group == "apps.kruise.io" && kind == "SidecarSet"
}

// Classify returns the class of an object, without parsing it.
func Classify(o *manifest.Object, customs []Custom) Class {
	group := o.Group()
	kind := o.Kind()
	switch {
	case IsWorkloadGroup(group, kind):
		return WorkloadGroup
	case KindOf(group, kind) != nil,
		slices.ContainsFunc(customs, func(c Custom) bool { return c.Group == group && c.Kind == kind }):
		return Known
	}
	isBuiltin := IsBuiltinGroup(o.APIVersion())
	switch {
	case isBuiltin && slices.Contains(builtin[group], kind):
		return NoPods
	case isBuiltin && Meant(group, kind) != nil, MayHaveProbes(o):
		return Unknown
	}
	return NoPods
}

// Templates returns the pod templates that the object has. An error is an
// *[manifest.Error].
func Templates(o *manifest.Object, customs []Custom) ([]TemplatePlace, error) {
	var found []TemplatePlace
	add := func(t TemplatePlace) {
		if !slices.ContainsFunc(
			found,
			func(f TemplatePlace) bool {
				return slices.Equal(f.Path, t.Path)
			},
		) {
			found = append(found, t)
		}
	}
	group := o.Group()
	name := o.Kind()
	if k := KindOf(group, name); k != nil {
		for _, pattern := range k.Templates {
			err := expand(o, nil, pattern, func(path field.Path, _ manifest.Node) {
				add(TemplatePlace{Path: path, JobLike: k.JobLike, Shape: k.Shape})
			})
			if err != nil {
				return nil, err
			}
		}
	}
	for _, c := range customs {
		if c.Group != group || c.Kind != name {
			continue
		}
		err := expand(o, nil, c.Pattern, func(path field.Path, n manifest.Node) {
			shape := pod.Shape{Declared: true, AddsProbes: OperatorOf(group)}
			switch spec := n.Get("spec"); {
			case spec.IsMapping():
				shape.IsPatch = IsRule(group) || isPatch(spec)
				add(TemplatePlace{Path: path, Shape: shape})
			case n.Get("containers").IsList() || n.Get("initContainers").IsList():
				shape.IsPatch, shape.BareSpec = IsRule(group) || isPatch(n), true
				add(TemplatePlace{Path: path, Metadata: withIndexesOf(c.Metadata, path), Shape: shape})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Deciding returns what decides which pod templates an object has: the lists of which each item has
// one, and the paths at which one is missing.
func Deciding(o *manifest.Object, customs []Custom) (lists, missing []field.Path, err error) {
	var patterns []field.Path
	if k := KindOf(o.Group(), o.Kind()); k != nil {
		patterns = k.Templates
	}
	for _, c := range customs {
		if c.Group == o.Group() && c.Kind == o.Kind() {
			patterns = append(slices.Clip(patterns), c.Pattern)
		}
	}
	for _, pattern := range patterns {
		l, m, err := deciding(o, nil, pattern)
		if err != nil {
			return nil, nil, err
		}
		lists, missing = append(lists, l...), append(missing, m...)
	}
	return lists, missing, nil
}

// deciding returns what decides about one pattern; the path leads to what matches its beginning.
func deciding(o *manifest.Object, path, rest field.Path) (lists, missing []field.Path, err error) {
	every := slices.Index(rest, field.EveryItem)
	if every < 0 {
		path = path.Join(rest)
		n, err := o.Mapping(path)
		isSpec := n.Get("containers").IsList() || n.Get("initContainers").IsList()
		if !isSpec && !n.Get("spec").IsMapping() {
			missing = []field.Path{path}
		}
		return nil, missing, err
	}
	path = path.Join(rest[:every])
	list, err := o.List(path)
	lists = []field.Path{path}
	i := 0
	for item := list.First(); item.Exists() && err == nil; item = item.Next() {
		var l, m []field.Path
		l, m, err = deciding(o, path.Index(i), rest[every+1:])
		lists, missing = append(lists, l...), append(missing, m...)
		i++
	}
	return lists, missing, err
}

// withIndexesOf returns the path that matches a pattern, in the items that another path goes through.
func withIndexesOf(pattern, path field.Path) field.Path {
	of := slices.Clone(pattern)
	for i, step := range of {
		if step == field.EveryItem {
			of[i] = path[i]
		}
	}
	return of
}

// expand yields every mapping of the object whose path begins with path and then
// matches the pattern rest.
func expand(o *manifest.Object, path, rest field.Path, yield func(field.Path, manifest.Node)) error {
	every := slices.Index(rest, field.EveryItem)
	if every < 0 {
		path = path.Join(rest)
		n, err := o.Mapping(path)
		if n.Exists() {
			yield(path, n)
		}
		return err
	}
	path = path.Join(rest[:every])
	list, err := o.List(path)
	if err != nil {
		return err
	}
	i := 0
	for item := list.First(); item.Exists(); item = item.Next() {
		if err := expand(o, path.Index(i), rest[every+1:], yield); err != nil {
			return err
		}
		i++
	}
	return nil
}
