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

// junitCases makes the cases of a suite.
type junitCases struct {
	suite  junitSuite
	of     map[junitSubject]*junitCase
	probes map[Object][]field.Path // of an object
}

// JUnit writes a test suite with a case for each probe, and one for each object that
// has none or that a message is about as a whole. Errors, and in a strict run
// warnings, make a case fail.
func (r *Report) JUnit(w io.Writer) error {
	cases := junitCases{suite: junitSuite{Name: "rewrite-probes"}, of: make(map[junitSubject]*junitCase), probes: make(map[Object][]field.Path)}
	for _, t := range r.Templates {
		for _, p := range t.Probes {
			cases.probes[*t.Object] = append(cases.probes[*t.Object], p.Field)
			cases.add(junitSubject{*t.Object, p.Field.String()})
		}
	}
	for _, t := range r.Templates {
		if len(cases.probes[*t.Object]) == 0 {
			cases.add(junitSubject{object: *t.Object})
		}
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		about := cases.subject(m)
		switch {
		case r.fails(*m):
			cases.fail(about, m)
		case m.Object != nil && len(cases.probes[about.object]) == 0:
			cases.add(about)
		}
	}
	text, err := xml.MarshalIndent(cases.suite, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

func (c *junitCases) subject(m *Message) junitSubject {
	about := junitSubject{}
	if m.Object != nil {
		about.object = *m.Object
	}
	for _, probe := range c.probes[about.object] {
		if m.Field.HasPrefix(probe) {
			about.probe = probe.String()
		}
	}
	return about
}

// add returns the case of a subject, which it adds if there is none.
func (c *junitCases) add(about junitSubject) *junitCase {
	one := c.of[about]
	if one == nil {
		one = &junitCase{Class: about.object.File, Name: cmp.Or(about.object.String(), "manifests")}
		if about.probe != "" {
			one.Name += ": " + about.probe
		}
		c.of[about] = one
		c.suite.Cases = append(c.suite.Cases, one)
		c.suite.Tests++
	}
	return one
}

// fail adds a message to the failure of a subject's case.
func (c *junitCases) fail(about junitSubject, m *Message) {
	one := c.add(about)
	if one.Failure != nil {
		one.Failure.Text += "\n" + m.String()
		return
	}
	one.Failure = &junitFailure{m.Reason, m.Words(), m.String()}
	c.suite.Failures++
}
