package vm

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/transformer"
)

// An agentConfig is what is read of the annotation proxy.istio.io/config, which is
// YAML. Its proxyMetadata become env vars of the agent.
type agentConfig struct {
	text       *string // nil if the annotation is not there
	statusPort int
	env        string // the value of the env var with the originals
	hasEnv     bool
	probers    map[string]*prober.Prober
	overridden bool // the annotation of the WorkloadEntries has the env var too
	elsewhere  bool // likewise localhostEnv, and not as the status server needs it
	localhost  bool // the status server asks localhost

	// key and entry are those of the env var if it has one original alone, of a
	// readiness probe.
	key   string
	entry *prober.Prober
}

// A fragment is the part of the YAML that is read.
type fragment struct {
	StatusPort    field.IntOrString `json:"statusPort"` // Istio reads numbers in quotes too
	ProxyMetadata field.KeyValues   `json:"proxyMetadata"`
	port          int               // that of StatusPort, 0 if it is not set
}

// localhostEnv sends every probe that the agent's status server makes to localhost
// instead of the machine's own address, if it is true.
const localhostEnv = "REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION"

// asksLocalhost reports whether proxyMetadata send the probes to localhost. Istio
// reads an env var as strconv does.
func asksLocalhost(proxyMetadata field.KeyValues) bool {
	on, err := strconv.ParseBool(proxyMetadata.Get(localhostEnv))
	return err == nil && on
}

// entryConfigPath leads to the annotation of the group's WorkloadEntries. istioctl
// lets it override that of the group.
var entryConfigPath = field.NewPath("spec", "metadata", annotations, ConfigAnnotation)

// readAgentConfig reads both annotations. An error is about the one at path.
func readAgentConfig(g *Group) (c agentConfig, path field.Path, err error) {
	path = annotationPath(ConfigAnnotation)
	text, set := g.Metadata.Annotations.Lookup(ConfigAnnotation)
	if set {
		c.text = &text
	}
	ofGroup, err := parseConfig(text)
	var ofEntries fragment
	if err == nil {
		path = entryConfigPath
		ofEntries, err = parseConfig(g.Spec.Metadata.Annotations.Get(ConfigAnnotation))
	}
	c.statusPort = cmp.Or(ofEntries.port, ofGroup.port, prober.StatusPort)
	c.env, c.hasEnv = ofGroup.ProxyMetadata.Lookup(prober.EnvName)
	c.readEnv()
	_, c.overridden = ofEntries.ProxyMetadata.Lookup(prober.EnvName)
	c.localhost = asksLocalhost(ofGroup.ProxyMetadata)
	if _, set := ofEntries.ProxyMetadata.Lookup(localhostEnv); set {
		c.localhost = asksLocalhost(ofEntries.ProxyMetadata)
		c.elsewhere = !c.localhost
	}
	return c, path, err
}

func (c *agentConfig) readEnv() {
	probers, bad, err := prober.Istio.Decode(c.env)
	if !c.hasEnv || err != nil || len(bad) > 0 {
		return
	}
	c.probers = probers
	for key, p := range probers {
		if _, of, _ := prober.ParseKey(key); len(probers) == 1 && of == prober.Readiness && p.TCPSocket == nil {
			c.key, c.entry = key, p
		}
	}
}

