package surroundings

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/yaml"
)

// InjectedMark is the annotation that Istio's injector leaves on a pod: what it added, and its revision.
const InjectedMark = "sidecar.istio.io/status"

// A witness is a pod that Istio's injector has got: it shows what the injector did when the pod was made. What an
// annotation of the pod itself decides it does not show of others.
type witness struct {
	Neighbour
	Metadata struct {
		CreationTimestamp field.Value `json:"creationTimestamp"`
		DeletionTimestamp field.Value `json:"deletionTimestamp"`
		OwnerReferences   []struct {
			Kind       string `json:"kind"`
			Name       string `json:"name"`
			Controller bool   `json:"controller"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Spec   pod.Spec `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`

	revision                string
	made                    time.Time
	ownerKind, ownerName    string // of its controller, through a ReplicaSet
	rewrites, native, holds certain.Certainty
	sendsTo, uncaptured     int
}

// The annotations of a pod by which it decides facts for itself.
const (
	ownRewriting  = "sidecar.istio.io/rewriteAppHTTPProbers"
	ownNative     = "sidecar.istio.io/nativeSidecar"
	ownPort       = "status.sidecar.istio.io/port"
	ownExcluded   = "traffic.sidecar.istio.io/excludeInboundPorts"
	ownConfig     = "proxy.istio.io/config"
	ownTemplates  = "inject.istio.io/templates"
	ourOriginals  = "rewrite-probes.io/originals"
	istioProxy    = "istio-proxy"
	waitsForProxy = "pilot-agent wait"
)

func (w *witness) complete() bool {
	m := &w.Metadata
	made, _ := m.CreationTimestamp.(string)
	var err error
	w.made, err = time.Parse(time.RFC3339, made)
	isAlive := m.DeletionTimestamp == nil && (w.Status.Phase == "Running" || w.Status.Phase == "Pending")
	injected, isInjected := w.Annotations.Lookup(InjectedMark)
	_, byOthers := w.Annotations.Lookup(ownTemplates)
	_, byUs := w.Annotations.Lookup(ourOriginals)
	if err != nil || !isAlive || !isInjected || byOthers || byUs {
		return false
	}
	status, err := yaml.MappingIn(injected)
	if err != nil {
		return false
	}
	w.revision = revisionOf(cmp.Or(textOf(dig(status, "revision")), w.Annotations.Get(istioRev)))
	w.readOwner()
	if !w.readSidecar() {
		return false
	}
	w.readProbes()
	w.Spec = pod.Spec{}
	return true
}

// readOwner finds the controller of the pod: a ReplicaSet has the name of its Deployment or Rollout, and a hash.
func (w *witness) readOwner() {
	for _, o := range w.Metadata.OwnerReferences {
		if !o.Controller {
			continue
		}
		w.ownerKind, w.ownerName = o.Kind, o.Name
		for kind, label := range map[string]string{"Deployment": "pod-template-hash", "Rollout": "rollouts-pod-template-hash"} {
			hash := w.Labels.Get(label)
			if name, made := strings.CutSuffix(o.Name, "-"+hash); o.Kind == "ReplicaSet" && made && hash != "" {
				w.ownerKind, w.ownerName = kind, name
			}
		}
	}
}

// readSidecar reads which sidecar the pod has, and which port its redirection leaves. It is no witness without one.
func (w *witness) readSidecar() bool {
	var proxy *pod.Container
	for at, c := range w.Spec.All() {
		switch {
		case c.Name == istioProxy:
			proxy = c
			w.native = certain.Of(at.Init)
			waits := c.Lifecycle != nil && c.Lifecycle.PostStart != nil && c.Lifecycle.PostStart.Exec != nil &&
				strings.Contains(strings.Join(c.Lifecycle.PostStart.Exec.Command, " "), waitsForProxy)
			w.holds = certain.Of(at.Index == 0 && waits)
		case len(c.EnvVars(prober.EnvName)) > 0: // another answers probes
			return false
		case c.Name == "istio-init":
			w.uncaptured = portLeft(c.Args)
		}
	}
	if proxy == nil {
		return false
	}
	_, hasNative := w.Annotations.Lookup(ownNative)
	_, hasConfig := w.Annotations.Lookup(ownConfig)
	if w.native == certain.Always || hasConfig {
		w.holds = certain.Maybe
	}
	if hasNative {
		w.native = certain.Maybe
	}
	if _, hasExcluded := w.Annotations.Lookup(ownExcluded); hasExcluded {
		w.uncaptured = 0
	}
	return true
}

// portLeft returns the port of istio-proxy among those that istio-init leaves alone; 0 if it is not the only one.
func portLeft(args []string) int {
	ports := make(map[int]bool)
	for i, arg := range args {
		if arg != "-d" || i+1 == len(args) {
			continue
		}
		for p := range strings.SplitSeq(args[i+1], ",") {
			ports[portOf(p)] = true
		}
	}
	delete(ports, 15021)
	delete(ports, 15090)
	return onlyOf(ports)
}

// readProbes reads whether the injector has rewritten the probes, and to which port.
func (w *witness) readProbes() {
	ports := make(map[int]bool)
	network := false
	for h, isHook := range w.handlers() {
		network = network || h.Dials() && !isHook // hooks are rewritten since Istio 1.25
		if h.HTTPGet == nil {
			continue
		}
		if _, _, ok := prober.ParseKey(h.HTTPGet.Path); ok {
			ports[int(h.HTTPGet.Port.Int)] = true
		}
	}
	_, decidesPort := w.Annotations.Lookup(ownPort)
	_, hasConfig := w.Annotations.Lookup(ownConfig)
	if _, decides := w.Annotations.Lookup(ownRewriting); !decides && (network || len(ports) > 0) {
		w.rewrites = certain.Of(len(ports) > 0)
	}
	if w.sendsTo = onlyOf(ports); decidesPort || hasConfig || w.rewrites == certain.Maybe {
		w.sendsTo, w.uncaptured = 0, 0
	}
	w.uncaptured = cmp.Or(w.uncaptured, w.sendsTo) // as Istio's CNI plugin leaves it
}

// handlers yields the handlers of all containers but istio-proxy, and which are hooks.
func (w *witness) handlers() iter.Seq2[*pod.Handler, bool] {
	return func(yield func(*pod.Handler, bool) bool) {
		for _, c := range w.Spec.All() {
			var all [5]*pod.Handler
			for i, p := range []*pod.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
				if p != nil {
					all[i] = &p.Handler
				}
			}
			if c.Lifecycle != nil {
				all[3], all[4] = c.Lifecycle.PostStart, c.Lifecycle.PreStop
			}
			for i, h := range all {
				if h != nil && c.Name != istioProxy && !yield(h, i > 2) {
					return
				}
			}
		}
	}
}

// asks reports whether the pod itself asks for injection, so that it shows nothing of others.
func (w *witness) asks() bool {
	for _, key := range []string{istioInject, istioRev} {
		if _, set := w.Labels.Lookup(key); set {
			return true
		}
	}
	_, set := w.Annotations.Lookup(istioInject)
	return set
}

// An injectedTemplate is a workload whose template was injected before it was applied (istioctl kube-inject): its
// pods show nothing of the injector in the cluster.
type injectedTemplate struct {
	Neighbour
	Template struct {
		Metadata field.Metadata `json:"metadata"`
	} `json:"template"`
}

func (t *injectedTemplate) complete() bool {
	_, isInjected := t.Template.Metadata.Annotations.Lookup(InjectedMark)
	return isInjected
}

// A testimony is what running pods show: those of a namespace, and others by the revision that injected them. The
// newest comes first.
type testimony struct {
	here   []*witness
	others map[string][]*witness
	// isDated is set if it is known since when the configuration holds, so that all witnesses are newer.
	isDated bool
}

// enough is how many pods of other namespaces are heard.
const enough = 20

// testimonyFor returns what running pods show to those of a namespace.
func testimonyFor(s *Surroundings, namespace string) *testimony {
	s.ask(istioWitnesses.Kind)
	if s.shown != nil {
		return s.shown
	}
	t := &testimony{others: make(map[string][]*witness)}
	s.shown = t
	var all []*witness
	s.source.Hears(istioWitnesses.Kind, func(v any) bool {
		all = append(all, v.(*witness))
		return false
	})
	if len(all) == 0 {
		return t
	}
	slices.SortFunc(all, func(a, b *witness) int {
		byName := cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		return cmp.Or(b.made.Compare(a.made), byName)
	})
	changed := changesOf(s)
	t.isDated = len(changed) > 0
	before := injectedTemplates.all(s)
	for _, w := range all {
		isMade := func(x injectedTemplate) bool {
			return x.Namespace == w.Namespace && x.Kind == w.ownerKind && x.Name == w.ownerName
		}
		at, known := changed[w.revision]
		isOld := known && w.made.Before(at.Add(settles))
		switch others := t.others[w.revision]; {
		case isOld, slices.ContainsFunc(before, isMade):
		case namespace != "" && w.Namespace == namespace:
			t.here = append(t.here, w)
		case len(others) < enough:
			t.others[w.revision] = append(others, w)
		}
	}
	return t
}

// settles is how long istiod may take to follow a change of its configuration.
const settles = 10 * time.Second

// changesOf returns when the configuration of each revision was last changed, as far as its objects tell.
func changesOf(s *Surroundings) map[string]time.Time {
	changed := make(map[string]time.Time)
	for _, p := range planes(s, near) {
		at, ok := p.At.(interface{ Changed() string })
		if !ok {
			continue
		}
		t, err := time.Parse(time.RFC3339, at.Changed())
		if err == nil && t.After(changed[p.revision]) {
			changed[p.revision] = t
		}
	}
	return changed
}

// A hearing has the witnesses for one pod: those of its own controller and template, those of its namespace, and
// others that the same revision has injected.
type hearing struct {
	groups  [3][]*witness
	isDated bool
}

// presumed says why the witnesses of a group count for other pods.
var presumed = [...]string{"", " (presumed: of the same namespace)", " (presumed: of the same revision)"}

// hearingFor returns the witnesses for a pod that one of some revisions may inject. If nothing else says which one
// does, the nearest witnesses say it.
func hearingFor(s *Surroundings, a *asked, chosen choice) (h hearing) {
	t := testimonyFor(s, a.pods.Namespace)
	h.isDated = t.isDated
	may := func(revision string) bool {
		return chosen.revisions == nil || slices.Contains(chosen.revisions, revision)
	}
	nearest := make(map[string]bool)
	for _, w := range t.here {
		if !may(w.revision) {
			continue
		}
		group := &h.groups[1]
		if w.isOf(a.pods) {
			group = &h.groups[0]
		}
		*group = append(*group, w)
		nearest[w.revision] = true
	}
	for _, revision := range slices.Sorted(maps.Keys(t.others)) {
		if may(revision) && (len(nearest) == 0 || nearest[revision]) {
			h.groups[2] = append(h.groups[2], t.others[revision]...)
		}
	}
	return h
}

// isOf reports whether the witness certainly was made from the template of some pods as it is now.
func (w *witness) isOf(pods *Pods) bool {
	isOwn := w.ownerKind == pods.Kind && w.ownerName == pods.Name
	return isOwn && pods.IsCurrent != nil && pods.IsCurrent(w.Labels)
}

// says returns what the nearest witnesses say of a fact. If it is not known when the configuration changed, all of
// them must say the same.
func (h *hearing) says(of func(w *witness) certain.Certainty) (said Stated) {
	for i, group := range h.groups {
		for _, w := range group {
			if is := of(w); is != certain.Maybe && (said.At == "" || !h.isDated) {
				said.add(is, w.words("Pod")+presumed[i])
			}
		}
		if said.At != "" {
			return said
		}
	}
	return said
}

// port returns the port that the nearest witnesses show; 0 if they differ.
func (h *hearing) port(of func(w *witness) int) int {
	for _, group := range h.groups {
		ports := make(map[int]bool)
		for _, w := range group {
			ports[of(w)] = true
		}
		if delete(ports, 0); len(ports) > 0 {
			return onlyOf(ports)
		}
	}
	return 0
}

// hear adds what running pods show, where the objects of the installation say nothing.
func (x *Installed) hear(s *Surroundings, a *asked, chosen choice) {
	stated := x.Holds
	said := []string{x.Injected.At, x.Rewrites.At, x.Native.At, stated(certain.Maybe).At}
	if !slices.Contains(said, "") {
		return
	}
	h := hearingFor(s, a, chosen)
	if x.Injected.At == "" {
		isInjected := func(*witness) certain.Certainty { return certain.Always }
		unasked := slices.DeleteFunc(slices.Clone(h.groups[1]), (*witness).asks)
		own, here := h, h
		own.groups = [3][]*witness{h.groups[0]}
		here.groups = [3][]*witness{1: unasked}
		x.Injected, x.InjectsHere = own.says(isInjected), here.says(isInjected)
	}
	if x.Rewrites.At == "" {
		x.Rewrites = h.says(func(w *witness) certain.Certainty { return w.rewrites })
	}
	if x.Native.At == "" {
		x.Native = h.says(func(w *witness) certain.Certainty { return w.native })
	}
	holds := h.says(func(w *witness) certain.Certainty { return w.holds })
	x.Holds = func(annotation certain.Certainty) Stated {
		if said := stated(annotation); said.At != "" || annotation != certain.Maybe {
			return said
		}
		return holds
	}
	x.SendsTo = cmp.Or(x.SendsTo, h.port(func(w *witness) int { return w.sendsTo }))
	x.Uncaptured = cmp.Or(x.Uncaptured, h.port(func(w *witness) int { return w.uncaptured }))
}

// Shown returns the revisions of which pods show something, wherever they lie, by name, and whether their injector
// rewrites probes.
func Shown(s *Surroundings) (all []Revision) {
	t := testimonyFor(s, "")
	for _, name := range slices.Sorted(maps.Keys(t.others)) {
		h := hearing{groups: [3][]*witness{t.others[name]}, isDated: t.isDated}
		r := Revision{Name: name}
		r.Rewrites = h.says(func(w *witness) certain.Certainty { return w.rewrites })
		all = append(all, r)
	}
	return all
}
