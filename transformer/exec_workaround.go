package transformer

import (
	"cmp"
	"flag"
	"io"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rewrite-probes/rewrite-probes/internal/field"
)

// findExecWorkarounds adds a finding for each exec probe whose command makes a request to
// the pod itself that the kubelet could make, with that probe as the proposed value.
func (b *planBuilder) findExecWorkarounds() {
	for _, s := range b.sites {
		if s.name.IsHook() || s.current.Exec == nil {
			continue
		}
		tool, native := nativeHandler(s.current.Exec.Command, b.shellVariable(s))
		if native == nil {
			continue
		}
		f := containerFinding("exec-workaround", s.path, s.container.Name,
			"runs %s to ask the pod itself, which the kubelet can do with %s, if the app listens on the pod's IP and not on 127.0.0.1 alone", tool, native)
		f.Current = field.Map{{Key: "exec", Value: field.As[field.Map](s.source, "exec")}}
		f.Proposed = field.Map{{Key: native.Kind(), Value: native.Value()}}
		b.addFinding(f)
	}
}

// shellVariable returns the function that returns a variable of a probe's container: its
// value or, for the pod's IP, "localhost". ok is false if it is not known, or a shell would
// split or expand the value.
func (b *planBuilder) shellVariable(s *handlerSite) func(name string) (value string, ok bool) {
	return func(name string) (string, bool) {
		env := s.container.Env
		i := slices.IndexFunc(env, func(e EnvVar) bool { return e.Name == name })
		switch {
		case i < 0:
			return "", false
		case env[i].Value != nil:
			return *env[i].Value, shellForms().plainValue.MatchString(*env[i].Value)
		}
		v, _ := b.in.Source(b.containerPath(s.at).Item("env", i).Key("valueFrom", "fieldRef", "fieldPath"))
		return "localhost", v == "status.podIP"
	}
}

