package cluster

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// serveNames is the cluster's DNS: it answers the names of Services, by asking the
// API server. The sandbox's resolv.conf names it too, so that nothing asks a
// server of the machine's.
func serveNames() error {
	file := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(file, []byte("nameserver "+nodeAddress+"\n"), 0o644); err != nil {
		return err
	}
	if _, err := testutil.Output(exec.Command("mount", "--bind", file, "/etc/resolv.conf")); err != nil {
		return err
	}
	packets, err := net.ListenPacket("udp", nodeAddress+":53")
	if err != nil {
		return err
	}
	streams, err := net.Listen("tcp", nodeAddress+":53")
	if err != nil {
		return err
	}
	for _, server := range []*dns.Server{{PacketConn: packets}, {Listener: streams}} {
		server.Handler = dns.HandlerFunc(answerName)
		go server.ActivateAndServe() // until the sandbox ends
	}
	return nil
}

// answerName answers the name of a Service with its address, and every other with
// that there is none.
func answerName(w dns.ResponseWriter, request *dns.Msg) {
	reply := new(dns.Msg).SetReply(request)
	question := request.Question[0]
	address := serviceAddress(question.Name)
	switch {
	case address == nil:
		reply.Rcode = dns.RcodeNameError
	case question.Qtype == dns.TypeA:
		reply.Answer = []dns.RR{&dns.A{
			Hdr: dns.RR_Header{Name: question.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1},
			A:   address,
		}}
	}
	_ = w.WriteMsg(reply) // who asked asks again
}

// serviceAddress returns the address of a Service by its whole name; nil if there
// is none.
func serviceAddress(name string) net.IP {
	short, found := strings.CutSuffix(strings.ToLower(name), ".svc.cluster.local.")
	service, namespace, dotted := strings.Cut(short, ".")
	if !found || !dotted {
		return nil
	}
	s, err := api.CoreV1().Services(namespace).Get(context.Background(), service, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return net.ParseIP(s.Spec.ClusterIP)
}
