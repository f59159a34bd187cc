package transformer

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// handler returns the fields of the original handler as they were written; nil
// if they are not known, or no longer mean what the env var says, which is in
// original. It completes original by what the env var has no room for.
func (r Record) handler(key string, original *pod.Handler) field.Map {
	form := field.As[field.Map](field.As[field.Map](r.Section(recordHandlers), key), original.Kind())
	port, _ := original.Endpoint()
	name := field.As[string](form, "port")
	if number, _ := form.Get("port"); name == "" && number != port.Value() || !original.Adopt(form) {
		return nil
	}
	if name != "" {
		*port = field.IntOrString{Str: name, IsString: true}
	}
	return form
}

// decodeEnv returns the originals in the env var of a container; nil if the container has no
// such env var.
func decodeEnv(c *pod.Container) (map[string]*prober.Prober, error) {
	at := c.EnvVars(prober.EnvName)
	if len(at) == 0 {
		return nil, nil
	}
	value := c.Env[at[len(at)-1]].Value // of several, the last one counts
	if value == nil {
		return nil, fmt.Errorf("%s must have its value here, not come from elsewhere", prober.EnvName)
	}
	return decodeOriginals(strings.ReplaceAll(*value, "$$", "$"))
}

// decodeOriginals returns the originals in a text; an entry that is wrong is an error.
func decodeOriginals(text string) (map[string]*prober.Prober, error) {
	originals, bad, err := prober.Decode(text)
	if len(bad) > 0 {
		err = bad[0]
	}
	return originals, err
}

// An originalsHolder is a container with an env var that carries the originals of rewritten
// probes.
type originalsHolder struct {
	at        pod.Ref
	container *pod.Container
	path      field.Path
	originals map[string]*prober.Prober
	claimed   []string // the keys of originals by which a probe was recognised
	listens   []int
	port      int  // where the probes that it answers go
	proxy     bool // Istio's, the only one that reads the env var
	ours      bool // we added the whole container, not only its env var
	raw       field.Map
}

// goes reports whether the originals in k are removed unless they are written anew: an
// env var that no probe refers to, outside of containers that we added, may be the
// user's, and stays.
func (k *originalsHolder) goes() bool { return k.ours || k.used() || k.proxy }

// used reports whether k carries the original of a probe.
func (k *originalsHolder) used() bool { return len(k.claimed) > 0 }

func (k *originalsHolder) answerer() answerer {
	if k.proxy {
		return answerer{AnsweredByIstioProxy, k.port}
	}
	return answerer{AnsweredByProbeProxy, k.port}
}

// answersOn reports whether rewritten probes are answered on a port, if k carries their originals.
func (k *originalsHolder) answersOn(port int) bool { return slices.Contains(k.listens, port) }

// name returns the name of the container for messages.
func (k *originalsHolder) name() string { return "container `" + k.container.Name + "`" }

// findHolders finds the containers that carry originals.
func (b *reader) findHolders() {
	var err error
	if b.record, err = ReadRecord(b.annotations()); err != nil {
		b.addUnreadable(b.metadata.Key("annotations", OriginalsAnnotation), "", fmt.Errorf("%s %w", OriginalsAnnotation, err))
	}
	for at, c := range b.in.Template.Spec.All() {
		originals, err := decodeEnv(c)
		switch {
		case err != nil:
			b.addUnreadable(b.containerPath(at).Key("env"), c.Name, err)
		case originals != nil:
			b.holders = append(b.holders, b.holderIn(at, c, originals))
		}
	}
}

// holderIn returns a container with originals in the env var as their holder.
func (b *reader) holderIn(at pod.Ref, c *pod.Container, originals map[string]*prober.Prober) *originalsHolder {
	path := b.containerPath(at)
	k := &originalsHolder{at: at, container: c, path: path, originals: originals, raw: b.sourceMap(path)}
	k.listens = []int{probeProxyPort(c)}
	if istioData.isProxy(c) { // the template may have been rewritten for another port
		k.proxy, k.listens = true, []int{istioStatusOr(b.annotations()), prober.StatusPort, b.opts.Port}
	}
	k.port = k.listens[0]
	k.ours = b.opts.isOurs(k, field.As[bool](field.Map(b.record), recordDeclared))
	return k
}

