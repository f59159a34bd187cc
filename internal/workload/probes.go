package workload

import (
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// EachProbe calls visit with the path of every mapping of the object that looks
// like a probe or hook over the network: it has one of the container's five keys
// for them and a handler that opens a connection, or under any other key the shape
// of a probe. The path is valid during the call. What cannot be understood has none.
func EachProbe(o *manifest.Object, visit func(path field.Path)) {
	if root, err := o.Root(); err == nil {
		eachProbe(root, make(field.Path, 0, 16), visit)
	}
}

// eachProbe is EachProbe for the part of an object at path.
func eachProbe(n manifest.Node, path field.Path, visit func(path field.Path)) {
	list := n.IsList()
	i := int32(0)
	for c := n.First(); c.Exists(); c = c.Next() {
		if c.First().Exists() {
			step := field.Step{Index: i, IsIndex: true}
			if !list {
				step = field.Step{Key: c.Key()}
			}
			at := append(path, step)
			if hasHandler(c) && (isField(at) && dials(c) || hasShape(c)) {
				visit(at)
			}
			eachProbe(c, at, visit)
		}
		i++
	}
}

// hasHandler reports whether a mapping has a key that may be a handler: few have one, and
// every mapping of an object is asked.
func hasHandler(n manifest.Node) bool {
	for c := n.First(); c.Exists(); c = c.Next() {
		if slices.Contains(dialing, c.Key()) {
			return true
		}
	}
	return false
}

// isField reports whether a path ends as that of a container's probe or hook.
func isField(path field.Path) bool {
	last := len(path) - 1
	return slices.Contains(probeFields, path[last].Key) ||
		last > 0 &&
			path[last-1].Key == "lifecycle" &&
			slices.Contains(hookFields, path[last].Key)
}

// probeTiming are the fields of a probe beside its handler.
var probeTiming = []string{"initialDelaySeconds", "periodSeconds", "timeoutSeconds", "successThreshold", "failureThreshold"}

// hasShape reports whether a mapping looks like a probe by itself, such as in the
// values of a chart: it has a handler with a port. `grpc` with a port may be
// anything, and must have the timing of a probe beside it.
func hasShape(n manifest.Node) bool {
	return slices.ContainsFunc(dialing, func(name string) bool {
		port := n.Get(name).Get("port")
		if port.Missing() ||
			port.IsMapping() ||
			port.IsList() {
			return false
		}
		return name != "grpc" ||
			slices.ContainsFunc(probeTiming, func(key string) bool { return n.Get(key).Exists() })
	})
}

// MayHaveProbes reports, without parsing, whether an object may have something that
// looks like a probe.
func MayHaveProbes(o *manifest.Object) bool {
	return o.MayMention("Probe", "lifecycle") || o.MayMention(dialing...)
}

// The fields of a container that hold a probe, those of its lifecycle that hold
// a hook, and the handlers of both that open a connection.
var (
	probeFields = fieldsOf(false)
	hookFields  = fieldsOf(true)
	handlers    = append(pod.DialingHandlers(), "exec")
	dialing     = pod.DialingHandlers()
)

func fieldsOf(hooks bool) (names []string) {
	for _, t := range prober.ProbeTypes() {
		if t.IsHook() == hooks {
			names = append(names, t.Field())
		}
	}
	return names
}

// dials reports whether a probe or hook has a handler that opens a connection.
func dials(n manifest.Node) bool {
	return slices.ContainsFunc(dialing, func(name string) bool { return n.Get(name).IsMapping() })
}

// Unseen returns the parts of an object that look like containers with probes
// and are not containers of its pod templates.
func Unseen(o *manifest.Object, templates []TemplatePlace) []Holder {
	var seen []field.Path // the pod specs
	for _, t := range templates {
		if !t.Shape.BareSpec {
			t.Path = t.Path.Key("spec")
		}
		seen = append(seen, t.Path)
	}
	var probes []field.Path
	EachProbe(o, func(path field.Path) {
		spec, _ := podSpecOf(path)
		wasRead := slices.ContainsFunc(seen, func(s field.Path) bool { return slices.Equal(s, spec) })
		if spec == nil || !isField(path) || !wasRead {
			probes = append(probes, slices.Clone(path))
		}
	})
	holders := group(probes)
	for i := range holders {
		if h := &holders[i]; h.Nameable {
			spec, _ := o.Mapping(h.Spec)
			h.IsPatch = isPatch(spec)
		}
	}
	return holders
}

// ProbeFields returns the names of a container's fields that hold a probe.
func ProbeFields() []string { return slices.Clone(probeFields) }

// A Handler is one that a container has as a field of its own, where the API server drops it.
type Handler struct {
	Container field.Path
	Key       string // of the handler
	Empty     string // the one probe of the container that has nothing; "" if that is none or several
}

// Dedented returns the handlers of an object's pod templates that lack the indent below a probe.
func Dedented(o *manifest.Object, templates []TemplatePlace) (found []Handler) {
	for _, t := range templates {
		if !t.Shape.BareSpec {
			t.Path = t.Path.Key("spec")
		}
		spec, err := o.Mapping(t.Path)
		if err != nil {
			continue
		}
		for _, list := range []string{"containers", "initContainers"} {
			i := 0
			for c := spec.Get(list).First(); c.Exists(); c = c.Next() {
				for _, key := range handlers {
					if c.Get(key).Exists() {
						found = append(found, Handler{t.Path.Item(list, i), key, emptyProbe(c)})
					}
				}
				i++
			}
		}
	}
	return found
}

// emptyProbe returns the one probe of a container that has nothing; "" if that is none or several.
func emptyProbe(container manifest.Node) (name string) {
	for _, field := range probeFields {
		switch probe := container.Get(field); {
		case !probe.Exists() || probe.First().Exists():
		case name != "":
			return ""
		default:
			name = field
		}
	}
	return name
}

// podSpecOf returns the pod spec that has the container of a probe in one of its two lists,
// nil if none has, and the container.
func podSpecOf(probe field.Path) (spec, container field.Path) {
	container = probe[:len(probe)-1]
	if n := len(container); n > 0 && container[n-1].Key == "lifecycle" {
		container = container[:n-1]
	}
	n := len(container)
	if n < 2 || !container[n-1].IsIndex {
		return nil, container
	}
	switch container[n-2].Key {
	case "containers", "initContainers":
		return container[: n-2 : n-2], container
	}
	return nil, container
}

// A Holder is a part of an object with probes that nobody looked at.
type Holder struct {
	// Path is that of the pod template, or else of the pod spec or the container. Of
	// what has only the shape of probes, it is the part that has all of them.
	Path   field.Path
	Spec   field.Path   // of the pod spec, or else of the container; nil if there is none
	Probes []field.Path // of its probes
	// Pattern is what a Custom must have to find it. Nameable is false if no
	// Custom can find it, because the probes are not in a list of containers or a
	// key on the way cannot be written in a pattern.
	Pattern  field.Path
	Nameable bool
	// IsPatch is set if a container there has no image, so that it is a part of another pod template.
	IsPatch bool
}

// ProbesBeside returns the probes of holders that are in no container of a name.
func ProbesBeside(o *manifest.Object, holders []Holder, name string) (probes []field.Path) {
	for _, h := range holders {
		for _, p := range h.Probes {
			_, container := podSpecOf(p)
			if v, _ := o.Value(container.Key("name")); v != name {
				probes = append(probes, p)
			}
		}
	}
	return probes
}

// group groups the paths of probes by the pod template that they are in. What only has
// the shape of probes is grouped by the object's field.
func group(probes []field.Path) []Holder {
	var holders []Holder
	for _, p := range probes {
		h := Holder{Path: p}
		same := func(g Holder) bool {
			return g.Spec == nil && g.Path[0] == p[0]
		}
		if isField(p) {
			h = holderOf(p)
			same = func(g Holder) bool {
				return g.Spec != nil && slices.Equal(g.Spec, h.Spec)
			}
		}
		i := slices.IndexFunc(holders, same)
		if i < 0 {
			holders, i = append(holders, h), len(holders)
		}
		if h.Spec == nil {
			holders[i].Path = holders[i].Path.Common(p)
		}
		holders[i].Probes = append(holders[i].Probes, p)
	}
	return holders
}

func holderOf(probe field.Path) Holder {
	spec, container := podSpecOf(probe)
	if spec == nil {
		return Holder{Path: container, Spec: container}
	}
	path := spec
	// The metadata of an object with a pod's spec of its own is seldom that of its pods.
	if n := len(path); n > 1 && path[n-1].Key == "spec" {
		path = path[:n-1]
	}
	pattern := path.Pattern()
	return Holder{Path: path, Spec: spec, Pattern: pattern, Nameable: parses(pattern)}
}

// parses reports whether a functionConfig can spell the pattern.
func parses(pattern field.Path) bool {
	if len(pattern) == 0 {
		return true
	}
	p, err := field.Parse(pattern.String())
	return err == nil && slices.Equal(p, pattern)
}
