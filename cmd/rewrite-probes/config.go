package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/config"
	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/manifest"
)

const (
	// configName is the name of the functionConfig that a run finds by itself.
	configName = "rewrite-probes.yaml"
	// otherConfigName is the name of one with a slip: ignored, it would be a manifest of the folder.
	otherConfigName = "rewrite-probes.yml"
	// noConfig is the value of --config for a run that looks for none.
	noConfig = "none"
	// registryEnv is the environment variable with the registry of probe-proxy.
	registryEnv = "REWRITE_PROBES_REGISTRY"
)

// A setting is a flag that sets a field of the functionConfig. It has the name of the ConfigMap's
// key.
type setting struct {
	key, usage string
	values     func() []string // nil if any
}

var settings = []setting{
	{"mesh", "`MESH` of the pods: " + strings.Join(config.Meshes(), ", "), config.Meshes},
	{"answered-by", "`WHO` answers the rewritten probes: " + strings.Join(config.Answerers(), ", "), config.Answerers},
	{"port", "`PORT` where probe-proxy answers", nil},
	{"image", "`IMAGE` of probe-proxy", nil},
}

func (t *tool) settings() (given []config.Setting) {
	for _, s := range settings {
		if flag := t.flags.Lookup(s.key); flag.Changed {
			given = append(given, config.Setting{Key: s.key, Value: flag.Value.String()})
		}
	}
	return given
}

// load returns the config of a run over a package, which the arguments name: that of the
// flag, the ResourceList's, or the one that is near the paths.
func (t *tool) load(p *pkg, args []string) (*config.RewriteProbes, error) {
	var o *manifest.Object
	for _, s := range p.streams {
		o = cmp.Or(o, s.FunctionConfig())
	}
	var err error
	switch {
	case t.config == noConfig:
	case t.config != "" && o != nil:
		err = errors.New("--config must not be given: the ResourceList brings its own functionConfig")
	case t.config != "":
		p.config = t.config
	case o == nil:
		p.config, err = p.fence.findConfig(args)
	}
	if err == nil && p.config != "" {
		read := readNamed
		if t.config == "" {
			read = p.fence.read
		}
		o, err = readConfig(p.config, read)
	}
	if err != nil {
		return nil, err
	}
	if p.declared = o; o != nil {
		_, p.setsMTLS = o.Value(field.NewPath("spec", "istio", "mtls"))
	}
	c, err := config.Decode(o, t.settings()...)
	if err == nil {
		c.Spec.Strict = c.Spec.Strict || t.strict
		err = registryFromEnv(c)
	}
	return c, err
}

// registryFromEnv sets the registry of a config that has none.
func registryFromEnv(c *config.RewriteProbes) error {
	registry := os.Getenv(registryEnv)
	if registry == "" || c.Spec.ProbeProxy.Registry != "" {
		return nil
	}
	c.Spec.ProbeProxy.Registry = registry
	if err := config.CheckRegistry(registry); err != nil {
		return fmt.Errorf("%s: %w", registryEnv, err)
	}
	return nil
}

// readConfig reads the one object of a file.
func readConfig(name string, read func(string) ([]byte, error)) (*manifest.Object, error) {
	text, err := read(name)
	if err != nil {
		return nil, fmt.Errorf("%s: functionConfig: %w", name, err)
	}
	s, err := manifest.Read(name, text)
	if err != nil {
		return nil, config.InFunctionConfig(err)
	}
	if n := len(s.Objects()); n != 1 {
		return nil, fmt.Errorf("%s: functionConfig: must be the only object of the file, and is one of %d", name, n)
	}
	return s.Objects()[0], nil
}

// findConfig returns the functionConfig that is nearest to the arguments; "" if none is
// near. Stdin is in the current folder.
func (f *fence) findConfig(args []string) (found string, err error) {
	for i, arg := range args {
		near, err := f.nearestConfig(arg)
		if err != nil {
			return "", err
		}
		if i > 0 && realPath(near) != realPath(found) {
			const none = "no " + configName
			return "", &usageError{fmt.Errorf("%s has %s, and %s has %s: give --config FILE or --config none, or run the command for each",
				args[0], cmp.Or(found, none), arg, cmp.Or(near, none))}
		}
		found = near
	}
	return found, nil
}

// nearestConfig returns the functionConfig beside a file, in a folder, or in the nearest
// folder above, up to the root of the repository; "" if there is none.
func (f *fence) nearestConfig(arg string) (string, error) {
	dir, _ := filepath.EvalSymlinks(arg) // "" for stdin, -, which is in the current folder
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	for folder := range above(dir) {
		if name := filepath.Join(folder, configName); f.isConfigFile(name) {
			return name, nil
		}
		if other := filepath.Join(folder, otherConfigName); f.isConfigFile(other) {
			return "", fmt.Errorf("%s: functionConfig: rename it to %s, the only name that a run looks for. To use it only here, give --config", other, configName)
		}
	}
	return "", nil
}

// isConfigFile reports whether a file is meant to be a functionConfig: it is not if all of its
// objects are of other kinds. One that must not be opened is: the run fails, and does not go on
// with another.
func (f *fence) isConfigFile(name string) bool {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		return false
	}
	text, err := f.read(name)
	if err != nil {
		return true
	}
	s, err := manifest.Read(name, text)
	return err != nil || slices.ContainsFunc(s.Objects(), mayBeConfig)
}

// mayBeConfig reports whether an object is meant to be a functionConfig of this program.
func mayBeConfig(o *manifest.Object) bool { return config.MayBe(o.APIVersion(), o.Kind()) }

// configExample is shown to whoever wrote a functionConfig without saying what it is.
const configExample = `for example:
  apiVersion: rewrite-probes.io/v1alpha1
  kind: RewriteProbes
  metadata: {name: rewrite-probes}
  spec:
    mesh: linkerd
`
