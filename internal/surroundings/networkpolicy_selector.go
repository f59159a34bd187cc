package surroundings

import (
	"slices"
	"strings"
	"unicode"

	"github.com/rewrite-probes/rewrite-probes/internal/certain"
)

// calicoSelects returns whether a selector of Calico's selects what has the labels that look returns; Maybe if it is
// not understood. Its language is that of libcalico-go/lib/selector.
func calicoSelects(text string, look func(string) (string, certain.Certainty)) certain.Certainty {
	e := calicoExpression{rest: text, look: look, failed: len(text) > 1<<16} // each parenthesis needs some of the stack
	if e.skip(); e.rest == "" {
		return certain.Always
	}
	if e.failed {
		return certain.Maybe
	}
	is := e.any()
	if e.skip(); e.failed || e.rest != "" {
		return certain.Maybe
	}
	return is
}

// A calicoExpression is what is left to read of a selector.
type calicoExpression struct {
	rest   string
	look   func(string) (string, certain.Certainty)
	failed bool
}

func (e *calicoExpression) skip() { e.rest = strings.TrimLeft(e.rest, " \t\n\r") }

// take reports whether a token comes next, and reads it.
func (e *calicoExpression) take(token string) bool {
	e.skip()
	rest, found := strings.CutPrefix(e.rest, token)
	if found {
		e.rest = rest
	}
	return found
}

func (e *calicoExpression) must(token string) {
	if !e.take(token) {
		e.failed = true
	}
}

// any reads alternatives.
func (e *calicoExpression) any() certain.Certainty {
	is := e.all()
	for !e.failed && e.take("||") {
		is = max(is, e.all())
	}
	return is
}

func (e *calicoExpression) all() certain.Certainty {
	is := e.one()
	for !e.failed && e.take("&&") {
		is = min(is, e.one())
	}
	return is
}

func (e *calicoExpression) one() certain.Certainty {
	switch {
	case e.take("!"):
		return -e.one()
	case e.take("("):
		is := e.any()
		e.must(")")
		return is
	case e.take("all()"):
		return certain.Always
	case e.take("global()"): // what has no namespace
		return certain.Never
	case e.take("has("):
		_, set := e.look(e.key())
		e.must(")")
		return set
	}
	return e.comparison(e.key())
}

// key reads the name of a label.
func (e *calicoExpression) key() string {
	e.skip()
	isOther := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./-", r)
	}
	end := strings.IndexFunc(e.rest, isOther)
	if end < 0 {
		end = len(e.rest)
	}
	key := e.rest[:end]
	e.rest = e.rest[end:]
	e.failed = e.failed || key == ""
	return key
}

// comparison reads what must hold of the value of a label. What it must not be holds without it too.
func (e *calicoExpression) comparison(key string) certain.Certainty {
	value, set := e.look(key)
	holds := func(is bool) certain.Certainty {
		if set == certain.Maybe {
			return certain.Maybe
		}
		return min(set, certain.Of(is))
	}
	switch {
	case e.take("=="):
		return holds(value == e.text())
	case e.take("!="):
		return -holds(value == e.text())
	case e.take("not in "), e.take("not in{"):
		return -holds(slices.Contains(e.texts(), value))
	case e.take("in "), e.take("in{"):
		return holds(slices.Contains(e.texts(), value))
	case e.take("contains"):
		return holds(strings.Contains(value, e.text()))
	case e.take("starts with"):
		return holds(strings.HasPrefix(value, e.text()))
	case e.take("ends with"):
		return holds(strings.HasSuffix(value, e.text()))
	}
	e.failed = true
	return certain.Maybe
}

// texts reads a set of texts, whose brace may have been read.
func (e *calicoExpression) texts() (all []string) {
	e.take("{")
	for !e.failed && !e.take("}") {
		all = append(all, e.text())
		if !e.take(",") {
			e.must("}")
			break
		}
	}
	return all
}

// text reads a text in quotes.
func (e *calicoExpression) text() string {
	for _, quote := range []string{`"`, `'`} {
		if !e.take(quote) {
			continue
		}
		text, rest, ended := strings.Cut(e.rest, quote)
		e.rest = rest
		e.failed = e.failed || !ended
		return text
	}
	e.failed = true
	return ""
}
