package transformer

import (
	"maps"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// The entries of [recordInjected].
const (
	injectedEnv  = "env"  // the value of the env var, as the injector wrote it
	injectedPort = "port" // where the injector's probes go
	injectedGone = "gone" // probes in the env var that somebody has replaced since
)

// injected returns what Istio's injector had rewritten before we did: now, or as an earlier run noted it. It is
// nil if that is nothing.
func (t *template) injected() field.Map {
	if noted := t.record.Section(recordInjected); noted != nil {
		return noted
	}
	if !t.isInjectorsWork() {
		return nil
	}
	h := t.holders[0]
	at := h.container.EnvVars(prober.EnvName)
	env := pod.Deref(h.container.Env[at[len(at)-1]].Value)
	m := field.Map{{Key: injectedEnv, Value: env}, {Key: injectedPort, Value: h.port}}
	var gone field.List
	for _, key := range slices.Sorted(maps.Keys(h.originals)) {
		isThere := func(s *site) bool { return s.key == key && s.alreadyRewritten }
		if !slices.ContainsFunc(t.sites, isThere) {
			gone = append(gone, key)
		}
	}
	if len(gone) > 0 {
		m = append(m, field.Entry{Key: injectedGone, Value: gone})
	}
	return m
}

// keepInjected keeps what the injector rewrote, if it is not rewritten anew: we undo what we did, and beside Istio's
// container the originals would fail.
func (d *decision) keepInjected() {
	m := d.injected()
	if m == nil || len(d.toRewrite) > 0 && !d.isAnsweredBy(AnsweredByIstioProxy) {
		return
	}
	port := field.As[int](m, injectedPort)
	originals := injectedOriginals(m)
	for i := range d.rulings {
		r := &d.rulings[i]
		if originals[r.key] == nil || !r.alreadyRewritten || r.target != nil {
			continue
		}
		if r.reason == reason.None {
			d.leave(r, leftToInjector(r.site))
		}
		r.stays = true
		d.staying = append(d.staying, r.site)
		if h := r.current.HTTPGet; h.Path != r.key || h.Port != field.Number(port) { // probe-proxy has answered since
			r.target = &pod.Handler{HTTPGet: r.rewritten(port)}
		}
	}
}

// leftToInjector is the reason to leave a probe as the injector rewrote it.
func leftToInjector(s *site) leave {
	return skip(s, reason.NotRewritten, s.path, "not restored: Istio's injector rewrote it, whose container stays").
		why("Under mTLS the original would fail").
		fix("Use the manifest from before the injection, since istioctl cannot undo it")
}

func injectedOriginals(m field.Map) map[string]*prober.Original {
	originals, _, _ := prober.Decode(strings.ReplaceAll(field.As[string](m, injectedEnv), "$$", "$"))
	for _, key := range field.As[field.List](m, injectedGone) {
		if key, ok := key.(string); ok {
			delete(originals, key)
		}
	}
	return originals
}
