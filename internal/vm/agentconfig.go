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
)

// An agentConfig is what is read of the annotation proxy.istio.io/config of the group,
// which is YAML, and of that of its WorkloadEntries, which istioctl lets override it.
// Their proxyMetadata become env vars of the agent.
type agentConfig struct {
	text           *string // nil if the group has no annotation
	group, entries fragment
	statusPort     int
	probers        map[string]*prober.Original // in the group's env var; nil if they cannot be read

	// key and entry are those of the env var if it has one original alone, of a
	// readiness probe.
	key   string
	entry *prober.Original
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

// variables returns the env vars that a rewritten probe needs; key is its path.
func variables(key string, original *prober.Original) field.KeyValues {
	set := field.KeyValues{{Key: prober.EnvName, Value: prober.Encode(map[string]*prober.Original{key: original})}}
	if hasHost(original) {
		set = append(set, field.KeyValue{Key: localhostEnv, Value: "true"})
	}
	return set
}

// hasHost reports whether an original asks localhost.
func hasHost(original *prober.Original) bool {
	return original.HTTPGet != nil && original.HTTPGet.Host != ""
}

// entryConfigPath leads to the annotation of the group's WorkloadEntries.
var entryConfigPath = field.NewPath("spec", "metadata", annotations, ConfigAnnotation)

// readAgentConfig reads both annotations. An error is about the one at path.
func readAgentConfig(g *Group) (c agentConfig, path field.Path, err error) {
	path = annotationPath(ConfigAnnotation)
	text, set := g.annotations().Lookup(ConfigAnnotation)
	if set {
		c.text = &text
	}
	if c.group, err = parseConfig(text); err == nil {
		path = entryConfigPath
		c.entries, err = parseConfig(g.Spec.Metadata.Annotations.Get(ConfigAnnotation))
	}
	c.statusPort = cmp.Or(c.entries.port, c.group.port, prober.StatusPort)
	c.readEnv()
	return c, path, err
}

func (c *agentConfig) readEnv() {
	probers, bad, err := prober.Decode(c.group.ProxyMetadata.Get(prober.EnvName))
	if err != nil || len(bad) > 0 {
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
	where := ""
	text := strings.Join(strings.Fields(err.Error()), " ")
	if e, ok := errors.AsType[*manifest.Error](err); ok && e.Line > 0 {
		where = fmt.Sprintf("line %d of its value: ", e.Line)
		text = e.Message()
		if len(e.Path) > 0 {
			text = fmt.Sprintf("`%s`: %s", e.Path, text)
		}
	}
	return fmt.Errorf("must be YAML that Istio's agent can read: %s%s", where, text)
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

var metadataPath = field.NewPath("proxyMetadata")

// withEnv returns the value of the annotation with env vars; base is nil if there is no
// annotation.
func withEnv(base *string, vars field.KeyValues) (string, error) {
	text := "proxyMetadata:\n"
	if base != nil && !isBlank(*base) {
		text = *base
	}
	var edits []field.Edit
	for _, v := range vars {
		edits = append(edits, field.Edit{Op: field.Set, Path: metadataPath.Key(v.Key), Value: v.Value})
	}
	return editYAML(text, edits...)
}

// withoutEnv undoes withEnv; it returns nil if nothing is left. before is the
// user's value as an earlier run noted it, nil if that noted none.
func withoutEnv(text string, vars field.KeyValues, before *string) (*string, error) {
	_, o, err := readYAML(text)
	if err != nil {
		return nil, err
	}
	valueBefore := func(field.Path) (field.Value, bool) {
		return nil, false
	}
	if before != nil {
		if _, o, err := readYAML(*before); err == nil { // it may be blank
			valueBefore = o.Value
		}
	}
	var edits []field.Edit
	removed := 0
	for _, v := range vars {
		path := metadataPath.Key(v.Key)
		if was, set := valueBefore(path); set {
			edits = append(edits, field.Edit{Op: field.Set, Path: path, Value: was})
		} else if _, there := o.Value(path); there { // or the user has removed it since
			edits = append(edits, field.Edit{Op: field.Delete, Path: path})
			removed++
		}
	}
	if sizeOf(o.Value(metadataPath)) == removed {
		emptied := field.Edit{Op: field.Delete, Path: metadataPath}
		if was, set := valueBefore(metadataPath); set && sizeOf(was, set) == 0 {
			emptied = field.Edit{Op: field.Set, Path: metadataPath, Value: was}
		}
		if emptied.Op == field.Delete && sizeOf(o.Value(nil)) == 1 {
			return nil, nil
		}
		edits = []field.Edit{emptied}
	}
	text, err = editYAML(text, edits...)
	return &text, err
}

// sizeOf returns how many entries a value that was looked up has, if it is a mapping.
func sizeOf(v field.Value, _ bool) int {
	m, _ := v.(field.Map)
	return len(m)
}
