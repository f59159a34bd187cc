package surroundings

import (
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
)

// An istioWebhooks is a MutatingWebhookConfiguration of Istio's: that of a revision or of a tag. Its
// label istio.io/rev is the revision that injects. Without it the names of webhooks tell whose they are.
type istioWebhooks struct {
	Neighbour
	Webhooks []struct {
		Name              string        `json:"name"`
		NamespaceSelector LabelSelector `json:"namespaceSelector"`
		ObjectSelector    LabelSelector `json:"objectSelector"`
		MatchConditions   []field.Map   `json:"matchConditions"` // expressions, which nobody evaluates here
		Rules             []struct {
			Operations []string `json:"operations"`
			Resources  []string `json:"resources"`
		} `json:"rules"`
	} `json:"webhooks"`
}

func (w *istioWebhooks) complete() bool {
	if w.Labels.Get(istioRev) != "" {
		return true
	}
	for i := range w.Webhooks {
		if strings.HasSuffix(w.Webhooks[i].Name, ".istio.io") {
			return true
		}
	}
	return false
}

// A Tag is a name for a revision of Istio.
type Tag struct{ Name, Revision, At string }

// Tags returns the tags that webhooks or the Sail operator make, by name, but for those with the name of their revision.
func Tags(s *Surroundings) (all []Tag) {
	for _, w := range istioHooks.all(s) {
		name, revision := w.Labels.Get("istio.io/tag"), w.Labels.Get(istioRev)
		if name != "" && revision != "" && name != revision {
			all = append(all, Tag{name, revision, w.words("MutatingWebhookConfiguration")})
		}
	}
	for _, t := range istioTags.all(s) {
		if revision := t.of(s); revision != "" && revision != t.Name {
			all = append(all, Tag{t.Name, revision, t.words("IstioRevisionTag")})
		}
	}
	slices.SortFunc(all, func(a, b Tag) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// An asked is a pod that asks for injection.
type asked struct {
	pods      *Pods
	inject    string // its switch; "" if it has none
	namespace field.Noted
	known     bool // whether the namespace's labels are
}

// namespaceHas returns the value of a label of the Namespace, and whether it is set. The API server adds one
// with the name.
func (a *asked) namespaceHas(key string) (value string, set certain.Certainty) {
	if key == "kubernetes.io/metadata.name" && a.pods.Namespace != "" {
		return a.pods.Namespace, certain.Always
	}
	v, isSet := a.namespace.Lookup(key)
	if !a.known || pod.IsVariable(v) {
		return "", certain.Maybe
	}
	return v, certain.Of(isSet)
}

// podHas is the same of a label of the pods, when they are created.
func (a *asked) podHas(key string) (value string, set certain.Certainty) {
	v, isSet := a.pods.label(key)
	if a.pods.Labels == nil || pod.IsVariable(v) || !isSet && key != istioRev && a.pods.getsLater(key) {
		return "", certain.Maybe
	}
	return v, certain.Of(isSet)
}

// matches returns whether a selector matches labels, as the API server evaluates it.
func (l *LabelSelector) matches(has func(key string) (string, certain.Certainty)) certain.Certainty {
	found := certain.Always
	for _, m := range l.MatchLabels {
		v, set := has(m.Key)
		found = min(found, requires(set, v == m.Value, false))
	}
	for _, x := range l.MatchExpressions {
		v, set := has(x.Key)
		in := slices.Contains(x.Values, v)
		switch x.Operator {
		case "In":
			found = min(found, requires(set, in, false))
		case "NotIn":
			found = min(found, requires(set, !in, true))
		case "Exists":
			found = min(found, requires(set, true, false))
		case "DoesNotExist":
			found = min(found, requires(set, false, true))
		default:
			found = certain.Never
		}
	}
	return found
}

// requires returns whether a requirement is met that is met so if a label is set, and so if it is absent.
func requires(set certain.Certainty, ifSet, ifAbsent bool) certain.Certainty {
	switch set {
	case certain.Always:
		return certain.Of(ifSet)
	case certain.Never:
		return certain.Of(ifAbsent)
	}
	return certain.Maybe
}

// matches returns whether one of the webhooks gets the pod.
func (w *istioWebhooks) matches(a *asked) certain.Certainty {
	best := certain.Never
	for i := range w.Webhooks {
		h := &w.Webhooks[i]
		isOfPods := len(h.Rules) == 0
		for _, r := range h.Rules {
			isOfPods = isOfPods ||
				slices.ContainsFunc(r.Resources, func(of string) bool { return of == "pods" || of == "*" || of == "*/*" }) &&
					slices.ContainsFunc(r.Operations, func(of string) bool { return of == "CREATE" || of == "*" })
		}
		if !isOfPods {
			continue
		}
		found := min(h.NamespaceSelector.matches(a.namespaceHas), h.ObjectSelector.matches(a.podHas))
		if len(h.MatchConditions) > 0 {
			found = min(found, certain.Maybe)
		}
		best = max(best, found)
	}
	return best
}

// A choice is which revisions may inject a pod; any if revisions is nil.
type choice struct{ revisions []string }

// of returns the objects about those revisions.
func (c choice) of(all []*plane) []*plane {
	if c.revisions == nil {
		return all
	}
	isOther := func(p *plane) bool { return !slices.Contains(c.revisions, p.revision) }
	return slices.DeleteFunc(slices.Clone(all), isOther)
}

// A match is which configurations of webhooks select a pod, by the revisions that they lead to.
type match struct {
	always, maybe []string
	at            string // one that certainly does
	ofAny         bool   // one leads to a revision that it does not name
}

// matching returns which of some configurations select a pod.
func (a *asked) matching(all []istioWebhooks) (m match) {
	for i := range all {
		w := &all[i]
		label := w.Labels.Get(istioRev)
		found := w.matches(a)
		m.ofAny = m.ofAny || label == "" && found != certain.Never
		switch found {
		case certain.Always:
			m.always = append(m.always, revisionOf(label))
			m.at = w.words("MutatingWebhookConfiguration")
		case certain.Maybe:
			m.maybe = append(m.maybe, revisionOf(label))
		}
	}
	return m
}

// injecting returns the revisions that may inject a pod, and says whether one does, by the webhooks that are near.
func (s *Surroundings) injecting(a *asked, injected *Stated) choice {
	all := istioHooks.near(s)
	m := a.matching(all)
	if len(m.always) > 0 {
		*injected = Stated{certain.Always, m.at}
	}
	wanted, asks := a.revision()
	switch {
	case m.ofAny:
		return choice{}
	case len(m.always)+len(m.maybe) > 0:
		return choice{append(m.always, m.maybe...)}
	case len(all) > 0 && !asks || s.complete(istioHooks.Kind):
		*injected = Stated{certain.Never, "no webhook of Istio's selects the pod"}
		if len(all) > 0 {
			injected.At = all[0].words("MutatingWebhookConfiguration") + " does not select the pod"
		}
		return choice{[]string{}}
	case !a.known || !asks:
		return choice{}
	case a.pods.RevisionOf != nil:
		wanted = a.pods.RevisionOf(wanted)
	}
	if c, isTag := tagged(s, wanted); isTag {
		return c
	}
	if wanted = revisionOf(wanted); wanted != "" {
		return choice{[]string{wanted}}
	}
	return byDefault(s)
}

// byDefault returns the revision that a pod gets which asks for the default one, where no webhook says so: the one
// without a name, else, since `istioctl tag set default` may have chosen any, any.
func byDefault(s *Surroundings) choice {
	for _, where := range []lie{near, far} {
		if slices.ContainsFunc(planes(s, where), func(p *plane) bool { return p.revision == "" }) {
			return choice{[]string{""}}
		}
	}
	return choice{}
}

// revision returns the revision or tag that the Namespace or the pod asks for, "" for the default one, and
// whether it asks at all.
func (a *asked) revision() (name string, asks bool) {
	if v := a.namespace.Get(istioInjection); v != "" {
		return "", v == "enabled"
	}
	if v := a.namespace.Get(istioRev); v != "" {
		return revisionOf(v), true
	}
	if v, _ := a.pods.label(istioRev); v != "" {
		return revisionOf(v), true
	}
	v, _ := a.pods.label(istioInject)
	return "", v == "true"
}

// require says that a pod is not injected which a webhook sends to the injector, and the injector leaves
// (injectRequired in pkg/kube/inject/inject.go).
func (x *Installed) require(all []*plane, a *asked) {
	for _, p := range all {
		if p.config == nil {
			continue
		}
		never, always := a.selected(p.config, "neverInjectSelector"), a.selected(p.config, "alwaysInjectSelector")
		isOff := textOf(dig(p.config, "policy")) == "disabled"
		isTaken := never == certain.Never && (!isOff || always == certain.Always)
		switch {
		case a.inject == "true", isTaken:
			continue
		case never == certain.Always, isOff && never == certain.Never && always == certain.Never:
			x.Injected = Stated{certain.Never, p.at()}
		default:
			x.Injected = Stated{}
		}
		return
	}
}

// selected returns whether one of the selectors of the injector's configuration matches the pod. An empty one
// matches nothing.
func (a *asked) selected(config field.Map, key string) certain.Certainty {
	best := certain.Never
	for _, item := range lastOf[field.List](config, key) {
		m, _ := item.(field.Map)
		selector := selectorOf(m)
		if len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
			best = max(best, selector.matches(a.podHas))
		}
	}
	return best
}

// selectorOf returns a selector that is a value.
func selectorOf(m field.Map) (l LabelSelector) {
	labels, _ := dig(m, "matchLabels").(field.Map)
	l.MatchLabels = labels.KeyValues()
	expressions, _ := dig(m, "matchExpressions").(field.List)
	for _, e := range expressions {
		e, _ := e.(field.Map)
		x := Requirement{Key: textOf(dig(e, "key")), Operator: textOf(dig(e, "operator"))}
		values, _ := dig(e, "values").(field.List)
		for _, v := range values {
			x.Values = append(x.Values, strings.TrimSpace(textOf(v)))
		}
		l.MatchExpressions = append(l.MatchExpressions, x)
	}
	return l
}

// readBy returns whether the control plane that injects pods reads an object: one that has the label istio.io/rev
// is for this revision alone (LabelsInRevision in Istio's pkg/config/model.go). What the pods ask for may be a tag,
// unless a webhook tells.
func readBy(s *Surroundings, pods *Pods, o *Neighbour) certain.Certainty {
	label, isSet := o.Labels.Lookup(istioRev)
	if !isSet {
		return certain.Always
	}
	ns, known := s.Namespaced()
	a := asked{pods: pods, namespace: ns.Labels, known: known}
	chosen := s.injecting(&a, new(Stated)).revisions
	switch isOne := slices.Contains(chosen, revisionOf(label)); {
	case isOne && len(chosen) == 1:
		return certain.Always
	case chosen == nil, isOne, len(istioHooks.near(s)) == 0:
		return certain.Maybe
	}
	return certain.Never
}
