package node

import (
	"os"
	"strings"
)

// ProbeFeatures are the features of Kubernetes that probes in ../pods need and
// that are not on by default.
var ProbeFeatures = []string{"GRPCContainerProbeTLS", "H2CContainerProbe"}

// EarlierKubelet is the env var with the path of an earlier kubelet, which does not have ProbeFeatures and
// runs instead of the one that test/e2e/run has built.
const EarlierKubelet = "EARLIER_KUBELET"

// IPv6 is the env var with which pods and their node have IPv6 addresses alone.
const IPv6 = "IPV6"

// addresses are those that a node and its pods have.
type addresses struct{ node, subnet, gateway, all string }

func addressesOf() addresses {
	if os.Getenv(IPv6) != "" {
		return addresses{"::1", "fd00:88::/64", "fd00:88::1", "::/0"}
	}
	return addresses{"127.0.0.1", "10.88.0.0/16", "10.88.0.1", "0.0.0.0/0"}
}

// features returns the feature gates of the kubelet's configuration.
func features() string {
	if os.Getenv(EarlierKubelet) != "" {
		return "{}"
	}
	return "{" + strings.Join(ProbeFeatures, ": true, ") + ": true}"
}

// settings are those in which nodes differ.
type settings struct {
	cgroupRoot string // below it the kubelet makes the cgroups of the pods
	address    string // where the kubelet listens
	kubelet    string // further lines of its configuration
}

// files returns the node's configuration, by path. That of the kubelet leaves
// out what a machine without its full privileges cannot give, and nothing
// that has to do with probes.
func (s settings) files() map[string]string {
	a := addressesOf()
	return map[string]string{
		Dir + "/containerd.toml": `
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + PauseImage + `"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "` + Dir + `/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`,
		Dir + "/cni/10-pods.conflist": `{
  "cniVersion": "0.4.0", "name": "pods",
  "plugins": [
    {"type": "bridge", "bridge": "pods0", "isGateway": true, "hairpinMode": true,
     "ipam": {"type": "host-local", "ranges": [[{"subnet": "` + a.subnet + `", "gateway": "` + a.gateway + `"}]], "routes": [{"dst": "` + a.all + `"}]}}
  ]
}
`,
		Dir + "/kubelet.yaml": `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
readOnlyPort: 10255
address: ` + s.address + `
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: ` + s.cgroupRoot + `
failCgroupV1: false
featureGates: ` + features() + `
failSwapOn: false
enforceNodeAllocatable: [none]
makeIPTablesUtilChains: false
protectKernelDefaults: true
maxOpenFiles: 20000
oomScoreAdj: 0
evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%"}
imageGCHighThresholdPercent: 100
` + s.kubelet,
	}
}
