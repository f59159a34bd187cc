package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// serveApp is the app: one port for each kind of probe, printed on stdout.
func serveApp() {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	quiet := log.New(io.Discard, "", 0)
	g := grpc.NewServer()
	healthpb.RegisterHealthServer(g, health.NewServer())
	serve := map[string]func(net.Listener) error{
		"http": func(l net.Listener) error { return http.Serve(l, ok) },
		"https": func(l net.Listener) error {
			s := &http.Server{Handler: ok, ErrorLog: quiet, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate()}}}
			return s.ServeTLS(l, "", "")
		},
		"tcp": func(l net.Listener) error {
			for {
				conn, err := l.Accept()
				if err != nil {
					return err
				}
				conn.Close()
			}
		},
		"grpc": g.Serve,
	}
	failed := make(chan error)
	for _, kind := range kinds {
		l, err := net.Listen("tcp", podIP+":0")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(kind, l.Addr().(*net.TCPAddr).Port)
		go func() { failed <- serve[kind](l) }()
	}
	log.Fatal(<-failed)
}

func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
