package kubectl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil/fakekubectl"
)

func TestMain(m *testing.M) {
	if fakekubectl.IsCalled() {
		fakekubectl.Main()
		return
	}
	os.Exit(m.Run())
}

var deployments = Type{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespaced: true}

// cluster serves as many Deployments as it is told, two a page.
func cluster(t *testing.T, n int) *Kubectl {
	t.Helper()
	fakekubectl.Install(t)
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web-%d, namespace: shop}\n", i)
	}
	t.Setenv("KUBECTL_OBJECTS", write(t, b.String()))
	t.Setenv("KUBECTL_PAGE", "2")
	k, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func write(t *testing.T, text string) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func names(t *testing.T, k *Kubectl) (names []string) {
	t.Helper()
	pages, err := k.List(context.Background(), deployments, Query{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		all, ok := items(field(p, "items"))
		if !ok {
			t.Fatalf("a page is %s", p)
		}
		for _, item := range all {
			var name string
			if err := Item(item).Decode(&name, "metadata", "name"); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
	}
	return names
}

// Each object is there once, in order, whether a list expires while it is read or not.
func TestAListIsReadWholeAndOnce(t *testing.T) {
	for n := range 6 {
		for _, expired := range []string{"", "1", "22"} {
			k := cluster(t, n)
			t.Setenv("KUBECTL_EXPIRED", write(t, expired))
			got := names(t, k)
			if len(got) != n {
				t.Fatalf("%d of %d objects, expired %q: %q", len(got), n, expired, got)
			}
			for i, name := range got {
				if name != fmt.Sprint("web-", i) {
					t.Errorf("object %d is %s", i, name)
				}
			}
		}
	}
	k := cluster(t, 5)
	t.Setenv("KUBECTL_EXPIRED", write(t, strings.Repeat("x", 20)))
	if _, err := k.List(context.Background(), deployments, Query{}, nil); !Is(err, "Expired") {
		t.Errorf("a list that always expires: %v", err)
	}
}

func TestAnAnswerThatIsNoListIsAnError(t *testing.T) {
	k := cluster(t, 1)
	_, err := k.List(context.Background(), Type{Version: "v1", Resource: ""}, Query{}, nil)
	if err == nil || !strings.Contains(err.Error(), "is not what an API server returns (it has no items)") {
		t.Errorf("a list of types: %v", err)
	}
}

func TestWithoutKubectl(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := New(Options{}); !errors.Is(err, ErrMissing) {
		t.Errorf("no kubectl: %v", err)
	}
}

func TestFailures(t *testing.T) {
	k := cluster(t, 1)
	for _, c := range []struct{ says, want string }{
		{"Error from server (Forbidden): pods is forbidden", "kubectl: pods is forbidden"},
		{"Warning: version skew\nerror: no luck\n\n", "kubectl: no luck"},
		{"I0101 12:00:00.000 log\nError from server: odd", "kubectl: odd"},
		{"Warning: this alone", "kubectl: it ended without a message (exit status 1)"},
	} {
		t.Setenv("KUBECTL_SAYS", c.says)
		if _, err := k.List(context.Background(), deployments, Query{}, nil); err == nil || err.Error() != c.want {
			t.Errorf("%q becomes %v", c.says, err)
		}
	}
	t.Setenv("KUBECTL_SAYS", "")
	t.Setenv("KUBECTL_ASKS", "Please enter Username: ")
	_, err := k.List(context.Background(), deployments, Query{}, nil)
	if want := "kubectl: it asks for a user name. Add credentials to the kubeconfig"; err == nil || err.Error() != want {
		t.Errorf("a question becomes %v", err)
	}
	t.Setenv("KUBECTL_ASKS", "")
	t.Setenv("KUBECTL_CONTEXT", "error: current-context is not set")
	if name, err := k.CurrentContext(context.Background()); name != "" || err != nil {
		t.Errorf("without a context: %q %v", name, err)
	}
	t.Setenv("KUBECTL_CONTEXT", "error: stat kc: no such file or directory")
	if name, err := k.CurrentContext(context.Background()); err == nil {
		t.Errorf("without a kubeconfig: %q", name)
	}
}

// Credentials that end during a run end it: what the API server says then is not about the type that was asked for.
func TestOnlyAnAnswerAboutATypeLetsTheRunGoOn(t *testing.T) {
	k := cluster(t, 1)
	for reason, want := range map[string]bool{"Forbidden": true, "NotFound": true, "MethodNotAllowed": true, "InternalError": true, "Unauthorized": false, "": false} {
		t.Setenv("KUBECTL_SAYS", strings.Replace("Error from server ("+reason+"): no", " ()", "", 1))
		_, err := k.List(context.Background(), deployments, Query{}, nil)
		if got := IsOfType(fmt.Errorf("wrapped: %w", err)); got != want {
			t.Errorf("%q: %t", reason, got)
		}
	}
	if IsOfType(errors.New("Error from server (Forbidden): no")) {
		t.Error("any error is an answer")
	}
}

// While no answer comes, the user is told so, once.
func TestSilenceIsSaidOnce(t *testing.T) {
	k := cluster(t, 5)
	patience = time.Millisecond
	t.Cleanup(func() { patience = 10 * time.Second })
	said := make(chan string, 10)
	k.Notify = func(words string) { said <- words }
	t.Setenv("KUBECTL_WAIT", "50ms")
	names(t, k)
	if n := len(said); n != 1 || <-said != "the API server has not answered for 10 s. Ctrl-C ends the run" {
		t.Errorf("said %d times", n)
	}
}

// The end of a run ends kubectl.
func TestKubectlEndsWithTheRun(t *testing.T) {
	k := cluster(t, 1)
	t.Setenv("KUBECTL_WAIT", "1h")
	ctx, cancel := context.WithCancelCause(context.Background())
	log := write(t, "")
	t.Setenv("KUBECTL_LOG", log)
	ended := errors.New("the end")
	go func() {
		for { // until it runs
			if text, err := os.ReadFile(log); err != nil || len(text) > 0 {
				cancel(ended)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := k.List(ctx, deployments, Query{}, nil); !errors.Is(err, ended) {
		t.Errorf("the run ended with %v", err)
	}
}

func TestNamesOfNamespaces(t *testing.T) {
	for name, want := range map[string]bool{"shop": true, "a-1": true, "": false, "a/b": false, "..": false, "A": false, "-a": false, "a\n": false, strings.Repeat("a", 64): false} {
		if IsNamespace(name) != want {
			t.Errorf("%q is a name: %t", name, !want)
		}
	}
}
