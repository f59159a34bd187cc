package transformer_test

import (
	"strings"
	"testing"
)

func TestTheAppStaysKubectlsDefaultContainer(t *testing.T) {
	const (
		hook = "lifecycle: {postStart: {httpGet: {port: 80}}}\n"
		key  = "kubectl.kubernetes.io/default-container"
	)
	second := "- {name: second, image: s}\n"
	for _, c := range []struct {
		name, before string
		opts         []option
		want         string // the container that is named; "" if none is
	}{
		{"probe-proxy is first", podOf("", app(httpProbe+hook)+second), []option{asContainer}, "app"},
		{"probe-proxy is last", podOf("", app(httpProbe)+second), []option{asContainer}, ""},
		{"a native sidecar", podOf("", app(httpProbe+hook)), nil, ""},
		{"the user names one", podOf("annotations: {"+key+": second}\n", app(httpProbe+hook)+second), []option{asContainer}, "second"},
		{"another annotation", podOf("annotations:\n  a: b\n", app(httpProbe+hook)), []option{asContainer}, "app"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plan(t, c.before, c.opts...)
			_, rest, found := strings.Cut(r.text, key+": ")
			got := ""
			if found {
				got = strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune("\n},", r) })[0]
			}
			if got != c.want {
				t.Errorf("the default container is %q, want %q:\n%s", got, c.want, r.text)
			}
			wantNoEdits(t, plan(t, r.text, c.opts...))
			wantText(t, restore(t, r.text, c.opts...), c.before)
			// As a native sidecar it is no longer first, and the annotation goes.
			if native := plan(t, r.text); c.want == "app" && strings.Contains(native.text, key+": app\n") {
				t.Errorf("must be gone:\n%s", native.text)
			}
		})
	}
	// A hook that goes takes the annotation along only if probe-proxy is moved.
	r := plan(t, podOf("", app(httpProbe+hook)), asContainer)
	unhooked := strings.Replace(r.text, "app-lifecycle", "elsewhere", 1)
	if again := plan(t, unhooked, asContainer); !strings.Contains(again.text, key+": app\n") {
		t.Errorf("probe-proxy is still first:\n%s", again.text)
	}
}
