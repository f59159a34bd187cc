// The command mesh runs in the images of the mesh stand-in: "redirect" puts the
// redirection rules of the mesh that MESH names into the network namespace of its
// pod (for IPv6, if that is set), "proxy" runs HAProxy, "pause" holds the namespace open. "once FILE PROGRAM ARG..." fails if there
// is no FILE, which it writes, and else runs the program: its first start fails.
//
// redirect is the only thing in these tests that touches packet filters. It
// refuses to in the network namespaces that FORBIDDEN_NETNS lists (those of
// the machine and of the kubelet, as "net:[4026531840]"), and when that is
// empty.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/rewrite-probes/rewrite-probes/test/e2e/redirection"
)

func main() {
	log.SetFlags(0)
	switch {
	case len(os.Args) == 2 && os.Args[1] == "redirect":
		if err := redirect(); err != nil {
			log.Fatal("mesh redirect: ", err)
		}
	case len(os.Args) == 2 && os.Args[1] == "proxy":
		if err := proxy(); err != nil {
			log.Fatal("mesh proxy: ", err)
		}
	case len(os.Args) == 2 && os.Args[1] == "pause":
		pause()
	case len(os.Args) >= 4 && os.Args[1] == "once":
		log.Fatal("mesh once: ", once(os.Args[2], os.Args[3:]))
	default:
		log.Fatal("usage: mesh redirect|proxy|pause|once FILE PROGRAM ARG...")
	}
}

// once returns only with an error.
func once(file string, program []string) error {
	if _, err := os.Stat(file); err != nil {
		return cmp.Or(os.WriteFile(file, nil, 0o644), errors.New("the first start fails, as it is told to"))
	}
	return syscall.Exec(program[0], program, os.Environ())
}

func redirect() error {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return err
	}
	forbidden := strings.Fields(os.Getenv("FORBIDDEN_NETNS"))
	if len(forbidden) == 0 {
		return fmt.Errorf("FORBIDDEN_NETNS must list the namespaces that may not be touched")
	}
	for _, ns := range forbidden {
		if ns == own {
			return fmt.Errorf("refusing to touch the packet filter of %s, which belongs to the machine or the kubelet", own)
		}
	}
	var excluded []string
	for port := range strings.SplitSeq(os.Getenv("EXCLUDE_INBOUND_PORTS"), ",") {
		if port == "" {
			continue
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return fmt.Errorf("EXCLUDE_INBOUND_PORTS: %q is no port", port)
		}
		excluded = append(excluded, port)
	}
	mesh, err := redirection.Named(os.Getenv("MESH"))
	if err != nil {
		return err
	}
	if os.Getenv("IPV6") == "" {
		return restore("/usr/sbin/iptables-nft-restore", mesh.Rules, excluded)
	}
	// From this address the proxy calls the app; all of 127.0.0.0/8 is there anyway.
	if out, err := exec.Command("/bin/ip", "addr", "add", "::6/128", "dev", "lo").CombinedOutput(); err != nil {
		return fmt.Errorf("ip: %w: %s", err, out)
	}
	return restore("/usr/sbin/ip6tables-nft-restore", mesh.IPv6Rules, excluded)
}

// restore has a program put the rules of a mesh into force.
func restore(program string, rulesOf func(excluded ...string) (string, error), excluded []string) error {
	rules, err := rulesOf(excluded...)
	if err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Stdin = strings.NewReader(rules)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// proxy runs HAProxy until it is told to end. HAProxy itself, as the first
// process of a container, ignores SIGTERM and holds its pod for the whole grace
// period.
func proxy() error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	cmd := exec.Command("/usr/sbin/haproxy", "-db", "-f", "/haproxy.cfg")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return fmt.Errorf("HAProxy has ended: %v", err)
	case <-signals:
		return cmd.Process.Kill()
	}
}

// pause waits for a signal to end, and meanwhile reaps orphaned processes if
// the pod's containers share a process namespace.
func pause() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}
