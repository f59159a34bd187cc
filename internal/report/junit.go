package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// The part of the JUnit report format that CI servers read: of a case they show one
// failure.
type (
	junitSuite struct {
		XMLName  xml.Name     `xml:"testsuite"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Cases    []*junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// A junitSubject is what a case is about: a probe or, without one, an object or the
// whole run.
type junitSubject struct {
	object Object
	probe  string // its path
}

// JUnit writes a test suite with a case for each probe, and one for each object that
// has none or that a message is about as a whole. Errors, and in a strict run
// warnings, make a case fail.
func (r *Report) JUnit(w io.Writer) error {
	suite := junitSuite{Name: "rewrite-probes"}
	cases := make(map[junitSubject]*junitCase)
	caseOf := func(about junitSubject) *junitCase {
		if cases[about] == nil {
			name := cmp.Or(about.object.String(), "manifests")
			if about.probe != "" {
				name += ": " + about.probe
			}
			cases[about] = &junitCase{Class: about.object.File, Name: name}
			suite.Cases = append(suite.Cases, cases[about])
		}
		return cases[about]
	}
	probes := make(map[Object][]field.Path)
	for _, t := range r.Templates {
		for _, p := range t.Probes {
			probes[*t.Object] = append(probes[*t.Object], p.Field)
			caseOf(junitSubject{*t.Object, p.Field.String()})
		}
	}
	for _, t := range r.Templates {
		if len(probes[*t.Object]) == 0 {
			caseOf(junitSubject{object: *t.Object})
		}
	}
	for _, m := range r.Messages {
		about := subjectOf(m, probes)
		if r.fails(m) {
			one := caseOf(about)
			if one.Failure == nil {
				one.Failure = &junitFailure{m.Reason, m.Words(), m.String()}
				suite.Failures++
			} else {
				one.Failure.Text += "\n" + m.String()
			}
		} else if m.Object != nil && len(probes[about.object]) == 0 {
			caseOf(about)
		}
	}
	suite.Tests = len(suite.Cases)
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

func subjectOf(m Message, probes map[Object][]field.Path) junitSubject {
	about := junitSubject{object: m.about()}
	for _, probe := range probes[about.object] {
		if m.Field.HasPrefix(probe) {
			about.probe = probe.String()
		}
	}
	return about
}
