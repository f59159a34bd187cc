package vm

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		config     string
	}{
		{"nothing", "", ""},
		{"a probe", `{"probe":{"httpGet":{"port":1}}}`, ""},
		{"a probe with a timeout", `{"probe":{"grpc":{"port":1},"timeoutSeconds":3}}`, ""},
		{"a configuration", `{"config":"a: b\n"}`, "a: b\n"},
		{"a derived probe", `{"derived":{"grpc":{"port":1},"initialDelaySeconds":0,"timeoutSeconds":1,"periodSeconds":2,"successThreshold":3,"failureThreshold":4}}`, ""},
		{"what was empty", `{"empty":{"proxyMetadata":null}}`, ""},
		{"texts", `{"texts":{"port":"0x10"}}`, ""},
	} {
		var annotations field.KeyValues
		if tt.text != "" {
			annotations = annotations.With(transformer.OriginalsAnnotation, tt.text)
		}
		r, err := transformer.ReadRecord(annotations.Note(nil))
		if err != nil || r.Encode() != tt.text {
			t.Errorf("%s: %v, and it is written as %s, want %s", tt.name, err, r.Encode(), tt.text)
		}
		if got := field.As[string](field.Map(r), recordConfig); got != tt.config {
			t.Errorf("%s: the configuration is %q", tt.name, got)
		}
	}
}

func readAnnotation(key, value string) error {
	_, err := transformer.ReadRecord(field.KeyValues{{Key: key, Value: value}}.Note(nil))
	return err
}

func TestARecordOfAnotherFormIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		"":  "must be a JSON object as rewrite-probes writes it",
		"[": "must be a JSON object as rewrite-probes writes it",
	} {
		if err := readAnnotation(transformer.OriginalsAnnotation, text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if err := readAnnotation("other", "["); err != nil {
		t.Error(err)
	}
}

func TestTheEnvVarIsOursOrSomebodyElses(t *testing.T) {
	const env = "  annotations:\n    proxy.istio.io/config: |\n      proxyMetadata:\n        ISTIO_KUBE_APP_PROBERS: '{\"/app-health/$KEY/readyz\":{\"httpGet\":{\"path\":\"/\",\"port\":8443,\"scheme\":\"HTTPS\"},\"timeoutSeconds\":1}}'\n"
	for _, tt := range []struct {
		name, key, more, probe string
		want                   bool
	}{
		{"it has the original of the probe", "reviews", "", rewritten, true},
		{"the probe was replaced since", "reviews", "", httpsProbe, true},
		{"the group was renamed since a run that noted something", "old", rewrittenRecord, httpsProbe, true},
		{"it is of another group, and nothing was noted", "old", "", httpsProbe, false},
	} {
		s := read(t, group(strings.Replace(env, "$KEY", tt.key, 1)+tt.more, tt.probe))
		if got := newBuilder(s.Group).envIsOurs(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestOnlyWhatRestoreNeedsIsNoted(t *testing.T) {
	for _, tt := range []struct{ name, metadata, probe, want string }{
		{"every field is written out", "", "{httpGet: {path: /, port: 1, scheme: HTTPS}}", ""},
		{"a number is written as one with a fraction", "", "{httpGet: {path: /, port: 1.0, scheme: HTTPS}}", `{"texts":{"port":"port: 1.0"}}`},
		{"a field is not", "", "{httpGet: {port: 1, scheme: HTTPS}}", `{"probe":{"httpGet":{"port":1,"scheme":"HTTPS"}}}`},
		{"a default of the timeout is written out", "", "{timeoutSeconds: 1, httpGet: {path: /, port: 1, scheme: HTTPS}}", `{"probe":{"httpGet":{"path":"/","port":1,"scheme":"HTTPS"},"timeoutSeconds":1}}`},
		{"the annotations are empty", "  annotations: {}\n", "{httpGet: {path: /, port: 1, scheme: HTTPS}}", `{"empty":{"annotations":{}}}`},
		{"another annotation is there", "  annotations: {a: b} # why\n", "{httpGet: {path: /, port: 1, scheme: HTTPS}}", ""},
		{"another annotation is there, on a line of its own", "  annotations:\n    # why\n    a: b\n", "{httpGet: {path: /, port: 1, scheme: HTTPS}}", ""},
		{"the configuration of the agent is plain", "  annotations: {proxy.istio.io/config: \"a: b\"}\n", "{httpGet: {path: /, port: 1, scheme: HTTPS}}", ""},
		{"the configuration of the agent is blank", "  annotations: {proxy.istio.io/config: \" \"}\n", "{httpGet: {path: /, port: 1, scheme: HTTPS}}", `{"config":" "}`},
		{"localhost was switched on before", "  annotations: {proxy.istio.io/config: \"proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: t}\"}\n", "{httpGet: {host: localhost, path: /, port: 1, scheme: HTTPS}}",
			`{"config":"proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: t}"}`},
		{"localhost was not switched on before", "  annotations: {proxy.istio.io/config: \"proxyMetadata: {A: b}\"}\n", "{httpGet: {host: localhost, path: /, port: 1, scheme: HTTPS}}", ""},
	} {
		s := read(t, group(tt.metadata, tt.probe))
		out := read(t, s.apply(t, s.plan(everything)))
		if got := out.Metadata.Annotations.Get(transformer.OriginalsAnnotation); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestWhatWasEditedInTheConfigurationIsKept(t *testing.T) {
	const probe = "{failureThreshold: 3, httpGet: {host: localhost, port: 8443, scheme: HTTPS}}"
	for _, tt := range []struct {
		name, config string // before the run
		old, new     string // the edit of the manifest after it
		want         string // the configuration after restore
	}{
		{"a field before it", "proxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: 'f'}", "      proxyMetadata: {", "      concurrency: 2\n      proxyMetadata: {", "concurrency: 2\nproxyMetadata: {REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: 'f'}"},
		{"a field beside it, where there was none", "a: b", "      a: b", "      a: c", "a: c"},
		{"nothing", "# only\na: b", "", "", "# only\na: b"},
	} {
		s := read(t, group("  annotations:\n    proxy.istio.io/config: |-\n      "+strings.ReplaceAll(tt.config, "\n", "\n      ")+"\n", probe))
		out := s.apply(t, s.plan(everything))
		edited := strings.Replace(out, tt.old, tt.new, 1)
		if tt.old != "" && edited == out {
			t.Fatalf("%s: nothing to edit in\n%s", tt.name, out)
		}
		// A run between the edit and restore makes no difference.
		for _, again := range []bool{false, true} {
			if again {
				s = read(t, edited)
				edited = s.apply(t, s.plan(everything))
			}
			s = read(t, edited)
			back := read(t, s.apply(t, Restore(s.Group)))
			if got := back.Metadata.Annotations.Get(ConfigAnnotation); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
			if _, left := back.Metadata.Annotations.Lookup(transformer.OriginalsAnnotation); left {
				t.Errorf("%s: the record is left", tt.name)
			}
		}
	}
}

// TestTheTextsOfTheAuthorComeBack has notations that an encoder would change.
func TestTheTextsOfTheAuthorComeBack(t *testing.T) {
	for _, in := range []string{
		"kind: WorkloadGroup\nmetadata:\n  name: reviews\nspec:\n  template: {}\n  probe:\n    timeoutSeconds: 0x3 # why\n    httpGet:\n      port: 0o20 # octal\n      scheme: 'HTTPS' # quoted\n",
		"kind: WorkloadGroup\nmetadata:\n  name: reviews\nspec:\n  template: {}\n  probe:\n    grpc:\n      service: \"a\" # quoted\n      port: 9000\n",
		"kind: WorkloadGroup\nmetadata:\n  name: reviews\n  annotations:\n    proxy.istio.io/config: \"a: \\u0062\"\nspec:\n  template: {}\n  probe: {grpc: {port: 1}}\n",
		"kind: WorkloadGroup\nmetadata:\n  name: reviews\n  annotations: ~ # none\nspec:\n  template: {}\n  probe: {grpc: {port: 1}}\n",
	} {
		s := read(t, in)
		once := s.apply(t, s.plan(everything))
		s = read(t, once)
		twice := s.apply(t, s.plan(everything))
		if once == in || once != twice {
			t.Errorf("a second run makes\n%sof\n%s", twice, once)
		}
		s = read(t, twice)
		if got := s.apply(t, Restore(s.Group)); got != in {
			t.Errorf("restored is\n%swant\n%s", got, in)
		}
	}
}

// TestATextThatTheAuthorReplacedIsForgotten: after a run the author writes the annotation and the probe anew, and leaves our
// record. What comes back is the new text, and not the one that the first run noted.
func TestATextThatTheAuthorReplacedIsForgotten(t *testing.T) {
	const head = "kind: WorkloadGroup\nmetadata:\n  name: reviews\n  annotations:\n    proxy.istio.io/config: "
	const tail = "spec:\n  template: {}\n  probe: {grpc: {port: 1}}\n"
	s := read(t, head+"\"a: \\u0062\"\n"+tail)
	s = read(t, s.apply(t, s.plan(everything)))
	record := s.Metadata.Annotations.Get(transformer.OriginalsAnnotation)
	if !strings.Contains(record, "u0062") || strings.Contains(record, "'") {
		t.Fatalf("the record is %s", record)
	}
	want := head + "\"c: \\u0064\"\n"
	s = read(t, want+"    rewrite-probes.io/originals: '"+record+"'\n"+tail)
	s = read(t, s.apply(t, s.plan(everything)))
	if got := s.apply(t, Restore(s.Group)); got != want+tail {
		t.Errorf("restored is\n%swant\n%s", got, want+tail)
	}
}

// What somebody writes into a rewritten probe, such as a note behind the port, is not what its author wrote: restore brings
// back the author's text. The record never has its own.
func TestTextsOfWhatARunHasWrittenAreNotNoted(t *testing.T) {
	const in = "kind: WorkloadGroup\nmetadata:\n  name: reviews\nspec:\n  template: {}\n  probe:\n    timeoutSeconds: 3 # why\n    httpGet:\n      port: 0o20 # octal\n      scheme: 'HTTPS' # quoted\n"
	s := read(t, in)
	once := s.apply(t, s.plan(everything))
	record := s.Metadata.Annotations.Get(transformer.OriginalsAnnotation)
	for _, edit := range [][2]string{
		{"port: 15020", "port: 15021 # moved"},
		{"scheme: HTTP ", "scheme: \"HTTP\" "},
		{"timeoutSeconds: 4", "timeoutSeconds: 4 # enough"},
		{"originals: '", "originals:   '"},
	} {
		edited := strings.Replace(once, edit[0], edit[1], 1)
		if edited == once && edit[0] != "scheme: HTTP " {
			t.Fatalf("nothing to edit by %q in\n%s", edit, once)
		}
		s := read(t, edited)
		again := s.apply(t, s.plan(everything))
		s = read(t, again)
		if got := s.Metadata.Annotations.Get(transformer.OriginalsAnnotation); strings.Contains(got, "moved") || strings.Contains(got, "enough") || strings.Contains(got, "originals") {
			t.Errorf("%q: the record is %s, and was %s", edit, got, record)
		}
		back := s.apply(t, Restore(s.Group))
		if got := strings.NewReplacer(" # moved", "", " # enough", "").Replace(back); got != in { // a new note stays
			t.Errorf("%q: restored is\n%swant\n%s", edit, got, in)
		}
	}
	// The author writes the probe anew, in the usual way: nothing of the old one is left to note.
	s = read(t, once)
	annotations := s.Metadata.Annotations
	anew := "kind: WorkloadGroup\nmetadata:\n  name: reviews\n  annotations:\n"
	for _, a := range annotations {
		anew += "    " + a.Key + ": " + strconv.Quote(a.Value) + "\n"
	}
	s = read(t, anew+"spec:\n  template: {}\n  probe:\n    httpGet:\n      path: /\n      port: 16\n      scheme: HTTPS\n")
	s = read(t, s.apply(t, s.plan(everything)))
	if got := s.Metadata.Annotations.Get(transformer.OriginalsAnnotation); strings.Contains(got, "0o20") || strings.Contains(got, "why") || strings.Contains(got, "originals\"") {
		t.Errorf("the record is %s", got)
	}
}
