// Command rules prints the rules that Linkerd's proxy-init appends with the
// arguments that Linkerd's injector gives it, excluding the ports that are
// its arguments. It is compiled inside proxy-init's own module, and runs nothing.
package main

import (
	"io"
	"os"
	"strings"

	log "github.com/sirupsen/logrus"

	"github.com/linkerd/linkerd2-proxy-init/proxy-init/cmd"
)

func main() {
	log.SetOutput(io.Discard)
	log.AddHook(appended{})
	c := cmd.NewRootCmd()
	c.SetArgs([]string{
		"--simulate", "--firewall-bin-path", "iptables-nft", "--firewall-save-bin-path", "iptables-nft-save", "--ipv6=false",
		"--incoming-proxy-port", "4143", "--outgoing-proxy-port", "4140", "--proxy-uid", "2102",
		"--inbound-ports-to-ignore", strings.Join(append([]string{"4190", "4191"}, os.Args[1:]...), ","),
		"--outbound-ports-to-ignore", "4567,4568",
	})
	if err := c.Execute(); err != nil {
		panic(err)
	}
}

// appended prints the commands that proxy-init logs before it would run them.
type appended struct{}

func (appended) Levels() []log.Level { return []log.Level{log.InfoLevel} }

func (appended) Fire(e *log.Entry) error {
	if _, rule, found := strings.Cut(e.Message, " -t nat -A "); found {
		_, err := os.Stdout.WriteString("-A " + rule + "\n")
		return err
	}
	return nil
}
