package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/kube"
	"github.com/rewrite-probes/rewrite-probes/test/e2e/node"
)

// nodeAddress is the node's in the network of its pods: the API server, the
// kubelet and the DNS server listen there.
const nodeAddress = "10.88.0.1"

// The users of the API server beside its administrator. Each one's token is his
// name, and his kubeconfig is named so.
const (
	controllersUser = "system:kube-controller-manager"
	schedulerUser   = "system:kube-scheduler"
	proxyUser       = "system:kube-proxy"
	nodeUser        = "system:node:" + node.Name
)

// kubeconfig returns the path of a user's.
func kubeconfig(user string) string {
	return filepath.Join(dir, strings.ReplaceAll(user, ":", "-")+".kubeconfig")
}

// makeNetwork makes the bridge of the pods, before CNI does, so that the node has
// its address from the start; and lets the node itself reach Services, whose
// addresses kube-proxy rewrites. All of it is the sandbox's alone.
func makeNetwork() error {
	for _, args := range []string{
		"link add pods0 type bridge",
		"address add " + nodeAddress + "/16 dev pods0",
		"link set pods0 up",
		"route add " + kube.Services + " dev pods0",
	} {
		if _, err := testutil.Output(exec.Command("ip", strings.Fields(args)...)); err != nil {
			return err
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

// A controlPlane is what runs beside the node.
type controlPlane struct {
	server   *kube.Server
	programs map[string]*testutil.Process
}

// startControlPlane starts etcd, the API server with the authorization of a real
// cluster, the controllers, the scheduler and kube-proxy.
func startControlPlane() (*controlPlane, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var users strings.Builder
	for i, user := range []string{controllersUser, schedulerUser, proxyUser, nodeUser} {
		groups := ""
		if user == nodeUser {
			groups = ",system:nodes"
		}
		fmt.Fprintf(&users, "%s,%s,%d%s\n", user, user, i, groups)
		if err := writeKubeconfig(user); err != nil {
			return nil, err
		}
	}
	server, err := kube.StartWith(bin, dir, kube.Config{
		Bind: "0.0.0.0", Advertise: nodeAddress, Users: users.String(),
		Flags: []string{
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
			"--kubelet-preferred-address-types=InternalIP",
		},
	})
	if err != nil {
		return nil, err
	}
	p := &controlPlane{server, map[string]*testutil.Process{}}
	if err := os.WriteFile(filepath.Join(dir, "kube-proxy.yaml"), []byte(kubeProxyConfig()), 0o644); err != nil {
		return nil, err
	}
	for program, flags := range map[string][]string{
		"kube-controller-manager": {
			"--kubeconfig=" + kubeconfig(controllersUser), "--leader-elect=false", "--bind-address=127.0.0.1",
			"--cert-dir=" + filepath.Join(dir, "controllers"),
			"--root-ca-file=" + filepath.Join(dir, kube.Certificate),
			"--service-account-private-key-file=" + filepath.Join(dir, kube.SigningKey),
			"--use-service-account-credentials=true",
		},
		"kube-scheduler": {
			"--kubeconfig=" + kubeconfig(schedulerUser), "--leader-elect=false", "--bind-address=127.0.0.1",
			"--cert-dir=" + filepath.Join(dir, "scheduler"),
		},
		"kube-proxy": {"--config=" + filepath.Join(dir, "kube-proxy.yaml")},
	} {
		process, err := testutil.Start(exec.Command(filepath.Join(bin, program), flags...), nil)
		if err != nil {
			return nil, err
		}
		p.programs[program] = process
	}
	return p, nil
}

func (p *controlPlane) logs() map[string]string {
	logs := map[string]string{"kube-apiserver": p.server.Log()}
	for program, process := range p.programs {
		logs[program] = process.Log()
	}
	return logs
}

func writeKubeconfig(user string) error {
	return os.WriteFile(kubeconfig(user), fmt.Appendf(nil, `
apiVersion: v1
kind: Config
current-context: e2e
clusters:
- {name: e2e, cluster: {server: "https://%s:6443", certificate-authority: %s}}
users:
- {name: e2e, user: {token: %q}}
contexts:
- {name: e2e, context: {cluster: e2e, user: e2e}}
`, nodeAddress, filepath.Join(dir, kube.Certificate), user), 0o600)
}

// kubeProxyConfig leaves the machine's settings of connection tracking alone.
func kubeProxyConfig() string {
	return `
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: ` + kubeconfig(proxyUser) + `}
mode: iptables
hostnameOverride: ` + node.Name + `
bindAddress: ` + nodeAddress + `
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
detectLocalMode: BridgeInterface
detectLocal: {bridgeInterface: pods0}
iptables: {minSyncPeriod: 0s}
`
}
