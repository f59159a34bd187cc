// Command rules prints the rules that Kuma's transparent proxy restores for
// IPv4 without its DNS proxy, excluding the ports that are its arguments. It is
// compiled inside Kuma's own module, and runs nothing.
package main

import (
	"os"
	"strings"

	"github.com/kumahq/kuma/v2/pkg/transparentproxy/config"
	"github.com/kumahq/kuma/v2/pkg/transparentproxy/consts"
	"github.com/kumahq/kuma/v2/pkg/transparentproxy/iptables/builder"
)

func main() {
	cfg := config.DefaultConfig()
	cfg.Verbose = true // rules on lines of their own
	if ports := strings.Join(os.Args[1:], ","); ports != "" {
		if err := cfg.Redirect.Inbound.ExcludePorts.Set(ports); err != nil {
			panic(err)
		}
	}
	executables := config.InitializedExecutablesIPvX{}
	redirect, err := cfg.Redirect.Initialize(config.Logger{}, executables, false)
	if err != nil {
		panic(err)
	}
	_, err = os.Stdout.WriteString(builder.BuildIPTablesForRestore(config.InitializedConfigIPvX{
		Config: cfg, Executables: executables, Redirect: redirect, KumaDPUser: consts.OwnerDefaultUID,
		LoopbackInterfaceName: "lo", LocalhostCIDR: consts.LocalhostAddress[consts.IPv4],
		InboundPassthroughCIDR: consts.InboundPassthroughSourceAddress[consts.IPv4],
	}))
	if err != nil {
		panic(err)
	}
}