func (b *reader) addUnreadable(path field.Path, container string, err error) {
	b.report(containerFinding("env-unreadable", path, container, "%v; the originals of the rewritten probes cannot be known", err))
}

// recognise finds the original of a rewritten probe by its path, whatever its
// port: the port may have been edited by hand, or come from a configuration that
// has changed since. If several containers carry an original for the path, those
// that answer on the probe's port count; if their originals differ, that is an
// error.
func (b *reader) recognise(s *handlerSite) {
	if s.current.Kind() != pod.KindHTTPGet {
		return
	}
	port := int(s.current.HTTPGet.Port.Int) // 0 if it is a name
	onPort := slices.DeleteFunc(slices.Clone(b.holders), func(k *originalsHolder) bool { return !k.answersOn(port) })
	if !b.recogniseIn(onPort, s) && !b.recogniseIn(b.holders, s) {
		b.findMeshOriginal(s)
	}
}

// recogniseIn finds the original of a rewritten probe among those that holders carry, and
// reports whether there is one.
func (b *reader) recogniseIn(holders []*originalsHolder, s *handlerSite) bool {
	var holder *originalsHolder
	var key string
	var entry *prober.Prober
	for _, k := range holders {
		at, p := k.original(s, b.names)
		switch {
		case p == nil:
		case holder == nil:
			holder, key, entry = k, at, p
		case !reflect.DeepEqual(entry, p):
			b.report(containerFinding("originals-ambiguous", s.path, s.container.Name,
				"looks rewritten, and %s and %s carry different originals for its path; only one of them may", holder.name(), k.name()))
			return true
		}
	}
	if holder == nil {
		return false
	}
	h := s.current.HTTPGet
	s.original = pod.HandlerOf(entry, h)
	s.alreadyRewritten, s.holder, s.entry = true, holder, entry
	holder.claimed = append(holder.claimed, key)
	if port := int(h.Port.Int); holder.answersOn(port) {
		holder.port = port
	}
	s.form, s.texts = b.record.handler(key, s.original), field.As[field.Map](b.record.Section(RecordTexts), key).KeyValues()
	return true
}

// original returns the original of a rewritten probe that k carries, and its key; nil if there
// is none. A path belongs to the probe that it names. If it names a container that the pod does
// not have, it belongs to the probe that has the path: a renamed container keeps the paths of
// its old name.
func (k *originalsHolder) original(s *handlerSite, names []string) (key string, p *prober.Prober) {
	key = s.current.HTTPGet.Path
	if container, _, _ := prober.ParseKey(key); key != s.key && slices.Contains(names, container) {
		return "", nil
	}
	return key, k.originals[key]
}

// keepOriginals refuses the template if a probe seems to be rewritten, was not
// recognised, and a holder carries an original that may be the probe's: without
// the holder the only copy of the original would be lost.
func (b *reader) keepOriginals() {
	for _, s := range b.sites {
		if s.alreadyRewritten {
			continue
		}
		for _, k := range b.holders {
			if key, ok := b.candidate(k, s); ok {
				cure := "the probe must have that path, or its original back"
				if h := s.current.HTTPGet; h != nil && h.Path == key {
					cure = "the probe must have its original back" // it has that path
				}
				b.report(containerFinding("originals-ambiguous", s.path, s.container.Name,
					"looks rewritten, and %s carries the original of `%s`, which may be that of this probe or not; %s", k.name(), key, cure))
				break
			}
		}
	}
}

// seemsRewritten reports whether a probe that was not recognised looks rewritten, or
// goes to where rewritten probes are answered.
func (b *reader) seemsRewritten(s *handlerSite) bool {
	n := s.dialed()
	answers := func(k *originalsHolder) bool { return k.answersOn(n) }
	return s.isDangling() || n != 0 && slices.ContainsFunc(b.holders, answers)
}

// resembles reports whether a path may be a rewritten one with a mistake: the two
// have most of their beginning and end in common.
func resembles(path, rewritten string) bool {
	short := min(len(path), len(rewritten))
	begin := 0
	for begin < short && path[begin] == rewritten[begin] {
		begin++
	}
	end := 0
	for end < short-begin && path[len(path)-1-end] == rewritten[len(rewritten)-1-end] {
		end++
	}
	return 2*(begin+end) > len(rewritten)
}

