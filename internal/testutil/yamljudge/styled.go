package yamljudge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// Styled returns a document that has the value, written as chance will have it: in block and
// flow style, with anchors, aliases, merge keys, tags and comments wherever YAML has room for
// them. Each comment is there once.
func Styled(r *rand.Rand, v field.Map) []byte {
	s := &styler{Rand: r}
	s.comments(0)
	if s.one(8) {
		s.flow(v, 1)
		s.lineEnd()
	} else {
		s.blockMap(v, 0, false)
	}
	text := s.String()
	if s.one(8) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return []byte(text)
}

// Tangled returns a random mapping in which values come up again, so that [Styled] finds
// aliases and merge keys for it.
func Tangled(r *rand.Rand) field.Map {
	leaves := []field.Value{1, 8080, "http", "/healthz", true, nil, "a b", "x: y", "two\nlines\n", field.Map{}, field.List{}}
	var pool []field.Value
	random := func() field.Value {
		if len(pool) > 0 && r.IntN(3) == 0 {
			return pool[r.IntN(len(pool))]
		}
		return leaves[r.IntN(len(leaves))]
	}
	for range 2 + r.IntN(8) {
		m, l := field.Map{}, field.List{}
		for _, key := range []string{"a", "b", "c", "d.e/f"} {
			if r.IntN(2) == 0 {
				m = append(m, field.Entry{Key: key, Value: random()})
			}
			if r.IntN(4) == 0 {
				l = append(l, random())
			}
		}
		pool = append(pool, m, l)
	}
	all := field.Map{{Key: "apiVersion", Value: "v1"}, {Key: "kind", Value: "Thing"}}
	for i, v := range pool {
		all = append(all, field.Entry{Key: "k" + strconv.Itoa(i), Value: v})
	}
	return all
}

// A styler writes a value as text.
type styler struct {
	*rand.Rand
	strings.Builder
	anchored []anchored
	open     []string // the anchors whose value is being written
	named    int      // the number of new names so far
	noted    int      // the number of comments so far
}

// An anchored is a value that an alias may stand for.
type anchored struct {
	name  string
	value field.Value
}

// one reports, once in n times, true.
func (s *styler) one(n int) bool { return s.IntN(n) == 0 }

func (s *styler) indent(col int) { s.WriteString(strings.Repeat(" ", col)) }

func (s *styler) comment() string {
	s.noted++
	return "# note " + strconv.Itoa(s.noted) + "."
}

// comments writes blank lines and comments of their own lines.
func (s *styler) comments(col int) {
	for s.one(8) {
		if s.one(3) {
			s.WriteString("\n")
			continue
		}
		s.indent(col)
		s.WriteString(s.comment() + "\n")
	}
}

// lineEnd ends a line, with or without a comment.
func (s *styler) lineEnd() {
	if s.one(6) {
		s.WriteString(" " + s.comment())
	}
	s.WriteString("\n")
}

// alias writes an alias of the value, if there is one.
func (s *styler) alias(v field.Value) bool {
	for _, a := range s.anchored {
		if field.Same(a.value, v) && !s.one(3) {
			s.WriteString("*" + a.name)
			return true
		}
	}
	return false
}

// properties writes the anchor and the tag of a value. The function that it returns must be
// called behind the value: no alias of it may be within.
func (s *styler) properties(v field.Value) (then func()) {
	then = func() {}
	if name := s.name(); s.one(3) && !slices.Contains(s.open, name) {
		s.WriteString("&" + name + " ")
		s.open = append(s.open, name)
		s.anchored = slices.DeleteFunc(s.anchored, func(a anchored) bool { return a.name == name })
		then = func() {
			s.open = s.open[:len(s.open)-1]
			s.anchored = append(s.anchored, anchored{name, v})
		}
	}
	if tag := tagOf(v); tag != "" && s.one(10) {
		s.WriteString(tag + " ")
	}
	return then
}

// name returns the name of an anchor: a new one, or one of a few that come up again.
func (s *styler) name() string {
	if s.one(4) {
		return "again" + strconv.Itoa(s.IntN(3))
	}
	s.named++
	return "a" + strconv.Itoa(s.named)
}

func tagOf(v field.Value) string {
	switch v.(type) {
	case field.Map:
		return "!!map"
	case field.List:
		return "!!seq"
	case string:
		return "!!str"
	case bool:
		return "!!bool"
	}
	return ""
}

// A part of a mapping is an entry or, if merges is set, a merge key with its sources.
type part struct {
	field.Entry
	merges bool
}

// parts returns the entries of a mapping, of which merge keys may bring some.
func (s *styler) parts(m field.Map) []part {
	var own []part
	brought := map[string]bool{}
	var sources field.List
	for _, a := range s.anchored {
		from, isMap := a.value.(field.Map)
		isNew := !strings.HasPrefix(a.name, "again") // the own keys may have one of the others, and come first
		if isMap && isNew && len(from) > 0 && isWithin(from, m) && !s.one(3) {
			sources = append(sources, a)
			bring(brought, from, m)
		}
	}
	if len(m) > 1 && s.one(12) {
		inline := field.Map{m[s.IntN(len(m))]}
		sources = append(sources, inline)
		bring(brought, inline, m)
	}
	for _, e := range m {
		if !brought[e.Key] || s.one(4) {
			own = append(own, part{Entry: e})
		}
	}
	if len(sources) == 0 {
		return own
	}
	at := 0
	if s.one(3) {
		at = s.IntN(len(own) + 1)
	}
	return slices.Insert(own, at, part{field.Entry{Key: "<<", Value: sources}, true})
}

