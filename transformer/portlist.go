package transformer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// A portList is an annotation that lists ports which a mesh does not capture,
// joined by commas.
type portList struct {
	key    string
	ranges bool // an item may be a range: 4000-4999
	full   bool // no item may be empty
}

func (l portList) with(annotations field.Noted, port int) field.Noted {
	if l.has(annotations, port) {
		return annotations
	}
	v := annotations.Get(l.key)
	if t := strings.TrimSpace(v); t != "" && !strings.HasSuffix(t, ",") {
		v += ","
	} else if t == "" {
		v = ""
	}
	return annotations.With(l.key, v+strconv.Itoa(port))
}

// without undoes with, for ports that were added in this order. If recorded has the value that
// with changed, that comes back.
func (l portList) without(annotations field.Noted, recorded field.KeyValues, ports ...int) field.Noted {
	v, set := annotations.Lookup(l.key)
	if !set {
		return annotations
	}
	if user, set := recorded.Lookup(l.key); set {
		written := recorded.Note(nil)
		for _, port := range ports {
			written = l.with(written, port)
		}
		if written.Get(l.key) == v {
			return annotations.With(l.key, user)
		}
	}
	items := slices.DeleteFunc(strings.Split(v, ","), func(item string) bool {
		return slices.ContainsFunc(
			ports,
			func(port int) bool {
				return strings.TrimSpace(item) == strconv.Itoa(port)
			},
		)
	})
	if len(items) == 0 {
		return annotations.Without(l.key)
	}
	return annotations.With(l.key, strings.Join(items, ","))
}

func (l portList) has(annotations field.Noted, port int) bool {
	list := annotations.Get(l.key)
	if list == "" {
		return false // nearly always
	}
	for item := range strings.SplitSeq(list, ",") {
		if low, high, ok := l.item(item); ok && low <= port && port <= high {
			return true
		}
	}
	return false
}

// badItem returns the first item that is no port; ok is false if there is none.
func (l portList) badItem(annotations field.Noted) (item string, ok bool) {
	for item := range strings.SplitSeq(annotations.Get(l.key), ",") {
		if _, _, ok := l.item(item); !ok && (l.full || strings.TrimSpace(item) != "") {
			return item, true
		}
	}
	return "", false
}

// item returns the range of ports that an item of the list is; ok is false if it is
// none.
func (l portList) item(text string) (low, high int, ok bool) {
	from, to, isRange := strings.Cut(strings.TrimSpace(text), "-")
	if from == "" {
		return 0, 0, false
	}
	if !isRange {
		to = from
	}
	low, err := strconv.Atoi(from)
	high, err2 := strconv.Atoi(to)
	ok = err == nil &&
		err2 == nil &&
		0 < low &&
		low <= high &&
		high <= 65535 &&
		(l.ranges || !isRange)
	return low, high, ok
}

func (l portList) allowed() string {
	if l.ranges {
		return "must be ports, or ranges such as 4000-4999, joined by commas"
	}
	return "must be ports joined by commas"
}

// portIn returns the port that a text is; ok is false if it is none.
func portIn(text string) (port field.IntOrString, ok bool) {
	if text == "" { // of most headers and annotations; an error of strconv takes memory
		return port, false
	}
	n, err := strconv.Atoi(text)
	return field.Number(n), err == nil && n > 0 && n <= 65535
}
