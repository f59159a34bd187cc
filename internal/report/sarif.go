package report

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

var sarifLevels = map[transformer.Severity]string{
	transformer.Error: "error", transformer.Warning: "warning",
}

const repository = "https://github.com/rewrite-probes/rewrite-probes"

// writeSARIF writes the errors and warnings as a SARIF 2.1.0 log, so that a forge shows them
// on the lines of a change. It has the part of the format that code scanning reads, which makes
// an alert of each result: what is only for your information is left out.
// The reason keys are its rules.
func (r *Report) writeSARIF(w io.Writer, version string, reasons []reason.Doc) error {
	rules := field.List{}
	used := make(map[string]bool) // by name
	var results []*Message
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Severity != transformer.Info {
			results = append(results, m)
			used[m.Reason.String()] = true
		}
	}
	for _, d := range reasons {
		if used[d.Name] {
			rules = append(rules, field.Map{
				{Key: "id", Value: d.Name},
				{Key: "shortDescription", Value: sarifText(d.Cause)},
				{Key: "help", Value: sarifText(d.FixOrNothing())},
				{Key: "helpUri", Value: repository + "/blob/main/docs/reasons.md#" + d.Name},
			})
		}
	}
	driver := field.Map{
		{Key: "name", Value: "rewrite-probes"},
		{Key: "version", Value: version},
		{Key: "informationUri", Value: repository},
		{Key: "rules", Value: rules},
	}
	out := newJSONStream(w)
	out.begin("", '{')
	out.put("$schema", "https://json.schemastore.org/sarif-2.1.0.json")
	out.put("version", "2.1.0")
	out.begin("runs", '[')
	out.begin("", '{')
	out.put("tool", ordered(field.Map{{Key: "driver", Value: driver}}))
	out.begin("results", '[')
	for _, m := range results {
		out.put("", ordered(r.sarifResult(m)))
	}
	for _, bracket := range []byte("]}]}") {
		out.end(bracket)
	}
	return out.flush()
}

// ordered returns a mapping for an encoder, which keeps its order.
func ordered(m field.Map) json.RawMessage { return field.AppendJSON(nil, m) }

func sarifText(s string) field.Map {
	return field.Map{{Key: "text", Value: s}}
}

func (r *Report) sarifResult(m *Message) field.Map {
	result := field.Map{
		{Key: "ruleId", Value: m.Reason.String()},
		{Key: "level", Value: sarifLevels[m.Severity]},
		{Key: "message", Value: sarifText(m.Sentence())},
	}
	if parts := m.folded(); len(parts) > 0 {
		result = append(result, field.Entry{Key: "relatedLocations", Value: related(parts)})
	}
	file := m.about().File
	if file == "" && r.first != nil {
		file = r.first.File // code scanning requires a place for every result
	}
	if file == "" {
		return result
	}
	location := field.Map{physicalLocation(file, m.Line)}
	return append(result, field.Entry{Key: "locations", Value: field.List{location}})
}

// related returns the places of probes that a message is about, each with what it depends on.
func related(parts []Message) field.List {
	places := field.List{}
	for i := range parts {
		var location field.Map
		if file := parts[i].about().File; file != "" {
			location = append(location, physicalLocation(file, parts[i].Line))
		}
		words := string(parts[i].appendSubject(nil)) + parts[i].What()
		location = append(location, field.Entry{Key: "message", Value: sarifText(field.Printable(words))})
		places = append(places, location)
	}
	return places
}

func physicalLocation(file string, line int) field.Entry {
	artifact := field.Map{{Key: "uri", Value: fileURI(file)}}
	at := field.Map{{Key: "artifactLocation", Value: artifact}}
	if line > 0 {
		region := field.Map{{Key: "startLine", Value: line}}
		at = append(at, field.Entry{Key: "region", Value: region})
	}
	return field.Entry{Key: "physicalLocation", Value: at}
}

// fileURI returns the URI reference of a file: relative paths stay relative,
// since a forge resolves them against the root of the repository.
func fileURI(name string) string {
	u := url.URL{Path: filepath.ToSlash(name)}
	if filepath.IsAbs(name) {
		u.Scheme = "file"
	}
	return u.String()
}
