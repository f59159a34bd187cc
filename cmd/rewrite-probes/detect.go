package main

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

const probeKeys = `(liveness|readiness|startup)Probe|httpGet|tcpSocket`

var (
	kindKey    = whenUsed(`(?m)(^|[\s{,"'])kind["']?[ \t]*:`)
	versionKey = whenUsed(`(?m)(^|[\s{,"'])apiVersion["']?[ \t]*[:=]`)
	specKey    = whenUsed(`(?m)(^|[\s{,"'])(spec|containers)["']?[ \t]*[:=]`)
	action     = whenUsed(`(?m)^[^#\n]*\{\{`) // of a template, outside of comments
	list       = whenUsed(`\A(\s*(#.*)?\n|---\s*\n)*\s*(\[|- )`)
	jsonPatch  = whenUsed(`\A(\s*(#.*)?\n|---\s*\n)*\s*(\[\s*\{|- \{?)\s*["']?(op|path|value|from)["']?\s*:`) // JSON6902
	probeKey   = whenUsed(probeKeys)
	namesProbe = whenUsed(probeKeys + `|lifecycle\b`) // whose hooks may come from values; lifecycle is a word of other files too
	// operation of a JSON patch on all init containers, on one by its number, or on all annotations of a template.
	operation = whenUsed(`path["']?[ \t]*:[ \t]*["']?/[^\s"',]*/(initContainers(/[0-9]+(/[^\s"',]*)?)?|template/metadata/annotations)(["'\s,}]|\z)`)
	// injection names a label or annotation by which a mesh injects, or another injector as sidecar.opentelemetry.io/inject.
	injection = sync.OnceValue(func() *regexp.Regexp { return namesOf(config.InjectionKeys(), `(/|~1)inject`) })
)

// whenUsed returns a function that returns a regular expression, compiled at
// the first call: a function that reads stdin needs none of them.
func whenUsed(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(expr)
	})
}

// namesOf returns an expression for some keys, also as parts of a JSON pointer, and for what another one matches.
func namesOf(keys []string, also string) *regexp.Regexp {
	for _, key := range keys {
		also += "|" + strings.ReplaceAll(regexp.QuoteMeta(key), "/", "(/|~1)")
	}
	return regexp.MustCompile("(" + also + `)\b`)
}

// isTemplate reports whether a text has what looks like an action of a template, as
// of Helm or Ansible, and cannot be read as manifests: [manifest.Read], which returned s and
// err, has failed on a text, or an action that is valid YAML makes a mapping a key.
func isTemplate(s *manifest.Stream, text []byte, err error) bool {
	if errors.Is(err, manifest.ErrNotText) {
		return false
	}
	if !bytes.Contains(text, []byte("{{")) ||
		!action().Match(text) {
		return false
	}
	return err != nil || slices.ContainsFunc(s.Objects(), func(o *manifest.Object) bool {
		_, err := o.Root()
		return errors.Is(err, manifest.ErrNotKey)
	})
}

// holdsNoObject reports whether a text, which [manifest.Read] has returned s and err for, was not
// meant to hold a Kubernetes object. If it cannot be read, see isMeant. If it can, no mapping has an
// apiVersion: the values of a chart have none, even if one of them is called kind.
func holdsNoObject(s *manifest.Stream, text []byte, err error) bool {
	if err != nil {
		return errors.Is(err, manifest.ErrEmpty) || !isMeant(text)
	}
	return !s.IsResourceList() &&
		!slices.ContainsFunc(s.Objects(), func(o *manifest.Object) bool { return o.APIVersion() != "" })
}

// isMeant reports whether a text that cannot be read was meant as manifests: its mistake may be
// in any line, so no one key decides. A list without probes is not, such as the replacements of a
// kustomization.
func isMeant(text []byte) bool {
	if probeKey().Match(text) {
		return true
	}
	return !list().Match(text) &&
		(kindKey().Match(text) || versionKey().Match(text) && specKey().Match(text))
}