// isWithin reports whether a mapping has all keys of another.
func isWithin(from, m field.Map) bool {
	return !slices.ContainsFunc(from, func(e field.Entry) bool { _, has := m.Get(e.Key); return !has })
}

// bring notes what a source brings into a mapping that has its value already. A key with another value must be
// the mapping's own, and so must one that an earlier source brings another value for.
func bring(brought map[string]bool, from, m field.Map) {
	for _, e := range from {
		if _, known := brought[e.Key]; known {
			continue
		}
		v, _ := m.Get(e.Key)
		brought[e.Key] = field.Same(v, e.Value)
	}
}

// source writes a source of a merge key.
func (s *styler) source(v field.Value, col int) {
	if a, ok := v.(anchored); ok {
		s.WriteString("*" + a.name)
		return
	}
	s.flow(v, col)
}

// merge writes the value of a merge key.
func (s *styler) merge(sources field.List, col int) {
	if len(sources) == 1 && !s.one(4) {
		s.source(sources[0], col)
		return
	}
	s.WriteString("[")
	for i, source := range sources {
		if i > 0 {
			s.WriteString(", ")
		}
		s.source(source, col)
	}
	s.WriteString("]")
}

// blockMap writes a mapping whose keys are in a column. Its first key may be on a line that
// has begun.
func (s *styler) blockMap(m field.Map, col int, inline bool) {
	for _, p := range s.parts(m) {
		if !inline {
			s.comments(col)
			s.indent(col)
		}
		inline = false
		if p.merges {
			s.WriteString("<<: ")
			s.merge(p.Value.(field.List), col+1)
			s.lineEnd()
			continue
		}
		if s.one(80) {
			s.WriteString("? " + s.scalar(p.Key) + "\n")
			s.indent(col)
			s.WriteString(":")
		} else {
			s.WriteString(s.key(p.Key) + ":")
		}
		s.behindKey(p.Value, col)
	}
}

func (s *styler) key(key string) string {
	if s.one(100) {
		return "&key " + key
	}
	return s.scalar(key)
}

// behindKey writes the value of a key in a column, behind its colon.
func (s *styler) behindKey(v field.Value, col int) {
	if v == nil && s.one(2) {
		s.lineEnd()
		return
	}
	s.WriteString(" ")
	if s.alias(v) {
		s.lineEnd()
		return
	}
	defer s.properties(v)()
	list, isList := v.(field.List)
	m, isMap := v.(field.Map)
	switch {
	case isMap && len(m) > 0 && !s.one(3):
		s.lineEnd()
		s.blockMap(m, col+2, false)
	case isList && len(list) > 0 && !s.one(3):
		s.lineEnd()
		s.blockList(list, col+2*s.IntN(2))
	default:
		s.inline(v, col+1)
	}
}

// blockList writes a list whose dashes are in a column.
func (s *styler) blockList(l field.List, col int) {
	for _, v := range l {
		s.comments(col)
		s.indent(col)
		s.WriteString("- ")
		if s.alias(v) {
			s.lineEnd()
			continue
		}
		m, isMap := v.(field.Map)
		if isMap && len(m) > 0 && s.one(2) {
			s.blockMap(m, col+2, true)
			continue
		}
		then := s.properties(v)
		if isMap && len(m) > 0 && s.one(2) {
			s.lineEnd()
			s.blockMap(m, col+2, false)
		} else {
			s.inline(v, col+1)
		}
		then()
	}
}