// candidate returns the key of an original that may be that of a probe which was not
// recognised: one with the probe's path or nearly so, or, if the probe seems to be
// rewritten, one for the same container or probe type. One by which another probe was
// recognised, or that is back in its probe, is only that of a probe with its path.
func (b *reader) candidate(k *originalsHolder, s *handlerSite) (key string, ok bool) {
	path := ""
	if s.current.HTTPGet != nil {
		path = s.current.HTTPGet.Path
	}
	seems := b.seemsRewritten(s)
	if seems && k.originals[path] != nil {
		return path, true
	}
	return k.unclaimed(func(key string) bool {
		isBack := func(s *handlerSite) bool { return key == s.key && s.has(k.originals[key]) }
		container, of, _ := prober.ParseKey(key)
		return !slices.ContainsFunc(b.sites, isBack) && (seems && (of == s.name || container == s.container.Name) || resembles(path, key))
	})
}

// unclaimed returns the first key, in their order, of an original by which no probe was
// recognised and that fits.
func (k *originalsHolder) unclaimed(fits func(key string) bool) (key string, ok bool) {
	for _, key := range slices.Sorted(maps.Keys(k.originals)) {
		if !slices.Contains(k.claimed, key) && fits(key) {
			return key, true
		}
	}
	return "", false
}

// findMeshOriginal sets the original of a probe to the one that a mesh's own tool has left in
// the template.
func (b *reader) findMeshOriginal(s *handlerSite) {
	for _, find := range b.finders {
		original, found := find(b.template, s)
		if !found {
			continue
		}
		s.lost = original == nil
		if original != nil {
			s.original, s.alreadyRewritten, s.foreign = original, true, true
			if h := original.HTTPGet; h != nil && h.Port.IsString { // which the env var cannot carry
				s.form = field.Merge(s.form, field.Map{{Key: "port", Value: h.Port.Str}})
			} else {
				s.form = nil
			}
		}
		return
	}
}

// An answerer is the process that answers rewritten probes.
type answerer struct {
	who  string // one of the AnsweredBy constants but auto
	port int
}

// probeProxyPort returns the port on which a probe-proxy listens: that of its
// arguments, else the one where its startup probe goes.
func probeProxyPort(c *pod.Container) int {
	for i, arg := range c.Args {
		v, ok := strings.CutPrefix(arg, portFlag+"=")
		if arg == portFlag && i+1 < len(c.Args) {
			v, ok = c.Args[i+1], true
		}
		if n, err := strconv.Atoi(v); ok && err == nil {
			return n
		}
	}
	if p := c.StartupProbe; p != nil && p.HTTPGet != nil && p.HTTPGet.Port.Int > 0 { // 0 if it is a name
		return int(p.HTTPGet.Port.Int)
	}
	return prober.DefaultPort
}

// isOurs reports whether we added the container: a probe-proxy is known by its
// name or its startup probe, a mesh's proxy by having only what we declare for
// it, and what the API server fills in. declared is set if the template says that we
// declared the proxy: then its image and its resources may be any.
func (o *Options) isOurs(k *originalsHolder, declared bool) bool {
	if !k.proxy {
		c := k.container
		return c.Name == o.ProbeProxy.Name || c.Name == Defaults().ProbeProxy.Name ||
			c.StartupProbe != nil && c.StartupProbe.HTTPGet != nil && c.StartupProbe.HTTPGet.Path == prober.HealthPath
	}
	for _, e := range istioPlaceholder {
		if v, _ := k.raw.Get(e.Key); v != e.Value && !(declared && e.Key == "image") {
			return false
		}
	}
	return len(k.container.Env) == 1 && !slices.ContainsFunc(k.raw, func(e field.Entry) bool {
		_, placed := istioPlaceholder.Get(e.Key)
		return !placed && e.Key != "env" && !(e.Key == "securityContext" && isRestrictedContext(e.Value)) &&
			!(e.Key == "resources" && declared) && !isFilledIn(e, k.raw)
	})
}

// portFlag is the flag of probe-proxy for its port.
const portFlag = "--port"
