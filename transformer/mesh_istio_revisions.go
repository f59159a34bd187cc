package transformer

import (
	"cmp"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
	"github.com/rewrite-probes/rewrite-probes/internal/world"
)

// defaultRevision is the name of the revision without a name, and of the tag that `istio-injection: enabled` stands for.
const defaultRevision = "default"

// revisionOf returns the revision that a tag means by the options, or else the one with its name.
func (i *Istio) revisionOf(tag string) string {
	tag = cmp.Or(tag, defaultRevision)
	for _, t := range i.Tags {
		if t.Name == tag {
			return t.Revision
		}
	}
	return tag
}

// declaredRevision returns what the options declare about the revision that injects the pod, by the labels that Istio's
// webhooks select (see sidecarMembership); nil if they say nothing of it. It is presumed if a Namespace that is not in the
// input may choose another one.
func declaredRevision(v *view) (r *IstioRevision, presumed bool) {
	o := &v.opts.Istio
	if len(o.Revisions) == 0 || v.in.Around.NamespacesDisagree() {
		return nil, false
	}
	ns, known := v.namespace()
	labels := v.labels()
	tag := ""
	switch _, inject := istioInjectSwitch(v); {
	case ns.Labels.Get(istioInjection) != "":
		tag = defaultRevision
	case ns.Labels.Get(istioRevision) != "":
		tag = ns.Labels.Get(istioRevision)
	case labels.Get(istioRevision) != "":
		tag = labels.Get(istioRevision)
	case inject == "true":
		tag = defaultRevision
	default:
		return nil, false
	}
	name := o.revisionOf(tag)
	i := slices.IndexFunc(o.Revisions, func(r IstioRevision) bool { return r.Name == name })
	if i < 0 {
		return nil, false
	}
	return &o.Revisions[i], !known
}

// sureRevision returns the declared revision, if nothing that is not in the input may choose another one; else nil.
func sureRevision(v *view) *IstioRevision {
	if r, presumed := declaredRevision(v); !presumed {
		return r
	}
	return nil
}

// The functions below declare a fact about a revision, which may be nil, if nothing before has said it.

func (r *IstioRevision) at() string {
	return "`istio.revisions` (" + r.Name + ")"
}

func (r *IstioRevision) declareRewriting(f *world.Fact) {
	if r != nil && f.Is == certain.Maybe {
		f.Declare(r.InjectorRewrites, r.at())
	}
}

func (r *IstioRevision) declareNative(f *world.Facts) {
	if r != nil && f.Native.Is == certain.Maybe {
		f.Native.Declare(r.NativeSidecars, r.at())
	}
}

func (r *IstioRevision) declareHold(f *world.Facts) {
	if r != nil && r.HoldApplication && (f.Holds.Is == certain.Maybe || f.Holds.Presumed) {
		f.Holds = world.Fact{Is: certain.Always, At: r.at()}
	}
}
