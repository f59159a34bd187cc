package transformer

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// handler returns the fields of the original handler as they were written; nil
// if they are not known, or no longer mean what the env var says, which is in
// original. It completes original by what the env var has no room for.
func (r Record) handler(key string, original *pod.Handler) field.Map {
	noted := field.As[field.Map](r.Section(recordHandlers), key)
	form := field.As[field.Map](noted, original.Kind())
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
func decodeEnv(c *pod.Container) (map[string]*prober.Original, error) {
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
func decodeOriginals(text string) (map[string]*prober.Original, error) {
	originals, bad, err := prober.Decode(text)
	if len(bad) > 0 {
		err = bad[0]
	}
	return originals, err
}

// A holder is a container with an env var that carries the originals of rewritten
// probes, or the annotation that carries those of probes that the user's Envoy answers.
type holder struct {
	at        pod.Ref
	container *pod.Container // nil of the annotation
	path      field.Path
	originals map[string]*prober.Original
	claimed   map[string]bool              // the keys of originals by which a probe was recognised
	routes    map[string][]prober.OSMRoute // of the originals; nil if it answers no requests in Open Service Mesh's form
	listens   []int                        // where it answers other requests
	port      int                          // where the probes that it answers go
	reached   bool                         // a probe that it answers goes to where it listens
	proxy     bool                         // Istio's, the only one that reads the env var
	ours      bool                         // we added the whole container, not only its env var
	raw       field.Map
}

func (h *holder) claim(key string) {
	if h.claimed == nil {
		h.claimed = make(map[string]bool)
	}
	h.claimed[key] = true
}

// isRemovable reports whether the originals in h may be removed if they are not written anew: an
// env var that no probe refers to, outside of containers that we added, may be the
// user's, and stays.
func (h *holder) isRemovable() bool {
	return h.ours ||
		h.used() ||
		h.proxy ||
		h.isAnnotation()
}

func (h *holder) isAnnotation() bool { return h.container == nil }

// used reports whether h carries the original of a probe.
func (h *holder) used() bool {
	return len(h.claimed) > 0
}

func (h *holder) answerer() answerer {
	switch {
	case h.isAnnotation():
		return answerer{who: AnsweredByEnvoy}
	case h.proxy:
		return answerer{AnsweredByIstioProxy, h.port}
	}
	return answerer{AnsweredByProbeProxy, h.port}
}

// answersOn reports whether rewritten probes are answered on a port, if h carries their originals.
func (h *holder) answersOn(port int) bool {
	return slices.Contains(h.listens, port) ||
		h.routes != nil && slices.Contains(prober.OSMPorts(), port)
}

// name returns the name of the holder for messages.
func (h *holder) name() string {
	if h.isAnnotation() {
		return "annotation `" + OriginalsAnnotation + "`"
	}
	return "container `" + h.container.Name + "`"
}

// findHolders finds what carries originals.
func (r *reader) findHolders() {
	var err error
	if r.record, err = ReadRecord(r.annotations()); err == nil {
		err = r.findRecorded()
	}
	if err != nil {
		r.addUnreadable(
			r.metadata.Key("annotations", OriginalsAnnotation),
			"",
			fmt.Errorf("%s %w", OriginalsAnnotation, err),
		)
	}
	for at, c := range r.in.Template.Spec.All() {
		originals, err := decodeEnv(c)
		switch {
		case err != nil:
			r.addUnreadable(r.containerPath(at).Key("env"), c.Name, err)
		case originals != nil:
			r.holders = append(r.holders, r.holderIn(at, c, originals))
		}
	}
}

// findRecorded finds the originals of what an Envoy answers, which are in the annotation.
func (r *reader) findRecorded() error {
	recorded, has := field.Map(r.record).Get(recordEnvoy)
	if !has {
		return nil
	}
	originals, err := decodeOriginals(string(field.AppendJSON(nil, recorded)))
	if err != nil {
		return fmt.Errorf("has an unreadable entry %q: %w", recordEnvoy, err)
	}
	h := &holder{path: r.metadata.Key("annotations", OriginalsAnnotation), originals: originals}
	h.routes = prober.OSMRoutes(originals)
	r.holders = append(r.holders, h)
	return nil
}

// holderIn returns a container with originals in the env var as their holder.
func (r *reader) holderIn(at pod.Ref, c *pod.Container, originals map[string]*prober.Original) *holder {
	path := r.containerPath(at)
	h := &holder{
		at:        at,
		container: c,
		path:      path,
		originals: originals,
		raw:       r.sourceMap(path),
	}
	h.listens = []int{probeProxyPort(c)}
	if answersOSM(c) {
		h.routes = prober.OSMRoutes(originals)
	}
	if istioData.isProxy(c) { // the template may have been rewritten for another port
		h.proxy = true
		h.listens = []int{istioStatusOr(r.annotations()), prober.StatusPort, r.opts.Port}
	}
	h.port = h.listens[0]
	if h.proxy {
		h.ours = len(originals) > 0 && len(c.Env) == 1 && isDeclared(h.raw, r.record)
	} else {
		h.ours = r.opts.ProbeProxy.isProbeProxy(c)
	}
	return h
}

func (r *reader) addUnreadable(path field.Path, container string, err error) {
	r.report(containerFinding(reason.EnvUnreadable, path, container, "the original probes are unknown: %v", err))
}

// recognise finds the original of a rewritten probe by its path alone: its port may have been
// edited since, which [reader.adoptEdits] looks at, or come from a configuration that has changed. If several containers carry an original for the path, those
// that answer on the probe's port count; if their originals differ, that is an
// error.
func (r *reader) recognise(s *site) {
	if s.current.Kind() != pod.KindHTTPGet {
		return
	}
	port := int(s.current.HTTPGet.Port.Int) // 0 if it is a name
	onPort := slices.DeleteFunc(
		slices.Clone(r.holders),
		func(h *holder) bool { return !h.answersOn(port) },
	)
	if !r.recogniseIn(onPort, s) && !r.recogniseIn(r.holders, s) {
		s.byEnvoy = r.isByEnvoy(s)
		r.findMeshOriginal(s)
	}
}

// recogniseIn finds the original of a rewritten probe among those that holders carry, and
// reports whether there is one.
func (r *reader) recogniseIn(holders []*holder, s *site) bool {
	var holder *holder
	var key string
	var entry *prober.Original
	for _, h := range holders {
		at, p := h.original(s, r.names)
		switch {
		case p == nil:
		case holder == nil:
			holder = h
			key = at
			entry = p
		case !reflect.DeepEqual(entry, p):
			r.report(containerFinding(reason.OriginalsAmbiguous, s.path, s.container.Name,
				"it looks rewritten, but %s and %s store different originals for its path", holder.name(), h.name()).
				Fix("Delete one of the two"))
			return true
		}
	}
	if holder == nil {
		return false
	}
	get := s.current.HTTPGet
	s.original = pod.HandlerOf(entry, get)
	s.alreadyRewritten, s.holder, s.entry = true, holder, entry
	_, s.inForm = prober.OSMRouteOf(get)
	holder.claim(key)
	if port := int(get.Port.Int); slices.Contains(holder.listens, port) {
		holder.port, holder.reached = port, true
	}
	s.form = r.record.handler(key, s.original)
	s.texts = field.As[field.Map](r.record.Section(RecordTexts), key).KeyValues()
	return true
}

// adoptEdits puts into the original of a rewritten probe the port and the scheme that somebody has given
// the probe since, such as a setter or an overlay: they are about the app.
func (r *reader) adoptEdits(s *site) {
	if s.holder == nil {
		return
	}
	get := s.current.HTTPGet
	if r.isEditedPort(s) {
		port, _ := s.original.Endpoint()
		before := *port
		*port = get.Port
		s.noteEdit("port", get.Port.Value())
		r.report(containerFinding(reason.ProbeEdited, s.path.Key(pod.KindHTTPGet, "port"), s.container.Name,
			"its port %s becomes the app's port, which was %s", get.Port, before).
			Why("Rewritten probes ask port %d, so somebody changed it", s.holder.port))
	}
	if o := s.entry.HTTPGet; o != nil && get.Scheme == "HTTPS" && o.Scheme != "HTTPS" && !s.inForm {
		s.noteEdit("scheme", get.Scheme) // the original has it already: see [pod.HandlerOf]
		r.report(containerFinding(reason.ProbeEdited, s.path.Key(pod.KindHTTPGet, "scheme"), s.container.Name,
			"its scheme HTTPS becomes the app's scheme").
			Why("Rewritten probes are plain HTTP, so somebody changed it"))
	}
}

// noteEdit has restore write a field as it is now.
func (s *site) noteEdit(key string, v field.Value) {
	if s.form == nil {
		s.form = field.Merge(s.original.Value(), field.Map{{Key: pod.HeadersField}}) // without headers
	}
	s.form = field.Merge(s.form, field.Map{{Key: key, Value: v}})
	s.texts = s.texts.Without(key)
}

// isEditedPort reports whether the port of a rewritten probe is somebody's edit: it is neither that
// of its original nor one where rewritten probes are answered. Istio's proxy may have answered on a
// port that is no longer known, to which all its probes then go, and which no container declares.
func (r *reader) isEditedPort(s *site) bool {
	port := s.current.HTTPGet.Port
	now, _ := s.original.Endpoint()
	noted, _ := pod.HandlerOf(s.entry, &pod.HTTPGet{}).Endpoint()
	if port == *now ||
		port == *noted ||
		port == (field.IntOrString{}) {
		return false
	}
	if port.IsString {
		return true
	}
	n := int(port.Int)
	isAnswered := func(h *holder) bool { return h.answersOn(n) }
	ports := []int{r.opts.Port, prober.DefaultPort, prober.StatusPort, istioStatusOr(r.annotations())}
	if slices.Contains(ports, n) || slices.ContainsFunc(r.holders, isAnswered) {
		return false
	}
	return !s.holder.proxy ||
		s.holder.reached ||
		s.container.Declares(n)
}

// original returns the original of a rewritten probe that h carries, and its key; nil if there
// is none. A path belongs to the probe that it names. If it names a container that the pod does
// not have, it belongs to the probe that has the path: a renamed container keeps the paths of
// its old name.
func (h *holder) original(s *site, names []string) (key string, p *prober.Original) {
	if route, inForm := prober.OSMRouteOf(s.current.HTTPGet); inForm {
		return h.osmOriginal(s, route, names)
	}
	key = s.current.HTTPGet.Path
	if container, _, _ := prober.ParseKey(key); key != s.key && slices.Contains(names, container) {
		return "", nil
	}
	return key, h.originals[key]
}

// keepOriginals refuses the template if a probe seems to be rewritten, was not
// recognised, and a holder carries an original that may be the probe's: without
// the holder the only copy of the original would be lost.
func (r *reader) keepOriginals() {
	if len(r.holders) == 0 {
		return
	}
	left := make(map[*holder][]string)
	for _, h := range r.holders {
		left[h] = r.left(h)
	}
	for _, s := range r.sites {
		if s.alreadyRewritten {
			continue
		}
		for _, h := range r.holders {
			if key, ok := r.candidate(h, s, left[h]); ok {
				fix := "Write that path, or the original probe"
				if get := s.current.HTTPGet; get != nil && get.Path == key {
					fix = "Write the original probe" // it has that path
				}
				r.report(containerFinding(reason.OriginalsAmbiguous, s.path, s.container.Name,
					"it looks rewritten, but its original is uncertain").
					Why("%s has an original for `%s`, perhaps of this probe", reason.Capital(h.name()), key).
					Fix("%s", fix))
				break
			}
		}
	}
}

// seemsRewritten reports whether a probe that was not recognised looks rewritten, or
// goes to where rewritten probes are answered.
func (r *reader) seemsRewritten(s *site) bool {
	n := s.dialed()
	answers := func(h *holder) bool { return h.answersOn(n) }
	return s.isDangling() || n != 0 && slices.ContainsFunc(r.holders, answers)
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
	for end < short-begin &&
		path[len(path)-1-end] == rewritten[len(rewritten)-1-end] {
		end++
	}
	return 2*(begin+end) > len(rewritten)
}

// left returns the keys, in their order, of the originals by which no probe was recognised, and that are
// not back in their probes.
func (r *reader) left(h *holder) []string {
	isBack := make(map[string]bool)
	for _, s := range r.sites {
		if original := h.originals[s.key]; original != nil && s.has(original) {
			isBack[s.key] = true
		}
	}
	var keys []string
	for key := range h.originals {
		if !h.claimed[key] && !isBack[key] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// candidate returns the key of an original that may be that of a probe which was not
// recognised: one with the probe's path or nearly so, or, if the probe seems to be
// rewritten, one for the same container or probe type. One that is not left
// is only that of a probe with its path.
func (r *reader) candidate(h *holder, s *site, left []string) (key string, ok bool) {
	path := ""
	if s.current.HTTPGet != nil {
		path = s.current.HTTPGet.Path
	}
	seems := r.seemsRewritten(s)
	if seems && h.originals[path] != nil {
		return path, true
	}
	for _, key := range left {
		container, of, _ := prober.ParseKey(key)
		isAlike := seems && (of == s.name || container == s.container.Name)
		if isAlike || resembles(path, key) {
			return key, true
		}
	}
	return "", false
}

// findMeshOriginal sets the original of a probe to the one that a mesh's own tool has left in
// the template.
func (r *reader) findMeshOriginal(s *site) {
	for _, find := range r.finders {
		original, found := find(r.template, s)
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
