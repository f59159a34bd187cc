package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

// Each line is how the agent proves who it is, and what istiod sees of it.
func TestFlagsReachTheConnection(t *testing.T) {
	seen := make(chan string, 1)
	istiod := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		block, _ := pem.Decode(body[bytes.Index(body, []byte("-----BEGIN")):])
		csr, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			t.Error(err)
		}
		day := protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 86400)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", "16")
		w.Header().Set("Grpc-Message", fmt.Sprintf("%s %s of %s for a day: %t", r.Header["Clusterid"], csr.URIs, r.Host, bytes.HasSuffix(body, day)))
	}))
	istiod.EnableHTTP2 = true
	istiod.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	istiod.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, VerifyConnection: func(s tls.ConnectionState) error {
		seen <- fmt.Sprintf("%s, %d certificates, %s", s.ServerName, len(s.PeerCertificates), s.NegotiatedProtocol)
		return nil
	}}
	istiod.StartTLS()
	defer istiod.Close()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()

	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	own := istiod.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := write("cert.pem", "CERTIFICATE", own.Certificate[0]), write("key.pem", "PRIVATE KEY", der)
	token := write("token", "TOKEN", nil)
	if err := os.WriteFile(token, []byte("secret-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := istiod.Listener.Addr().String()
	secure := []string{"--config", "c", "--istiod", address, "--server-name", "example.com", "--ca", cert, "--cluster", "east", "--trust-domain", "mesh"}
	for name, test := range map[string]struct {
		args      []string
		seen, err string
	}{
		"a certificate": {append(secure, "--cert", cert, "--key", key), "example.com, 1 certificates, h2", ""},
		"a token": {append(secure, "--token", token, "--state", dir), "example.com, 0 certificates, h2",
			"enrolment: [east] [spiffe://mesh/ns/shop/sa/reviews-vm] of " + address + " for a day: true (gRPC status 16)"},
		"nothing": {[]string{"--config", "c", "--istiod", plain.Addr().String(), "--insecure"}, "", ""},
	} {
		o, err := parse("", test.args)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		connect := o.connector(ctx, &vmconfig.Config{Namespace: "shop", ServiceAccount: "reviews-vm"}, slog.New(slog.DiscardHandler))
		// Only a certificate of istiod's CA is the agent's to renew, also while no connection is made.
		renews := name == "a token"
		if !becomes(renews) {
			t.Errorf("%s: the certificate is not renewed, or another's is: want %t", name, renews)
		}
		conn, err := connect(ctx)
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			defer conn.Close()
		}
		if text != test.err {
			t.Errorf("%s: %q, want %q", name, text, test.err)
		}
		if test.seen != "" {
			if got := testutil.Received(t, seen); got != test.seen {
				t.Errorf("%s: istiod sees %s, want %s", name, got, test.seen)
			}
		}
		cancel()
		if !becomes(false) {
			t.Errorf("%s: the certificate is renewed after the end", name)
		}
	}
}

// becomes waits until a goroutine renews a certificate, or none does. It returns false if it waits for too long.
func becomes(renewed bool) bool {
	stacks := make([]byte, 1<<20)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("identity.(*Enrolment).Run(")) == renewed {
			return true
		}
	}
	return false
}
