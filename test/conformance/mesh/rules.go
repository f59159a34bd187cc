// Package mesh compares the redirection rules of the mesh stand-in of the end-to-end
// tests with those of the meshes: here with Istio's and Consul's, and in
// conformance/meshes with those of the meshes whose modules cannot be imported.
package mesh

import (
	"slices"
	"strings"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/redirection"
)

// Compare reports the difference between the stand-in's rules and those that the
// code of a mesh makes with the same excluded ports, at least atLeast of them.
func Compare(t *testing.T, name string, atLeast int, excluded []string, theirs string) {
	t.Helper()
	compare(t, name, redirection.Mesh.Rules, atLeast, excluded, theirs)
}

// CompareIPv6 is Compare of the rules for IPv6.
func CompareIPv6(t *testing.T, name string, atLeast int, excluded []string, theirs string) {
	t.Helper()
	compare(t, name, redirection.Mesh.IPv6Rules, atLeast, excluded, theirs)
}

func compare(t *testing.T, name string, of func(m redirection.Mesh, excluded ...string) (string, error), atLeast int, excluded []string, theirs string) {
	t.Helper()
	m, err := redirection.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := of(m, excluded...)
	if err != nil {
		t.Fatal(err)
	}
	got, want := rules(text), rules(theirs)
	if len(want) < atLeast {
		t.Errorf("%s makes only %d rules: %q", name, len(want), want)
	}
	if !slices.Equal(got, want) {
		t.Errorf("excluding %q, the rules of the stand-in are\n%s\nand those of %s\n%s", excluded, strings.Join(got, "\n"), name, strings.Join(want, "\n"))
	}
}

// rules returns the rules of a text in the form of iptables-restore, chain by
// chain: the order counts within a chain, and the order of the options in a rule
// does not. Inserted rules come before those that are appended.
func rules(text string) []string {
	var all, inserted []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		switch short(fields[0]) {
		case "-A":
			all = append(all, canonical(fields))
		case "-I":
			inserted = append(inserted, canonical(fields))
		}
	}
	slices.Reverse(inserted)
	all = append(inserted, all...)
	slices.SortStableFunc(all, func(a, b string) int { return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1]) })
	return all
}

// canonical sorts the options of a rule, each with its negation and its value. It
// leaves out comments and `-m tcp`, which `-p tcp` implies.
func canonical(fields []string) string {
	var options []string
	for _, f := range fields[2:] {
		last := len(options) - 1
		switch {
		case f == "!" || strings.HasPrefix(f, "-") && (last < 0 || options[last] != "!"):
			options = append(options, short(f))
		default:
			options[last] += " " + short(f)
		}
	}
	options = slices.DeleteFunc(options, func(o string) bool {
		return o == "-m tcp" || o == "-m comment" || strings.HasPrefix(o, "--comment ")
	})
	slices.Sort(options)
	return strings.Join(append([]string{"-A", fields[1]}, options...), " ")
}

// short returns the short name of an option, in which the meshes differ.
func short(option string) string {
	names := map[string]string{
		"--append": "-A", "--protocol": "-p", "--jump": "-j", "--match": "-m", "--source": "-s", "--destination": "-d",
		"--out-interface": "-o", "--destination-port": "--dport", "--to-port": "--to-ports",
	}
	if s, ok := names[option]; ok {
		return s
	}
	return option
}
