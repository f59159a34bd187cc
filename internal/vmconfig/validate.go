package vmconfig

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// A FieldError says what is wrong with the field at Path.
type FieldError struct {
	Path field.Path
	Text string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("`%s`: %s", e.Path, e.Text)
}

func errorAt(path field.Path, format string, args ...any) error {
	return &FieldError{path, fmt.Sprintf(format, args...)}
}

// Validate checks that an agent can use the configuration. An error is a
// *[FieldError].
func (c *Config) Validate() error {
	for _, f := range []struct{ field, name string }{
		{"name", c.Name},
		{"namespace", c.Namespace},
		{"serviceAccount", cmp.Or(c.ServiceAccount, "default")},
	} {
		if err := checkName(f.field, f.name); err != nil {
			return err
		}
	}
	if c.Address != "" {
		if _, err := netip.ParseAddr(c.Address); err != nil {
			return errorAt(field.NewPath("address"), "%q must be an IP address", c.Address)
		}
	}
	return c.Probe.Validate(field.NewPath("probe"))
}

// checkName checks a name of Kubernetes. It goes into the node's id, whose
// separators it must not contain.
func checkName(key, name string) error {
	if name == "" {
		return errorAt(field.NewPath(key), "must be set")
	}
	if len(name) > 253 || !hasOnly(name, "-.0123456789abcdefghijklmnopqrstuvwxyz") {
		return errorAt(field.NewPath(key), "%q must have only lower-case letters, digits, `-` and `.`, and at most 253 of them", name)
	}
	return nil
}

// hasOnly reports whether a text has no other characters than those allowed.
func hasOnly(text, allowed string) bool {
	return strings.Trim(text, allowed) == ""
}

func checkRange(path field.Path, n, least, most int) error {
	if n < least || n > most {
		return errorAt(path, "%d must be a number from %d to %d", n, least, most)
	}
	return nil
}

// Validate checks a probe at path whose numbers are filled in. An error is a
// *[FieldError].
func (p *Probe) Validate(path field.Path) error {
	for _, f := range []struct {
		name     string
		n, least int
	}{
		{"initialDelaySeconds", p.InitialDelaySeconds, 0},
		{"timeoutSeconds", p.TimeoutSeconds, 1},
		{"periodSeconds", p.PeriodSeconds, 1},
		{"successThreshold", p.SuccessThreshold, 1},
		{"failureThreshold", p.FailureThreshold, 1},
	} {
		if err := checkRange(path.Key(f.name), f.n, f.least, math.MaxInt32); err != nil {
			return err
		}
	}
	var set []string
	var err error // of the only handler
	if p.HTTPGet != nil {
		set, err = append(set, "`httpGet`"), checkHTTPGet(path.Key("httpGet"), p.HTTPGet)
	}
	if p.TCPSocket != nil {
		set, err = append(set, "`tcpSocket`"), checkPort(path.Key("tcpSocket", "port"), p.TCPSocket.Port)
	}
	if p.GRPC != nil {
		set = append(set, "`grpc`")
		err = cmp.Or(
			checkUnset(path.Key("grpc", "mode"), p.GRPC.Mode),
			checkPort(path.Key("grpc", "port"), p.GRPC.Port),
		)
	}
	if p.Exec != nil {
		set, err = append(set, "`exec`"), checkCommand(path.Key("exec", "command"), p.Exec.Command)
	}
	if len(set) != 1 {
		return errorAt(path, "must have exactly one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has %s", cmp.Or(strings.Join(set, ", "), "none"))
	}
	return err
}

// inHeaderNames are the characters that Istio's webhook allows in the name of a header.
const inHeaderNames = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func checkHTTPGet(path field.Path, h *prober.HTTPGet) error {
	if h.Scheme != HTTP &&
		h.Scheme != HTTPS &&
		h.Scheme != "" {
		return errorAt(path.Key("scheme"), "%q must be HTTP or HTTPS", h.Scheme)
	}
	for i, header := range h.HTTPHeaders {
		if header.Name == "" || !hasOnly(header.Name, inHeaderNames) {
			return errorAt(path.Item("httpHeaders", i).Key("name"), "%q must have only letters, digits and `-`, and at least one", header.Name)
		}
		if strings.ContainsAny(header.Value, "\r\n\x00") {
			return errorAt(path.Item("httpHeaders", i).Key("value"), "%q must have no line break and no NUL", header.Value)
		}
	}
	return cmp.Or(checkUnset(path.Key("protocol"), h.Protocol), checkPort(path.Key("port"), h.Port))
}

// checkUnset checks a field of the API's handlers that those of a WorkloadGroup do not have.
func checkUnset(path field.Path, value string) error {
	if value != "" {
		return errorAt(path, "%q must be unset: a WorkloadGroup cannot have the field", value)
	}
	return nil
}

func checkPort(path field.Path, port field.IntOrString) error {
	if port.IsString {
		return errorAt(path, "%q must be a number from 1 to 65535", port.Str)
	}
	return checkRange(path, int(port.Int), 1, 65535)
}

func checkCommand(path field.Path, command []string) error {
	if len(command) == 0 || command[0] == "" {
		return errorAt(path, "must name a program")
	}
	return nil
}