// shellForms has the forms of a shell's text. They are compiled at the first use: most runs need none.
var shellForms = sync.OnceValue(func() (f struct{ plainValue, harmless, variable, token *regexp.Regexp }) {
	f.plainValue = regexp.MustCompile(`^[A-Za-z0-9._/:-]+$`)
	// harmless is what may follow a command without a change of its status.
	f.harmless = regexp.MustCompile(`(\s+[12]?>\s*/dev/null|>\s*/dev/null|\s+2>&1|\s*\|\|\s*exit\s+1)\s*;?\s*$`)
	f.variable = regexp.MustCompile(`\$(\{\w+\}|\w+)`)
	// token is blank space, or a part of a word that a shell takes as it is, except
	// for the variables in it.
	f.token = regexp.MustCompile("^(?:[ \t]+|'[^']*'|\"[^\"\\\\`]*\"|(?:[^ \t'\"$|&;<>(){}*~#!\n\r\\\\`]|\\$\\w+|\\$\\{\\w+\\})+)")
	return f
})

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
	forms := shellForms()
	for at := forms.harmless.FindStringIndex(script); at != nil; at = forms.harmless.FindStringIndex(script) {
		script = script[:at[0]]
	}
	script = strings.TrimPrefix(strings.TrimSpace(script), "exec ")
	inWord := false
	for script != "" {
		token := forms.token.FindString(script)
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
			text = forms.variable.ReplaceAllStringFunc(text, func(name string) string {
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

// What an option of a command does that makes a request. One that is not named may
// change what the command's status says.
const (
	ignored      = iota + 1 // it does not change the status
	unverified              // it switches off the verification of certificates
	needed                  // one of these is needed
	ignoredValue            // it takes an argument, as all that follow do
	neededWithValue
	header
	duration // of netcat, with or without a unit
)

var (
	curl = map[string]int{
		"-s": ignored, "--silent": ignored, "-S": ignored, "--show-error": ignored,
		"-L": ignored, "--location": ignored, "-v": ignored, "--verbose": ignored,
		"-o": ignoredValue, "--output": ignoredValue, "-m": ignoredValue, "--max-time": ignoredValue,
		"--connect-timeout": ignoredValue, "--noproxy": ignoredValue,
		"-H": header, "--header": header, "-k": unverified, "--insecure": unverified, "-f": needed, "--fail": needed,
	}
	wget = map[string]int{
		"-q": ignored, "--quiet": ignored, "-nv": ignored, "--no-verbose": ignored, "-S": ignored, "--server-response": ignored,
		"-T": ignoredValue, "--timeout": ignoredValue, "-t": ignoredValue, "--tries": ignoredValue,
		"--header": header, "--no-check-certificate": unverified,
		"--spider": needed, "-O": neededWithValue, "--output-document": neededWithValue,
	}
	nc = map[string]int{"-z": needed, "-v": ignored, "-n": ignored, "-4": ignored, "-w": duration}
)

// parseArgs returns what a tool's arguments mean: those that are no options, the headers, and what
// the options do, which is nil if one of them is not known or the one that is needed is missing.
func parseArgs(args []string, tool map[string]int) (operands, headers []string, does map[int]bool) {
	does = make(map[int]bool)
	for len(args) > 0 {
		name, value, inline := option(args[0])
		args = args[1:]
		known := tool[name]
		switch {
		case !strings.HasPrefix(name, "-"):
			operands = append(operands, name)
			continue
		case known == 0 && len(name) > 2:
			args = append(splitFlags(name, tool), args...)
			continue
		case known == 0, known >= ignoredValue && !inline && len(args) == 0:
			return nil, nil, nil
		case known >= ignoredValue && !inline:
			value, args = args[0], args[1:]
		}
		switch does[known] = true; known {
		case header:
			headers = append(headers, value)
		case duration:
			if _, err := strconv.ParseUint(strings.TrimRight(value, "hms"), 10, 31); err != nil {
				return nil, nil, nil
			}
		}
	}
	if !does[needed] && !does[neededWithValue] {
		return nil, nil, nil
	}
	return operands, headers, does
}

// httpCommand returns the httpGet that does what the arguments of a tool mean.
func httpCommand(args []string, tool map[string]int) *Handler {
	operands, headers, does := parseArgs(args, tool)
	h := &HTTPGet{}
	if len(operands) != 1 || !setURL(h, operands[0]) || h.Scheme == "HTTPS" && !does[unverified] {
		return nil
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); name == "" || value == "" {
			return nil
		}
		h.HTTPHeaders = append(h.HTTPHeaders, HTTPHeader{Name: name, Value: value})
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
func splitFlags(word string, tool map[string]int) (args []string) {
	for i := 1; i < len(word); i++ {
		name := "-" + word[i:i+1]
		args = append(args, name)
		if tool[name] >= ignoredValue && i+1 < len(word) {
			return append(args, word[i+1:])
		}
	}
	return args
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
	byDefault := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if u.Scheme == "https" {
		h.Scheme = "HTTPS"
	}
	h.Path = u.RequestURI()
	return byDefault != "" && setPort(&h.Port, cmp.Or(u.Port(), byDefault))
}

func isLocal(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

func setPort(to *field.IntOrString, text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	*to = field.Number(int(n))
	return err == nil && n > 0
}

// netcat returns the tcpSocket that does what nc does with -z: connect and hang up.
func netcat(args []string) *Handler {
	operands, _, _ := parseArgs(args, nc)
	t := &TCPSocket{}
	if len(operands) != 2 || !isLocal(strings.Trim(operands[0], "[]")) || !setPort(&t.Port, operands[1]) {
		return nil
	}
	return &Handler{TCPSocket: t}
}

// grpcHealthProbe returns the grpc probe that does what grpc_health_probe does without
// TLS.
func grpcHealthProbe(args []string) *Handler {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	addr, service := flags.String("addr", "", ""), flags.String("service", "", "")
	flags.Bool("v", false, "")
	flags.Duration("connect-timeout", 0, "")
	flags.Duration("rpc-timeout", 0, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return nil
	}
	g := &GRPC{Service: service}
	host, port, err := net.SplitHostPort(*addr)
	if err != nil || host != "" && !isLocal(host) || !setPort(&g.Port, port) {
		return nil
	}
	return &Handler{GRPC: g}
}
