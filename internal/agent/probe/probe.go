// Package probe makes the probe of a virtual machine's configuration, with the
// verdicts of the kubelet, and says when it is made and what its results mean.
//
// It knows nothing of who is told.
package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/kubelet"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

// New returns a function that probes once. Its error is the reason why the app
// is not healthy. If the probe names no host, ip is dialled. The agent is the
// User-Agent of requests.
func New(p *vmconfig.Probe, ip, agent string) (func(context.Context) error, error) {
	if p.Exec != nil {
		return command(p.Exec.Command, time.Duration(p.TimeoutSeconds)*time.Second), nil
	}
	host := ip
	call := kubelet.Call{
		Own:    true,
		Header: textproto.MIMEHeader{"User-Agent": {agent}},
	}
	switch {
	case p.HTTPGet != nil:
		host = cmp.Or(p.HTTPGet.Host, ip)
		setHeader(&call, p.HTTPGet, host)
	case p.TCPSocket != nil:
		host = cmp.Or(p.TCPSocket.Host, ip)
	}
	target, err := kubelet.NewTarget(host, prober.Readiness, p.Prober())
	if err != nil {
		return nil, fmt.Errorf("`probe`: %w", err)
	}
	return func(ctx context.Context) error {
		one := call
		one.Start = time.Now()
		answer := target.Probe(ctx, &one)
		one.Close()
		if answer.Verdict(false) != kubelet.Failure {
			return nil
		}
		return errors.New(answer.Reason)
	}, nil
}

// setHeader sets the headers that the kubelet would send.
func setHeader(call *kubelet.Call, h *prober.HTTPGet, host string) {
	header := make(textproto.MIMEHeader)
	for _, field := range h.HTTPHeaders {
		header.Add(field.Name, field.Value)
	}
	if !strings.EqualFold(header.Get("Connection"), "close") {
		header.Add("Connection", "close")
	}
	call.Host = cmp.Or(header.Get("Host"), net.JoinHostPort(host, h.Port.String()))
	for name, value := range map[string]string{
		"User-Agent": call.Header.Get("User-Agent"),
		"Accept":     "*/*",
	} {
		if header[name] == nil {
			header.Set(name, value)
		} else if header.Get(name) == "" {
			header.Del(name) // an empty value removes it, as in Kubernetes
		}
	}
	call.Header = header
}
