package transformer

import (
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
)

// probeProxyPort returns the port on which a probe-proxy listens: that of its
// arguments, else the one where its hook goes.
func probeProxyPort(c *pod.Container) int {
	if port, given := portArgument(c.Args); given {
		return port
	}
	if waitsForItself(c) {
		if port, given := portArgument(c.Lifecycle.PostStart.Exec.Command); given {
			return port
		}
	}
	return prober.DefaultPort
}

// portArgument returns the number after portFlag.
func portArgument(args []string) (port int, given bool) {
	for i, arg := range args {
		v, ok := strings.CutPrefix(arg, portFlag+"=")
		if arg == portFlag && i+1 < len(args) {
			v, ok = args[i+1], true
		}
		if n, err := strconv.Atoi(v); ok && err == nil {
			return n, true
		}
	}
	return 0, false
}

// waitsForItself reports whether a container has the postStart hook of a probe-proxy.
func waitsForItself(c *pod.Container) bool {
	if c.Lifecycle == nil ||
		c.Lifecycle.PostStart == nil ||
		c.Lifecycle.PostStart.Exec == nil {
		return false
	}
	command := c.Lifecycle.PostStart.Exec.Command
	return len(command) > 1 &&
		command[0] == prober.Program &&
		command[1] == prober.WaitCommand
}

// isProbeProxy reports whether we added a container with originals: it has probe-proxy's
// postStart hook, or an image of probe-proxy's. A name or a probe does not show it: its author
// may have written the same, and a container of ours may be deleted.
func (p *ProbeProxy) isProbeProxy(c *pod.Container) bool {
	if waitsForItself(c) {
		return true
	}
	name := imageName(c.Image)
	return name == imageName(p.ImageToRun()) || name == imageName((&ProbeProxy{}).ImageToRun())
}

// imageName returns the name of an image, without its tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name, _ := splitImage(image)
	return name
}

// portFlag is the flag of probe-proxy for its port.
const portFlag = "--port"

// splitImage returns the name and the tag of an image. One with a digest has no tag, and its name is nobody else's.
func splitImage(image string) (name, tag string) {
	i := strings.LastIndexByte(image, ':')
	if i <= strings.LastIndexByte(image, '/') {
		return image, ""
	}
	return image[:i], image[i+1:]
}
