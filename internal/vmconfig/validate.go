package vmconfig

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

// Validate checks that an agent can use the configuration. An error names the
// field.
func (c *Config) Validate() error {
	if err := checkName("name", c.Name); err != nil {
		return err
	}
	if err := checkName("namespace", c.Namespace); err != nil {
		return err
	}
	if c.ServiceAccount != "" {
		if err := checkName("serviceAccount", c.ServiceAccount); err != nil {
			return err
		}
	}
	if c.Address != "" {
		if _, err := netip.ParseAddr(c.Address); err != nil {
			return fmt.Errorf("`address`: %q must be an IP address", c.Address)
		}
	}
	if err := checkRange("weight", c.Weight, 0, maxSeconds); err != nil {
		return err
	}
	return c.Probe.validate()
}

// checkName checks a name of Kubernetes. It goes into the node's id, whose
// separators it must not contain.
func checkName(field, name string) error {
	if name == "" {
		return fmt.Errorf("`%s`: must be set", field)
	}
	other := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.')
	}
	if len(name) > 253 || strings.ContainsFunc(name, other) {
		return fmt.Errorf("`%s`: %q must have only lower-case letters, digits, `-` and `.`, and at most 253 of them", field, name)
	}
	return nil
}

func checkRange(field string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("`%s`: %d must be a number from %d to %d", field, n, least, most)
	}
	return nil
}

func (p *Probe) validate() error {
	for _, f := range []struct {
		name     string
		n, least int
	}{
		{"probe.initialDelaySeconds", p.InitialDelaySeconds, 0},
		{"probe.timeoutSeconds", p.TimeoutSeconds, 1},
		{"probe.periodSeconds", p.PeriodSeconds, 1},
		{"probe.successThreshold", p.SuccessThreshold, 1},
		{"probe.failureThreshold", p.FailureThreshold, 1},
	} {
		if err := checkRange(f.name, f.n, f.least, maxSeconds); err != nil {
			return err
		}
	}
	var set []string
	var first error
	add := func(name string, err error) {
		set = append(set, "`"+name+"`")
		if first == nil {
			first = err
		}
	}
	if p.HTTPGet != nil {
		add("httpGet", p.HTTPGet.validate())
	}
	if p.TCPSocket != nil {
		add("tcpSocket", checkRange("probe.tcpSocket.port", p.TCPSocket.Port, 1, maxPort))
	}
	if p.GRPC != nil {
		add("grpc", checkRange("probe.grpc.port", p.GRPC.Port, 1, maxPort))
	}
	if p.Exec != nil {
		add("exec", p.Exec.validate())
	}
	switch len(set) {
	case 0:
		return errors.New("`probe`: must have one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has none")
	case 1:
		return first
	}
	return fmt.Errorf("`probe`: must have only one of `httpGet`, `tcpSocket`, `grpc` and `exec`, and has %s", strings.Join(set, ", "))
}

// headerName is what Istio's webhook allows.
var headerName = regexp.MustCompile(`^[-_A-Za-z0-9]+$`)

func (h *HTTPGet) validate() error {
	if h.Scheme != HTTP && h.Scheme != HTTPS && h.Scheme != "" {
		return fmt.Errorf("`probe.httpGet.scheme`: %q must be HTTP or HTTPS", h.Scheme)
	}
	for i, header := range h.HTTPHeaders {
		if !headerName.MatchString(header.Name) {
			return fmt.Errorf("`probe.httpGet.httpHeaders[%d].name`: %q must have only letters, digits, `-` and `_`, and at least one", i, header.Name)
		}
		if strings.ContainsAny(header.Value, "\r\n\x00") {
			return fmt.Errorf("`probe.httpGet.httpHeaders[%d].value`: %q must have no line break and no NUL", i, header.Value)
		}
	}
	return checkRange("probe.httpGet.port", h.Port, 1, maxPort)
}

func (e *Exec) validate() error {
	if len(e.Command) == 0 || e.Command[0] == "" {
		return errors.New("`probe.exec.command`: must name a program")
	}
	return nil
}