// inline writes a value on its line, a block scalar with its lines in a column at least.
func (s *styler) inline(v field.Value, col int) {
	if text, isText := v.(string); isText && literal.MatchString(text) && !s.one(3) {
		s.WriteString("|" + []string{"-", ""}[strings.Count(text[len(text)-1:], "\n")])
		s.lineEnd()
		for line := range strings.Lines(text) {
			s.indent(col + 1)
			s.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
		return
	}
	s.flow(v, col)
	s.lineEnd()
}

// literal is a text that may be a block scalar.
var literal = regexp.MustCompile(`^[a-z][^\n]*\n([^\n]+\n)*([^\n]+)?$`)

// flow writes a value in flow style; lines that it begins have their text in a column at least.
func (s *styler) flow(v field.Value, col int) {
	switch v := v.(type) {
	case field.Map:
		s.WriteString("{")
		for i, p := range s.parts(v) {
			s.between(i, col)
			if p.merges {
				s.WriteString("<<: ")
				s.merge(p.Value.(field.List), col)
				continue
			}
			s.WriteString(s.key(p.Key) + ": ")
			if p.Value != nil || s.one(2) {
				s.flowValue(p.Value, col)
			}
		}
		s.closing("}", len(v), col)
	case field.List:
		s.WriteString("[")
		for i, item := range v {
			s.between(i, col)
			s.flowValue(item, col)
		}
		s.closing("]", len(v), col)
	default:
		s.WriteString(s.scalar(v))
	}
}

func (s *styler) flowValue(v field.Value, col int) {
	if s.alias(v) {
		return
	}
	then := s.properties(v)
	s.flow(v, col)
	then()
}

// between writes what is in front of an entry or item in flow style.
func (s *styler) between(i, col int) {
	if i > 0 {
		s.WriteString(",")
	}
	if s.one(12) {
		s.lineEnd()
		s.indent(col + s.IntN(3))
	} else if i > 0 || s.one(6) {
		s.WriteString(" ")
	}
}

func (s *styler) closing(bracket string, n, col int) {
	if n > 0 && s.one(12) {
		s.WriteString(" ,")
	}
	if s.one(12) {
		s.lineEnd()
		s.indent(col)
	} else {
		s.WriteString([]string{"", " "}[s.IntN(2)])
	}
	s.WriteString(bracket)
}

// plain is a string that needs no quotes, nowhere.
var plain = regexp.MustCompile(`^[A-Za-z/][A-Za-z/.-]*$`)

func (s *styler) scalar(v field.Value) string {
	switch v := v.(type) {
	case nil:
		return []string{"null", "~"}[s.IntN(2)]
	case int:
		switch s.IntN(24) {
		case 0:
			return fmt.Sprintf("%#x", v)
		case 1:
			return strconv.Itoa(v) + ".0"
		case 2:
			return strconv.Itoa(v) + "e0"
		}
		return strconv.Itoa(v)
	case string:
		switch {
		case plain.MatchString(v) && !slices.Contains([]string{"true", "false", "null", "y", "n", "on", "off"}, v) && !s.one(5):
			return v
		case s.one(2) && !strings.ContainsAny(v, "\n"):
			return "'" + strings.ReplaceAll(v, "'", "''") + "'"
		}
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}

// Sorted returns a value with the keys of all its mappings sorted, since merge keys change their order,
// and with whole numbers as integers.
func Sorted(v field.Value) field.Value {
	switch v := v.(type) {
	case field.Map:
		sorted := make(field.Map, len(v))
		for i, e := range v {
			sorted[i] = field.Entry{Key: e.Key, Value: Sorted(e.Value)}
		}
		slices.SortFunc(sorted, func(a, b field.Entry) int { return strings.Compare(a.Key, b.Key) })
		return sorted
	case field.List:
		sorted := make(field.List, len(v))
		for i, item := range v {
			sorted[i] = Sorted(item)
		}
		return sorted
	case float64:
		if v == math.Trunc(v) {
			return int(v)
		}
	}
	return v
}

// Pod returns a random Pod, whose probes are much alike.
func Pod(r *rand.Rand) field.Map {
	var handlers, probes []field.Value
	ports := field.List{field.Map{{Key: "name", Value: "http"}, {Key: "containerPort", Value: 8080}}}
	for _, path := range []string{"/healthz", "/ready", ""} {
		get := field.AppendSet(nil, "path", path)
		handlers = append(handlers, append(get, field.Entry{Key: "port", Value: []field.Value{8080, "http"}[r.IntN(2)]}))
	}
	for range 3 {
		get := field.Entry{Key: "httpGet", Value: handlers[r.IntN(len(handlers))]}
		socket := field.Entry{Key: "tcpSocket", Value: field.Map{{Key: "port", Value: "http"}}}
		grpc := field.Entry{Key: "grpc", Value: field.Map{{Key: "port", Value: 9090}, {Key: "service", Value: "shop.Health"}}}
		probe := field.Map{[]field.Entry{get, get, get, socket, grpc}[r.IntN(5)]}
		for _, key := range []string{"periodSeconds", "failureThreshold"} {
			if r.IntN(2) == 0 {
				probe = append(probe, field.Entry{Key: key, Value: 1 + r.IntN(3)})
			}
		}
		probes = append(probes, probe)
	}
	var containers field.List
	for i := range 1 + r.IntN(3) {
		c := field.Map{{Key: "name", Value: "c" + string(rune('a'+i))}, {Key: "image", Value: "shop/web"}, {Key: "ports", Value: ports}}
		for _, key := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
			if r.IntN(3) > 0 {
				c = append(c, field.Entry{Key: key, Value: probes[r.IntN(len(probes))]})
			}
		}
		containers = append(containers, c)
	}
	pod := field.Map{{Key: "apiVersion", Value: "v1"}, {Key: "kind", Value: "Pod"}}
	labels := field.Map{{Key: "app", Value: "web"}}
	meta := field.Map{{Key: "name", Value: "web"}, {Key: "labels", Value: labels}}
	if r.IntN(2) == 0 {
		meta = append(meta, field.Entry{Key: "annotations", Value: labels})
	}
	return append(pod, field.Entry{Key: "metadata", Value: meta}, field.Entry{Key: "spec", Value: field.Map{{Key: "containers", Value: containers}}})
}
