package transformer

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// An originalsHolder is what carries the originals of rewritten probes: a
// container with the env var of a dialect or, if container is nil, the
// annotations of the template.
type originalsHolder struct {
	dialect   *dialect
	at        containerRef
	container *Container
	path      field.Path
	originals map[string]*prober.Prober
	claimed   map[string]bool // the keys of originals by which a probe was recognised
	listens   []int
	port      int // where the probes that it answers go
	proxy     bool
	ours      bool // we added the whole container, not only its env var
	raw       field.Map
}

// used reports whether k carries the original of a probe.
func (k *originalsHolder) used() bool { return len(k.claimed) > 0 }

func (k *originalsHolder) answerer() answerer {
	if k.proxy {
		return answerer{k.dialect.proxyAnswerer(), k.port}
	}
	return answerer{AnsweredByProbeProxy, k.port}
}

// isOf reports whether k carries originals in the convention of a dialect.
func (k *originalsHolder) isOf(d *dialect) bool { return k.dialect.convention == d.convention }

// answersOn reports whether k is a container that answers on a port.
func (k *originalsHolder) answersOn(port field.IntOrString) bool {
	return k.container != nil && !port.IsString && slices.Contains(k.listens, int(port.Int))
}

// name returns the name of the container, or an annotation's, for messages.
func (k *originalsHolder) name() string {
	if k.container == nil {
		return "the annotations"
	}
	return "container `" + k.container.Name + "`"
}

// findHolders finds the containers and annotations that carry originals. A
// container may have the env vars of several dialects.
func (b *planBuilder) findHolders() {
	var err error
	if b.forms, err = readForms(b.annotations()); err != nil {
		b.addUnreadable(b.metadata.Key("annotations", ownOriginals), "", err)
	}
	eachContainer(&b.in.Template.Spec, func(at containerRef, c *Container) {
		for _, group := range b.p.conventions {
			originals, found, err := decodeEnv(c, group[0].format())
			if err != nil {
				b.addUnreadable(b.containerPath(at).Key("env"), c.Name, err)
			}
			if err != nil || !found {
				continue
			}
			path, d := b.containerPath(at), holderIn(group, c)
			k := &originalsHolder{
				dialect: d, at: at, container: c, path: path, originals: originals, claimed: make(map[string]bool),
				proxy: d.isProxy(c), listens: d.listens(b, c), raw: b.sourceMap(path),
			}
			k.port = k.listens[0]
			k.ours = b.p.isOurs(k, b.forms.declared)
			b.holders = append(b.holders, k)
		}
	})
	for _, d := range b.p.dialects {
		if d.companion == nil {
			continue
		}
		originals, err := d.companion.originalsIn(b.annotations())
		if err != nil {
			b.addUnreadable(b.metadata.Key("annotations"), "", err)
		}
		if originals != nil {
			b.annotationHolders = append(b.annotationHolders, &originalsHolder{dialect: d, originals: originals, claimed: make(map[string]bool)})
		}
	}
}

// addUnreadable adds the finding about originals that cannot be read.
func (b *planBuilder) addUnreadable(path field.Path, container string, err error) {
	b.addFinding(containerFinding("env-unreadable", path, container, "%v; the originals of the rewritten probes cannot be known", err))
}

// A match is an original that may be that of a rewritten probe.
type match struct {
	holder *originalsHolder
	key    string
	prober *prober.Prober
}

