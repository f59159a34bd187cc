package report

import (
	"io"
	"net/url"
	"path/filepath"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// The part of SARIF 2.1.0 that code scanning reads.
type (
	sarifLog struct {
		Schema  string      `json:"$schema"`
		Version string      `json:"version"`
		Runs    [1]sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver struct {
				Name    string      `json:"name"`
				Version string      `json:"version"`
				Rules   []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
		Help  sarifText `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region map[string]int `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
)

var sarifLevels = map[transformer.Severity]string{
	transformer.Error: "error", transformer.Warning: "warning", transformer.Info: "note",
}

// SARIF writes the messages as a SARIF 2.1.0 log, so that a forge shows them
// on the lines of a change. The reason keys are its rules.
func (r *Report) SARIF(w io.Writer, version string, reasons []reason.Doc) error {
	run := sarifRun{Results: []sarifResult{}}
	driver := &run.Tool.Driver
	driver.Name, driver.Version, driver.Rules = "rewrite-probes", version, []sarifRule{}
	used := make(map[string]bool)
	for _, m := range r.Messages {
		used[m.Reason] = true
		result := sarifResult{RuleID: m.Reason, Level: sarifLevels[m.Severity], Message: sarifText{m.Sentence()}}
		file := ""
		if m.Object != nil {
			file = m.Object.File
		}
		if file == "" && len(r.Templates) > 0 {
			file = r.Templates[0].Object.File // code scanning requires a place for every result
		}
		if file != "" {
			var at sarifLocation
			at.Physical.Artifact.URI = fileURI(file)
			if m.Line > 0 {
				at.Physical.Region = map[string]int{"startLine": m.Line}
			}
			result.Locations = []sarifLocation{at}
		}
		run.Results = append(run.Results, result)
	}
	for _, d := range reasons {
		if used[d.Key] {
			driver.Rules = append(driver.Rules, sarifRule{d.Key, sarifText{d.Cause}, sarifText{d.Cure}})
		}
	}
	return writeJSON(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: [1]sarifRun{run}})
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
