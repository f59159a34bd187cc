package vm

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

const danglingText = "it looks rewritten, but the annotation `" + ConfigAnnotation + "` does not store its original"

// classify decides whether the probe is rewritten, and returns the reason if it
// is not.
func (b *builder) classify(rewrite []string) (why reason.Key) {
	if path, known := unknownField(b.source); path != nil {
		key := path[len(path)-1].Key
		f := b.add(reason.HandlerUnknown, path, "not rewritten: this version does not know the field `%s`", key)
		f.Text.Why, f.Text.Fix = pod.AboutField(key, known)
		return reason.HandlerUnknown
	}
	if b.dangling {
		b.addDangling()
		return reason.Dangling
	}
	if !b.isValid() {
		return reason.None
	}
	if b.original.FailureThreshold == 0 {
		f := b.add(reason.VMThresholdDefault, probePath.Key("failureThreshold"),
			"`failureThreshold` is not set, so Istio's agent takes 1, and the first failure takes the machine out")
		f.Text.Why = "The API's documentation promises 3"
	}
	b.checkHTTPGet()
	kind := handlerOf(b.original).Kind()
	https := isHTTPS(b.original)
	switch {
	case kind != grpc && !https:
		return reason.VMProbeWorks
	case !slices.Contains(rewrite, kind):
		return reason.NotSelected
	}
	if target := entryOf(b.original); b.canRewrite(target) {
		b.target = target
	}
	return reason.None
}

// canRewrite reports whether a probe that should be rewritten can be, and adds the finding
// if not.
func (b *builder) canRewrite(target *prober.Original) bool {
	host := ""
	if h := target.HTTPGet; h != nil {
		host = h.Host
	}
	overridden := slices.IndexFunc(b.config.entries.ProxyMetadata, func(v field.KeyValue) bool {
		needed, set := variables(b.key(), target).Lookup(v.Key)
		return set && v.Value != needed
	})
	_, hasEnv := b.config.group.ProxyMetadata.Lookup(prober.EnvName)
	switch {
	case isOwnHost(host) &&
		!slices.Contains([]string{"", "localhost", "127.0.0.1"}, host):
		f := b.add(reason.VMHTTPSVerified, probePath.Key(httpGet, "host"), "not rewritten: %q is neither 127.0.0.1 nor localhost", host)
		f.Text.Why = "Istio's agent verifies the certificate. Its status server does not, but asks only these or the machine's own address"
		f.Text.Fix = "Write 127.0.0.1 or localhost, or remove `host`"
	case b.g.Metadata.Name == "" ||
		strings.Contains(b.g.Metadata.Name, "/"):
		f := b.add(
			reason.VMProbeInvalid,
			field.NewPath("metadata", "name"),
			"not rewritten: %q is not a name without a slash",
			b.g.Metadata.Name,
		)
		f.Text.Why = "The path of a rewritten probe has the group's name"
	case overridden >= 0:
		f := b.add(
			reason.VMConfigInvalid,
			entryConfigPath,
			"its `proxyMetadata.%s` replaces the group's",
			b.config.entries.ProxyMetadata[overridden].Key,
		)
		f.Text.Fix = "Remove it: rewrite-probes sets it"
	case hasEnv && !b.envIsOurs():
		f := b.add(reason.VMConfigInvalid, annotationPath(ConfigAnnotation),
			"it already has `proxyMetadata.%s`, and not with only the original of this probe", prober.EnvName)
		f.Text.Fix = "Remove it: rewrite-probes sets it"
	default:
		return true
	}
	return false
}

const (
	httpGet = "httpGet"
	grpc    = "grpc"
)

func isHTTPS(p *vmconfig.Probe) bool {
	return p.HTTPGet != nil && p.HTTPGet.Scheme == vmconfig.HTTPS
}

// isValid reports whether istiod accepts the probe, or would once it is rewritten.
func (b *builder) isValid() bool {
	p := effective(b.original)
	err, _ := errors.AsType[*vmconfig.FieldError](p.Validate(probePath))
	if err == nil {
		return true
	}
	key := reason.VMProbeInvalid
	if last := err.Path[len(err.Path)-1].Key; last == "probe" || last == "command" {
		key = reason.VMNoHandler
		if h := handlerOf(p); *h == (pod.Handler{}) || h.Kind() == "exec" {
			err.Text += ", so Istio's agent crashes"
		}
	}
	text := err.Text
	if key == reason.VMNoHandler {
		text = "it " + text
	}
	b.add(key, err.Path, "%s", text)
	return false
}

// checkHTTPGet reports what the agent gets wrong even if the probe is rewritten.
func (b *builder) checkHTTPGet() {
	h := b.original.HTTPGet
	if h == nil {
		return
	}
	path := probePath.Key(httpGet)
	if !isOwnHost(h.Host) {
		f := b.add(reason.VMHostRemote, path.Key("host"), "%q is not the machine itself, so Istio's agent cannot reach it", h.Host)
		f.Current = h.Host
		f.Text.Why = "The agent asks from 127.0.0.6. Without `host` it asks the machine's own address"
	}
	for i, header := range h.HTTPHeaders {
		if strings.EqualFold(header.Name, "Host") && header.Name != "Host" {
			f := b.add(
				reason.VMHeaderCase,
				path.Item("httpHeaders", i).Key("name"),
				"with the header %q, Istio's agent sends two Host headers, which a server answers with 400",
				header.Name,
			)
			f.Current = header.Name
			f.Proposed = "Host"
		}
	}
}

// isOwnHost reports whether the agent reaches a host from 127.0.0.6.
func isOwnHost(host string) bool {
	if host == "" || host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Is4() && ip.IsLoopback()
}

// effective returns a copy of a probe with the defaults of Istio's agent.
func effective(p *vmconfig.Probe) *vmconfig.Probe {
	q := p.WithDefaults()
	q.FailureThreshold = cmp.Or(p.FailureThreshold, 1)
	return &q
}

// knownFields has the fields of a probe in Istio's API, and of its handlers by their names.
var knownFields = map[string][]string{
	"": {"initialDelaySeconds", timeoutSeconds, "periodSeconds", "successThreshold", "failureThreshold", httpGet, "tcpSocket", grpc, "exec"},

	httpGet:     {"path", "port", "host", "scheme", "httpHeaders"},
	"tcpSocket": {"port", "host"},
	grpc:        {"port", "service"},
	"exec":      {"command"},
}

// unknownField returns the path of a field that Istio's API does not have, and
// those that it has instead; nil if all are known.
func unknownField(probe field.Map) (path field.Path, known []string) {
	for _, e := range probe {
		if known := knownFields[""]; !slices.Contains(known, e.Key) {
			return probePath.Key(e.Key), known
		}
		handler, _ := e.Value.(field.Map)
		for _, inner := range handler {
			if known := knownFields[e.Key]; !slices.Contains(known, inner.Key) {
				return probePath.Key(e.Key, inner.Key), known
			}
		}
	}
	return nil, nil
}