// parseConfig reads a value of the annotation.
func parseConfig(text string) (f fragment, err error) {
	if isBlank(text) {
		return f, nil
	}
	_, o, err := readYAML(text)
	if err == nil {
		_, err = o.Decode(nil, &f)
	}
	if err != nil {
		return fragment{}, inOneLine(err)
	}
	if port := f.StatusPort.String(); port != "0" {
		if f.port, err = strconv.Atoi(port); err != nil || f.port < 1 || f.port > 65535 {
			return fragment{}, fmt.Errorf("`statusPort`: %q must be a port from 1 to 65535", port)
		}
	}
	return f, nil
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// readYAML reads a text that must be one mapping.
func readYAML(text string) (*manifest.Stream, *manifest.Object, error) {
	s, err := manifest.Read("", []byte(strings.TrimSuffix(text, "\n")+"\n"))
	if err != nil {
		return nil, nil, err
	}
	if len(s.Objects()) != 1 {
		return nil, nil, errors.New("must be one mapping")
	}
	return s, s.Objects()[0], nil
}

// inOneLine returns an error about the YAML in the annotation.
func inOneLine(err error) error {
	where, text := "", err.Error()
	if e, ok := errors.AsType[*manifest.Error](err); ok {
		text = e.Err.Error()
		if len(e.Path) > 0 {
			text = fmt.Sprintf("`%s`: %s", e.Path, text)
		}
		if e.Line > 0 {
			where = fmt.Sprintf("line %d of its value: ", e.Line)
		}
	}
	return fmt.Errorf("must be YAML that Istio's agent can read: %s%s", where, strings.Join(strings.Fields(text), " "))
}

// editYAML makes edits in a text, and keeps the rest of it.
func editYAML(text string, edits ...field.Edit) (string, error) {
	s, o, err := readYAML(text)
	if err == nil {
		err = o.Apply(edits)
	}
	if err != nil {
		return "", err
	}
	b, err := s.Text()
	out := string(b)
	if !strings.HasSuffix(text, "\n") {
		out = strings.TrimSuffix(out, "\n")
	}
	return out, err
}

const proxyMetadata = "proxyMetadata"

var metadataPath = field.NewPath(proxyMetadata)

// withEnv returns the value of the annotation with the env var for the originals;
// base is nil if there is no annotation. localhost says that the original asks
// localhost.
func withEnv(base *string, env string, localhost bool) (string, error) {
	set := field.KeyValues{{Key: prober.EnvName, Value: env}}
	text := ""
	if base != nil {
		text = *base
	}
	f, _ := parseConfig(text) // readAgentConfig has reported its errors
	if localhost && !asksLocalhost(f.ProxyMetadata) {
		set = set.With(localhostEnv, "true")
	}
	if isBlank(text) {
		text = "proxyMetadata:\n"
		for _, v := range set {
			text += "  " + v.Key + ": '" + strings.ReplaceAll(v.Value, "'", "''") + "'\n"
		}
		return text, nil
	}
	var edits []field.Edit
	for _, v := range set {
		edits = append(edits, field.Edit{Op: field.Set, Path: metadataPath.Key(v.Key), Value: v.Value})
	}
	return editYAML(text, edits...)
}

// withoutEnv undoes withEnv; it returns nil if nothing is left. before is the
// user's value as an earlier run noted it, nil if that noted none; r has what
// emptyMetadata returned for it.
func withoutEnv(text string, localhost bool, before *string, r transformer.Record) (*string, error) {
	_, o, err := readYAML(text)
	if err != nil {
		return nil, err
	}
	ours := []string{prober.EnvName}
	if localhost {
		ours = append(ours, localhostEnv)
	}
	var user fragment
	if before != nil {
		user, _ = parseConfig(*before) // it could be read in the run that noted it
	}
	var edits []field.Edit
	removed := 0
	for _, key := range ours {
		path := metadataPath.Key(key)
		if was, set := user.ProxyMetadata.Lookup(key); set {
			edits = append(edits, field.Edit{Op: field.Set, Path: path, Value: was})
		} else if _, there := o.Value(path); there { // or the user has removed it since
			edits = append(edits, field.Edit{Op: field.Delete, Path: path})
			removed++
		}
	}
	if sizeAt(o, metadataPath) == removed {
		emptied := r.Emptied(metadataPath)
		if emptied.Op == field.Delete && sizeAt(o, nil) == 1 {
			return nil, nil
		}
		edits = []field.Edit{emptied}
	}
	text, err = editYAML(text, edits...)
	return &text, err
}

// sizeAt returns how many entries the mapping at a path has.
func sizeAt(o *manifest.Object, path field.Path) int {
	v, _ := o.Value(path)
	m, _ := v.(field.Map)
	return len(m)
}

// emptyMetadata returns the proxyMetadata of a value of the annotation if it is
// there without contents, else nil.
func emptyMetadata(text string) field.Map {
	_, o, err := readYAML(text)
	if err != nil {
		return nil
	}
	v, there := o.Value(metadataPath)
	if m, isMap := v.(field.Map); there && (v == nil || isMap && len(m) == 0) {
		return field.Map{{Key: proxyMetadata, Value: v}}
	}
	return nil
}
