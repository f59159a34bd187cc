// Package kubectl is the only door to a cluster: it runs the user's kubectl, with the user's
// kubeconfig and rights. It only reads, by `kubectl get --raw`, and takes no stdin. It knows
// nothing of what the objects mean.
package kubectl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/program"
)

// Options are kubectl's own flags; "" leaves out the flag.
type Options struct {
	Context, Kubeconfig, As string
	Timeout                 string // of one request, such as 60s
	Namespace               string // the only one that is read; "" for all
	// Notify is told what a user must know while the run waits, in words for a line.
	Notify func(words string)
}

// A Kubectl runs kubectl. Its methods may be called from several goroutines.
type Kubectl struct {
	Options
	program string
	said    sync.Once // that there is no answer
}

// patience is how long a call may be without an answer until Notify is told.
var patience = 10 * time.Second

// ErrMissing says that there is no kubectl.
var ErrMissing = errors.New("no kubectl in PATH. Install kubectl, or pipe manifests into the command")

// New finds kubectl in PATH.
func New(o Options) (*Kubectl, error) {
	path, err := program.Find("kubectl")
	if err != nil {
		return nil, ErrMissing
	}
	return &Kubectl{Options: o, program: path}, nil
}

// IsNamespace reports whether a text can be the name of a namespace.
func IsNamespace(s string) bool {
	return len(s) < 64 && regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`).MatchString(s)
}

// CurrentContext returns the name of the context that is asked, "" if the kubeconfig names none: in a
// pod, kubectl takes the pod's own account.
func (k *Kubectl) CurrentContext(ctx context.Context) (string, error) {
	if k.Context != "" {
		return k.Context, nil
	}
	out, err := k.run(ctx, "config", "current-context")
	if e, ok := errors.AsType[*Error](err); ok && strings.Contains(e.Text, "current-context is not set") {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// CurrentNamespace returns the namespace of the options, else that of the context.
func (k *Kubectl) CurrentNamespace(ctx context.Context) (string, error) {
	if k.Namespace != "" {
		return k.Namespace, nil
	}
	out, err := k.run(ctx, "config", "view", "--minify", "--output=jsonpath={..namespace}")
	if e, ok := errors.AsType[*Error](err); ok && strings.Contains(e.Text, "current-context") {
		err = nil // in a pod
	}
	return cmp.Or(strings.TrimSpace(string(out)), "default"), err
}

// Get returns the answer to a GET of a path.
func (k *Kubectl) Get(ctx context.Context, path string) (answer []byte, err error) {
	err = k.retry(ctx, path, func(text []byte) error {
		answer = text
		return nil
	})
	return answer, err
}

// raw returns the answer to a GET of a path.
func (k *Kubectl) raw(ctx context.Context, path string) ([]byte, error) {
	return k.run(ctx, "get", "--raw", path)
}

// run runs kubectl with a subcommand, and returns what it wrote to stdout.
func (k *Kubectl) run(ctx context.Context, args ...string) ([]byte, error) {
	for _, f := range []struct{ name, value string }{
		{"kubeconfig", k.Kubeconfig},
		{"context", k.Context},
		{"as", k.As},
		{"request-timeout", k.Timeout},
	} {
		if f.value != "" {
			args = append(args, "--"+f.name+"="+f.value)
		}
	}
	call := program.Call{Path: k.program, Args: args, Patience: patience, Silent: func() {
		k.said.Do(func() { k.notify("the API server has not answered for 10 s. Ctrl-C ends the run") })
	}}
	answer, said, err := call.Run(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
		return answer, err
	case bytes.HasPrefix(answer, []byte("Please enter ")):
		return nil, &Error{Text: "it asks for a user name. Add credentials to the kubeconfig"}
	}
	return nil, failure(said, err)
}

func (k *Kubectl) notify(words string) {
	if k.Notify != nil {
		k.Notify(words)
	}
}

// An Error is what kubectl says on stderr.
type Error struct {
	Reason string // of the API server, such as Forbidden; "" if kubectl got no answer
	Text   string // in one line
}

func (e *Error) Error() string { return "kubectl: " + e.Text }

// Is reports whether err is an answer of the API server with one of the reasons.
func Is(err error, reasons ...string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(reasons, e.Reason)
}

// IsOfType reports whether err is an answer of the API server about what was asked, so that it may answer
// about other types.
func IsOfType(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Reason != "" && e.Reason != "Unauthorized"
}

// fromServer finds the reason in "Error from server (Forbidden): ...".
var fromServer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Error from server(?: \((\w+)\))?: (.*)`)
})

// failure makes an error of what kubectl wrote to stderr. Its own log and warnings come before the
// error.
func failure(stderr string, err error) error {
	last := ""
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if m := fromServer().FindStringSubmatch(line); m != nil {
			return &Error{Reason: m[1], Text: m[2]}
		}
		if line != "" && !strings.HasPrefix(line, "Warning: ") {
			last = strings.TrimPrefix(line, "error: ")
		}
	}
	if last == "" {
		last = fmt.Sprintf("it ended without a message (%v)", err)
	}
	return &Error{Text: last}
}
