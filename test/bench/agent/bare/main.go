// Command bare makes the simplest HTTP probe, once a second: it connects, writes a
// request, reads the answer and closes. It is the least that a probe costs in Go.
package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

func main() {
	address := os.Args[1]
	request := []byte("GET / HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\n\r\n")
	answer := make([]byte, 4<<10)
	for range time.Tick(time.Second) {
		if err := probe(address, request, answer); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func probe(address string, request, answer []byte) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(request); err != nil {
		return err
	}
	n, err := conn.Read(answer)
	if err == nil && !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 200 ") {
		err = fmt.Errorf("got %q", answer[:n])
	}
	return err
}
