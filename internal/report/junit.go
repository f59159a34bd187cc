package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// The part of the JUnit report format that CI servers read: of a case they show one
// failure.
type (
	junitSuite struct {
		XMLName  xml.Name     `xml:"testsuite"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr,omitempty"`
		Cases    []*junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure"`
		Skipped *junitSkipped `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"` // warnings, a line each

		probe field.Path // that the case is about; nil if it is about an object, or the whole run
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
)

// writeJUnit writes a test suite with a case for each probe, and one for each object that
// has none or that a message is about as a whole. Errors, and in a strict run
// warnings, make a case fail. Other warnings are the output of a case. A probe that a folded message is about is skipped: it neither passes nor fails.
func (r *Report) writeJUnit(w io.Writer) error {
	suite := junitSuite{Name: "rewrite-probes"}
	cases := make(map[ObjectRef][]*junitCase)
	add := func(about ObjectRef, probe field.Path) *junitCase {
		c := &junitCase{Class: about.File, Name: cmp.Or(about.String(), "manifests"), probe: probe}
		if probe != nil {
			c.Name += ": " + probe.String()
		}
		cases[about] = append(cases[about], c)
		suite.Cases = append(suite.Cases, c)
		return c
	}
	for _, t := range r.Templates {
		if len(t.Probes) == 0 && cases[*t.Object] == nil {
			add(*t.Object, nil)
		}
		for _, p := range t.Probes {
			add(*t.Object, p.Field)
		}
	}
	for _, m := range r.Messages {
		if m.Severity == transformer.Info {
			continue
		}
		fails := r.fails(m)
		parts := m.folded()
		if !fails {
			parts = nil
		}
		for i := range parts {
			part := &parts[i]
			if c := caseOf(part, cases[part.about()]); c != nil && c.Failure == nil && c.Skipped == nil {
				c.Skipped = &junitSkipped{part.What()}
				suite.Skipped++
			}
		}
		at := caseOf(&m, cases[m.about()])
		if at == nil {
			at = add(m.about(), nil)
		}
		suite.Failures += at.add(&m, fails)
	}
	suite.Tests = len(suite.Cases)
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// add adds a message to a case, and returns how many failures the case has more.
func (c *junitCase) add(m *Message, fails bool) (failures int) {
	switch {
	case !fails:
		c.Out += m.String() + "\n"
	case c.Failure == nil:
		c.Failure = &junitFailure{m.Reason.String(), m.What(), m.String()}
		return 1
	default:
		c.Failure.Text += "\n" + m.String()
	}
	return 0
}

// referenceTo escapes a sign in XML and HTML.
func referenceTo(sign byte) string { return fmt.Sprintf("&#%d;", sign) }

// caseOf returns the case that a message is about: that of a probe, or else that of the object;
// nil if there is none.
func caseOf(m *Message, cases []*junitCase) (found *junitCase) {
	for _, c := range cases {
		if m.Field.HasPrefix(c.probe) && (found == nil || found.probe == nil) {
			found = c
		}
	}
	return found
}
