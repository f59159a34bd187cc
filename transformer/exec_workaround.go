package transformer

import (
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// ExecWorkarounds returns a finding for each exec probe whose command makes a request to
// the pod itself that the kubelet could make, with that probe as the proposed value.
func ExecWorkarounds(in *Input) (found []Finding) {
	for at, c := range in.Template.Spec.containers() {
		for _, s := range sitesOf(in.SpecPath(), at, c) {
			if s.name.IsHook() || s.current.Exec == nil {
				continue
			}
			tool, native := nativeHandler(s.current.Exec.Command, in.shellVariable(at, c))
			if native == nil {
				continue
			}
			kind, _ := native.Kind()
			f := containerFinding("exec-workaround", s.path, c.Name,
				"runs %s to ask the pod itself, which the kubelet can do with %s, if the app listens on the pod's IP and not on 127.0.0.1 alone", tool, native)
			f.Current = field.Map{{Key: "exec", Value: s.current.Value()}}
			f.Proposed = field.Map{{Key: kind, Value: native.Value()}}
			found = append(found, f)
		}
	}
	return found
}

// shellVariable returns the function that returns a variable of a container: its value
// or, for the pod's IP, "localhost". ok is false if it is not known, or a shell would
// split or expand the value.
func (in *Input) shellVariable(at containerRef, c *Container) func(name string) (value string, ok bool) {
	return func(name string) (string, bool) {
		i := slices.IndexFunc(c.Env, func(e EnvVar) bool { return e.Name == name })
		switch {
		case i < 0:
			return "", false
		case c.Env[i].Value != nil:
			return *c.Env[i].Value, plainValue.MatchString(*c.Env[i].Value)
		}
		v, _ := in.Source(in.SpecPath().Item(at.list(), at.index).Item("env", i).Key("valueFrom", "fieldRef", "fieldPath"))
		return "localhost", v == "status.podIP"
	}
}

var (
	plainValue = regexp.MustCompile(`^[A-Za-z0-9._/:-]+$`)
	// harmless is what may follow a command without a change of its status.
	harmless = regexp.MustCompile(`(\s+[12]?>\s*/dev/null|>\s*/dev/null|\s+2>&1|\s*\|\|\s*exit\s+1)\s*;?\s*$`)
	variable = regexp.MustCompile(`\$(\{\w+\}|\w+)`)
	// shellToken is blank space, or a part of a word that a shell takes as it is, except
	// for the variables in it.
	shellToken = regexp.MustCompile("^(?:[ \t]+|'[^']*'|\"[^\"\\\\`]*\"|(?:[^ \t'\"$|&;<>(){}*~#!\n\r\\\\`]|\\$\\w+|\\$\\{\\w+\\})+)")
)

// nativeHandler returns the handler that does what a command does, and the command's
// tool; nil unless that is certain.
func nativeHandler(command []string, variable func(string) (string, bool)) (tool string, native *Handler) {
	if len(command) == 3 && slices.Contains([]string{"sh", "bash", "ash", "dash"}, path.Base(command[0])) &&
		slices.Contains([]string{"-c", "-ec", "-lc", "-ce"}, command[1]) {
		command = shellWords(command[2], variable)
	}
	if len(command) < 2 {
		return "", nil
	}
	tool = path.Base(command[0])
	switch tool {
	case "curl":
		return tool, httpCommand(command[1:], curl)
	case "wget":
		return tool, httpCommand(command[1:], wget)
	case "nc", "ncat", "netcat":
		return tool, netcat(command[1:])
	case "grpc_health_probe", "grpc-health-probe":
		return tool, grpcHealthProbe(command[1:])
	}
	return tool, nil
}

// shellWords returns the words of a script that is one command; nil if it is more.
func shellWords(script string, value func(string) (string, bool)) (words []string) {
	for at := harmless.FindStringIndex(script); at != nil; at = harmless.FindStringIndex(script) {
		script = script[:at[0]]
	}
	script = strings.TrimPrefix(strings.TrimSpace(script), "exec ")
	inWord := false
	for script != "" {
		token := shellToken.FindString(script)
		script = script[len(token):]
		if strings.Trim(token, " \t") == "" {
			if inWord = false; token == "" {
				return nil
			}
			continue
		}
		text, known := token, true
		if quote := token[:1]; quote == "'" || quote == `"` {
			text = token[1 : len(token)-1]
		}
		if token[0] != '\'' {
			text = variable.ReplaceAllStringFunc(text, func(name string) string {
				v, ok := value(strings.Trim(name, "${}"))
				known = known && ok
				return v
			})
			known = known && !strings.Contains(text, "$")
		}
		if !known {
			return nil
		}
		if !inWord {
			words, inWord = append(words, ""), true
		}
		words[len(words)-1] += text
	}
	return words
}

// A httpTool says what the options of a command mean that makes an HTTP request. Options
// that are not named may change what the command's status says.
type httpTool struct {
	flags, values []string // without effect on the status; values take an argument
	header        []string // take a header
	unverified    []string // switch off the verification of certificates
	needed        []string // one of them is needed
}

var (
	curl = httpTool{
		flags:      []string{"-s", "--silent", "-S", "--show-error", "-L", "--location", "-v", "--verbose"},
		values:     []string{"-o", "--output", "-m", "--max-time", "--connect-timeout", "--noproxy"},
		header:     []string{"-H", "--header"},
		unverified: []string{"-k", "--insecure"},
		needed:     []string{"-f", "--fail"},
	}
	wget = httpTool{
		flags:      []string{"-q", "--quiet", "-nv", "--no-verbose", "-S", "--server-response"},
		values:     []string{"-T", "--timeout", "-t", "--tries"},
		header:     []string{"--header"},
		unverified: []string{"--no-check-certificate"},
		needed:     []string{"--spider", "-O", "--output-document"},
	}
)

// knows reports whether the meaning of an option is known, and takesValue whether it has
// an argument.
func (t httpTool) knows(name string) bool {
	return slices.Contains(slices.Concat(t.flags, t.values, t.header, t.unverified, t.needed), name)
}

func (t httpTool) takesValue(name string) bool {
	return name == "-O" || name == "--output-document" || slices.Contains(t.values, name) || slices.Contains(t.header, name)
}

// httpCommand returns the httpGet that does what the arguments of a tool mean.
func httpCommand(args []string, tool httpTool) *Handler {
	var target string
	h := &HTTPGet{}
	needed, unverified := false, false
	for i := 0; i < len(args); i++ {
		name, value, inline := option(args[i])
		switch {
		case name != "" && name[0] != '-':
			if target != "" {
				return nil
			}
			target = args[i]
			continue
		case tool.knows(name):
		case len(name) > 2 && name[1] != '-':
			args, i = slices.Replace(slices.Clone(args), i, i+1, splitFlags(name)...), i-1
			continue
		default:
			return nil
		}
		if tool.takesValue(name) && !inline {
			if i++; i >= len(args) {
				return nil
			}
			value = args[i]
		}
		if slices.Contains(tool.header, name) && !addHeader(h, value) {
			return nil
		}
		needed = needed || slices.Contains(tool.needed, name)
		unverified = unverified || slices.Contains(tool.unverified, name)
	}
	if !needed || !setURL(h, target) || h.Scheme == "HTTPS" && !unverified {
		return nil
	}
	return &Handler{HTTPGet: h}
}

// option splits --name=value.
func option(arg string) (name, value string, inline bool) {
	if strings.HasPrefix(arg, "--") {
		return strings.Cut(arg, "=")
	}
	return arg, "", false
}

// splitFlags splits short options that are written as one: -fsS, -qO-, -o/dev/null. What
// follows one that takes a value is the value.
func splitFlags(word string) (args []string) {
	for i := 1; i < len(word); i++ {
		args = append(args, "-"+word[i:i+1])
		if strings.IndexByte("oOmHTt", word[i]) >= 0 && i+1 < len(word) {
			return append(args, word[i+1:])
		}
	}
	return args
}

// addHeader adds a header "Name: value", and reports whether it is one.
func addHeader(h *HTTPGet, line string) bool {
	name, value, colon := strings.Cut(line, ":")
	h.HTTPHeaders = append(h.HTTPHeaders, HTTPHeader{Name: name, Value: strings.TrimSpace(value)})
	return colon && name != "" && strings.TrimSpace(value) != ""
}

// setURL sets what a URL of the pod itself names, and reports whether it is one.
func setURL(h *HTTPGet, target string) bool {
	if target == "" || strings.ContainsAny(target, "{}#@ ") {
		return false
	}
	if !strings.Contains(target, "://") {
		target = "http://" + target
	}
	u, err := url.Parse(target)
	if err != nil || !isLocal(u.Hostname()) {
		return false
	}
	port := u.Port()
	switch {
	case u.Scheme == "https":
		h.Scheme = "HTTPS"
		if port == "" {
			port = "443"
		}
	case u.Scheme != "http":
		return false
	case port == "":
		port = "80"
	}
	h.Path = u.RequestURI()
	return setPort(&h.Port, port)
}

// isLocal reports whether a host is the pod itself.
func isLocal(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

func setPort(to *field.IntOrString, text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	*to = field.Number(int(n))
	return err == nil && n > 0
}

// netcat returns the tcpSocket that does what nc does with -z: connect and hang up.
func netcat(args []string) *Handler {
	var words []string
	zero := false
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			words = append(words, args[i])
			continue
		}
		flags := strings.TrimLeft(args[i][1:], "zvn4")
		zero = zero || strings.Contains(args[i], "z")
		switch {
		case flags == "w":
			i++
		case flags != "" && (flags[0] != 'w' || strings.Trim(flags[1:], "0123456789") != ""):
			return nil
		}
	}
	t := &TCPSocket{}
	if !zero || len(words) != 2 || !isLocal(strings.Trim(words[0], "[]")) || !setPort(&t.Port, words[1]) {
		return nil
	}
	return &Handler{TCPSocket: t}
}

// grpcHealthProbe returns the grpc probe that does what grpc_health_probe does without
// TLS.
func grpcHealthProbe(args []string) *Handler {
	g := &GRPC{}
	found := false
	for i := 0; i < len(args); i++ {
		name, value, inline := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-"), "=")
		if !strings.HasPrefix(args[i], "-") {
			return nil
		}
		if name == "v" {
			continue
		}
		if !inline {
			if i++; i >= len(args) {
				return nil
			}
			value = args[i]
		}
		switch name {
		case "addr":
			host, port, err := net.SplitHostPort(value)
			if found = err == nil && (host == "" || isLocal(host)) && setPort(&g.Port, port); !found {
				return nil
			}
		case "service":
			service := value
			g.Service = &service
		case "connect-timeout", "rpc-timeout":
		default:
			return nil
		}
	}
	if !found {
		return nil
	}
	return &Handler{GRPC: g}
}
