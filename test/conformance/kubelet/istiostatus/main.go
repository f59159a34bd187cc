// Command istiostatus runs Istio's status server alone (no Envoy), as the
// pilot-agent does: env ISTIO_KUBE_APP_PROBERS, argument POD_IP PORT.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"istio.io/istio/pilot/cmd/pilot-agent/status"
)

func main() {
	port, err := strconv.ParseUint(os.Args[2], 10, 16)
	if err == nil {
		var server *status.Server
		server, err = status.NewServer(status.Options{
			PodIP:          os.Args[1],
			KubeAppProbers: os.Getenv(status.KubeAppProberEnvName),
			StatusPort:     uint16(port),
			NoEnvoy:        true,
		})
		if err == nil {
			server.Run(context.Background())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
