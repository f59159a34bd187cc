package report

import (
	"encoding/xml"
	"io"
)

// The part of the JUnit report format that CI servers read.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class    string         `xml:"classname,attr"`
		Name     string         `xml:"name,attr"`
		Failures []junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a test suite with a case for each object that was looked at or
// that a message is about: its errors, and in a strict run its warnings, are the failures.
func (r *Report) JUnit(w io.Writer) error {
	suite := junitSuite{Name: "rewrite-probes"}
	at := make(map[Object]int)
	of := func(about *Object) *junitCase {
		o := Object{} // the whole run
		if about != nil {
			o = *about
		}
		i, ok := at[o]
		if !ok {
			i = len(suite.Cases)
			at[o] = i
			name := o.String()
			if name == "" {
				name = "manifests"
			}
			suite.Cases = append(suite.Cases, junitCase{Class: o.File, Name: name})
		}
		return &suite.Cases[i]
	}
	for _, t := range r.Templates {
		of(t.Object)
	}
	for _, m := range r.Messages {
		if m.Object == nil && !r.fails(m) {
			continue // about the whole run
		}
		c := of(m.Object)
		if r.fails(m) {
			c.Failures = append(c.Failures, junitFailure{m.Reason, string(m.appendText(nil)), m.String()})
			suite.Failures++
		}
	}
	suite.Tests = len(suite.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