// recognise finds the original of a rewritten probe by its path, whatever its
// port: the port may have been edited by hand, or come from a configuration that
// has changed since. If several containers carry an original for the path, those
// that answer on the probe's port count; if their originals differ, that is an
// error.
func (b *planBuilder) recognise(s *handlerSite, names []string) {
	if kind, ok := s.current.kind(); !ok || kind != kindHTTPGet {
		return
	}
	h := s.current.HTTPGet
	matches := matchesIn(b.holders, s, names)
	if onPort := slices.DeleteFunc(slices.Clone(matches), func(m match) bool { return !m.holder.answersOn(h.Port) }); len(onPort) > 0 {
		matches = onPort
	}
	if len(matches) == 0 {
		matches = matchesIn(b.annotationHolders, s, names)
	}
	if len(matches) == 0 {
		b.adopt(s)
		return
	}
	m := matches[0]
	for _, other := range matches[1:] {
		if !reflect.DeepEqual(m.prober, other.prober) {
			b.addFinding(containerFinding("originals-ambiguous", s.path, s.container.Name,
				"looks rewritten, and %s and %s carry different originals for its path; only one of them may", m.holder.name(), other.holder.name()))
			return
		}
	}
	s.original = handlerOf(m.prober, m.holder.dialect.unrewritten(h))
	s.alreadyRewritten, s.foreign = true, !m.holder.isOf(b.p.dialect)
	container, _, _ := m.holder.dialect.format().ParseKey(m.key)
	key := prober.Key(cmp.Or(container, s.container.Name), s.name)
	s.form, s.texts = b.forms.handler(key, s.original), field.As[field.Map](b.forms.texts, key).KeyValues()
	if s.original.HTTPGet != nil {
		s.form = s.withEmptyHeaders(s.form)
	}
	m.holder.claimed[m.key] = true
	if m.holder.answersOn(h.Port) {
		m.holder.port = int(h.Port.Int)
	}
}

// matchesIn returns the originals that holders carry for the path of a probe. The
// container may be what is the proxy in another mesh.
func matchesIn(holders []*originalsHolder, s *handlerSite, names []string) []match {
	var matches []match
	for _, k := range holders {
		if key, p := k.dialect.original(k.originals, s, names); p != nil {
			matches = append(matches, match{k, key, p})
		}
	}
	return matches
}

// keepOriginals refuses the template if a probe looks rewritten, was not
// recognised, and a holder carries an original that may be the probe's: without
// the holder the only copy of the original would be lost.
func (b *planBuilder) keepOriginals() {
	for _, s := range b.sites {
		if !b.isDangling(s) {
			continue
		}
		for _, k := range slices.Concat(b.holders, b.annotationHolders) {
			if key, ok := k.candidate(s); ok {
				b.addFinding(containerFinding("originals-ambiguous", s.path, s.container.Name,
					"looks rewritten, and %s carries the original of `%s`, which may be that of this probe or not; the probe must have that path, or its original back", k.name(), key))
				break
			}
		}
	}
}

// candidate returns the key of an original that may be that of a probe which was
// not recognised: one with the probe's path, or one for the same probe type by
// which no other probe was recognised.
func (k *originalsHolder) candidate(s *handlerSite) (key string, ok bool) {
	path := text(s.current.HTTPGet.Path)
	if k.originals[path] != nil {
		return path, true
	}
	for _, key := range slices.Sorted(maps.Keys(k.originals)) {
		if _, of, _ := k.dialect.format().ParseKey(key); of == s.name && !k.claimed[key] {
			return key, true
		}
	}
	return "", false
}

// checkPaths refuses a template in which a probe that was not recognised has the
// path to which another probe is rewritten: the next run could not know to which
// of the two the original belongs.
func (b *planBuilder) checkPaths(toRewrite []*handlerSite) {
	for _, s := range b.sites {
		if !b.isDangling(s) || !b.p.dialect.byPath() {
			continue
		}
		i := slices.IndexFunc(toRewrite, func(c *handlerSite) bool { return text(c.target.HTTPGet.Path) == text(s.current.HTTPGet.Path) })
		if i >= 0 {
			b.addFinding(containerFinding("originals-ambiguous", s.path, s.container.Name,
				"looks rewritten, and has the path at which that of container %q is answered (`%s`); it must have its original back", toRewrite[i].container.Name, toRewrite[i].path))
		}
	}
}
