package transformer

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
	"github.com/rewrite-probes/rewrite-probes/internal/pod"
	"github.com/rewrite-probes/rewrite-probes/internal/prober"
	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

// findExecWorkarounds adds a finding for each exec probe whose command makes a request to
// the pod itself that the kubelet could make, with that probe as the proposed value.
func findExecWorkarounds(d *decision) (found []Finding) {
	for _, s := range d.sites {
		if s.name.IsHook() || s.current.Exec == nil {
			continue
		}
		tool, native := nativeHandler(s.current.Exec.Command)
		if native == nil {
			continue
		}
		mode := ""
		if native.GRPC != nil && native.GRPC.Mode != "" { // of the API since Kubernetes 1.37; probe-proxy has it in any
			mode = " with `mode: " + native.GRPC.Mode + "`"
		}
		f := containerFinding(reason.ExecWorkaround, s.path, s.container.Name,
			"it runs %s to ask the pod itself, as the kubelet can", tool).
			Fix("If the app listens on the pod's IP, write `%s`%s", native, mode)
		f.Current = field.Map{{Key: "exec", Value: field.As[field.Map](s.source, "exec")}}
		f.Proposed = field.Map{{Key: native.Kind(), Value: native.Value()}}
		found = append(found, f)
	}
	return found
}

const (
	itself  = `(?:localhost|127\.0\.0\.1|\[::1\])`
	itsURL  = ` (?:http://|(?P<scheme>https)://)?` + itself + `(?::(?P<port>\d{1,5}))?(?P<path>/[\w./?=&~+,:;-]*)?`
	itsPort = ` (?:localhost|127\.0\.0\.1|::1) (?P<port>\d{1,5})`
)

// requestTools have the arguments, each after a blank, with which a tool asks the pod itself.
// Options that may change what the tool's status says are not among them.
var requestTools = map[string]func() *regexp.Regexp{
	"curl":              arguments(`-[fksSLv]+|--(?:fail|insecure|silent|show-error|location|verbose)|(?:-[fksSLv]*[om] ?|--(?:output|max-time|connect-timeout|noproxy) )[^ -][^ ]*`, itsURL),
	"wget":              arguments(`-[qS]+|-nv|--(?:quiet|no-verbose|server-response|spider|no-check-certificate|(?:timeout|tries)=\d+|output-document=(?:-|/dev/null))|-[qS]*(?:[Tt] ?\d+|O ?(?:-|/dev/null))`, itsURL),
	"nc":                arguments(`-[4nvz]+|-[4nvz]*w ?\d+`, itsPort),
	"netcat":            arguments(`-[4nvz]+|-[4nvz]*w ?\d+`, itsPort),
	"grpc_health_probe": arguments(`--?(?:v|(?P<scheme>tls)|tls-no-verify|(?:connect|rpc)-timeout[= ]\d+m?s|service[= ](?P<service>[^ -][^ ]*)|addr[= ]`+itself+`?:(?P<port>\d{1,5}))`, ""),
}

// neededOption is one without which the status says less, such as that there was an answer of
// any kind, and unverified one that switches off the verification of certificates.
var (
	neededOption = compiled(` -[ksSLv]*f| --fail| --spider| -[qS]*O| --output-document| -[4nv]*z| --?addr`)
	unverified   = compiled(` -[fsSLv]*k| --insecure| --no-check-certificate| --?tls-no-verify`)
)

func arguments(options, target string) func() *regexp.Regexp {
	return compiled("^(?: (?:" + options + "))*" + target + "$")
}

// compiled returns an expression that is compiled at the first use: most runs need none.
func compiled(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(text)
	})
}

// shellPlain are the characters that a shell takes as they are.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./:=,_+- "

// portOfScheme is the port of a URL that names none.
var portOfScheme = map[string]string{"": "80", "https": "443"}

// withoutShell returns the command that a shell runs, if it is a plain one.
func withoutShell(command []string) []string {
	if len(command) != 3 ||
		!isShell(command[0]) ||
		command[1] != "-c" {
		return command
	}
	script := strings.TrimSuffix(command[2], " || exit 1")
	if strings.Trim(script, shellPlain) != "" {
		return command
	}
	return strings.Fields(script)
}

func isShell(program string) bool {
	name := path.Base(program)
	return name == "sh" || name == "bash"
}

// nativeHandler returns the handler that does what a command does, and the command's
// tool; nil unless that is certain.
func nativeHandler(command []string) (tool string, native *pod.Handler) {
	if command = withoutShell(command); len(command) < 2 {
		return "", nil
	}
	tool = path.Base(command[0])
	form, isTool := requestTools[tool]
	args := " " + strings.Join(command[1:], " ")
	hasSpaces := !slices.Equal(strings.Fields(args), command[1:])
	if !isTool ||
		hasSpaces ||
		!form().MatchString(args) ||
		!neededOption().MatchString(args) {
		return tool, nil
	}
	part := func(name string) string {
		return form().ReplaceAllString(args, "${"+name+"}")
	}
	scheme := part("scheme")
	isUnverified := unverified().MatchString(args)
	if scheme != "" && !isUnverified || scheme == "" && isUnverified && tool == "grpc_health_probe" {
		return tool, nil
	}
	number, _ := strconv.Atoi(cmp.Or(part("port"), portOfScheme[scheme]))
	if _, err := pod.InRange(int64(number)); err != nil {
		return tool, nil
	}
	switch port := field.Number(number); tool {
	case "curl", "wget":
		get := &pod.HTTPGet{
			Path:   cmp.Or(part("path"), "/"),
			Port:   port,
			Scheme: strings.ToUpper(scheme),
		}
		return tool, &pod.Handler{HTTPGet: get}
	case "grpc_health_probe":
		native = &pod.Handler{GRPC: &pod.GRPC{Port: port, Service: new(part("service"))}}
		if scheme != "" {
			native.GRPC.Mode = prober.GRPCTLS
		}
		return tool, native
	default:
		return tool, &pod.Handler{TCPSocket: &pod.TCPSocket{Port: port}}
	}
}
