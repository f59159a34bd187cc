package xds_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/rewrite-probes/rewrite-probes/internal/agent/xds"
	"github.com/rewrite-probes/rewrite-probes/internal/vmconfig"
)

func expect(t *testing.T, got string, want ...string) {
	t.Helper()
	if s := strings.Join(want, "\n"); got != s {
		t.Errorf("got\n%s\nwant\n%s", got, s)
	}
}

func TestAStateIsReportedOnEveryChangeAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIstiod()
		a := start(t, i, time.Hour)
		expect(t, i.take(), "0.0 1: "+node) // nothing is known of the app yet

		time.Sleep(time.Second)
		a.states <- nil
		expect(t, i.take(), "1.0 1: healthy")
		time.Sleep(time.Minute)
		expect(t, i.take(), "2.0 1: healthy") // again after the connection

		a.states <- errors.New("app answered with status 503")
		expect(t, i.take(), "61.0 1: unhealthy: app answered with status 503")

		time.Sleep(time.Hour)
		got := i.take()
		at := 0.0
		if _, err := fmt.Sscanf(got, "%f 1: unhealthy: app answered with status 503", &at); err != nil || at < 2+0.75*3600 || at > 2+3600 {
			t.Errorf("the repetition within the hour: %q", got)
		}
		a.end()
		got = i.take()
		if !strings.HasSuffix(strings.Split(got, "\n")[0], "unhealthy: probe-agent was stopped") || !strings.HasSuffix(got, "1: end") {
			t.Errorf("the end: %q", got)
		}
		expect(t, a.log.String(), "level=INFO msg=\"connected to istiod\"\n")
		expect(t, a.status.String(), "connected to istiod\n")
	})
}

func TestTheEndIsReportedBeforeTheStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIstiod()
		a := start(t, i, time.Hour)
		a.states <- nil
		time.Sleep(5 * time.Second)
		i.take()
		a.end()
		expect(t, i.take(), "5.0 1: unhealthy: probe-agent was stopped", "5.5 1: end")
	})
}

// A string of protobuf must be UTF-8; a command's name, in a reason, may be anything.
func TestAReasonIsSentAsUTF8(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIstiod()
		a := start(t, i, time.Hour)
		synctest.Wait()
		a.states <- errors.New("caf\xe9\xff: caf\u00e9")
		if got := i.take(); !strings.HasSuffix(got, "unhealthy: caf?: caf\u00e9") {
			t.Errorf("got %q", got)
		}
		a.end()
	})
}

func TestReporter_stateWithoutConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIstiod()
		i.down = errors.New("no route to host")
		a := start(t, i, time.Hour)
		time.Sleep(time.Minute)
		a.states <- nil
		i.set(func() { i.down = nil })
		time.Sleep(15 * time.Second)
		lines := strings.Split(i.take(), "\n")
		if len(lines) != 3 || !strings.HasSuffix(lines[0], "1: "+node) || !strings.HasSuffix(lines[1], "1: healthy") || !strings.HasSuffix(lines[2], "1: healthy") {
			t.Errorf("%q", lines)
		}
		// The error comes once in the log, however many attempts there were.
		expect(t, a.log.String(), `level=WARN msg="istiod does not take the reports; trying again until it does" reason="no route to host"`, "level=INFO msg=\"connected to istiod\"\n")
		expect(t, a.status.String(), "no connection to istiod: no route to host", "connected to istiod\n")
		a.end()
	})
}

func TestARefusalIsLoggedVerbatimOnceAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIstiod()
		i.refuse = `namespace mismatch: "shop" vs "100% other"`
		a := start(t, i, time.Hour)
		time.Sleep(2 * time.Minute)
		refused := strings.Count(i.take(), "refused")
		// At first often, then every 7.5 to 10 s.
		if refused < 12+4 || refused > 16+6 {
			t.Errorf("%d attempts in two minutes", refused)
		}
		expect(t, a.log.String(), `level=WARN msg="istiod does not take the reports; trying again until it does" reason="namespace mismatch: \"shop\" vs \"100% other\" (gRPC status 7)"`+"\n")
		i.set(func() { i.refuse = "another reason" })
		time.Sleep(time.Minute)
		if n := strings.Count(a.log.String(), "another reason"); n != 1 {
			t.Errorf("another reason is logged %d times", n)
		}
		i.set(func() { i.refuse = "" })
		time.Sleep(time.Minute)
		if !strings.HasSuffix(a.log.String(), "msg=\"connected to istiod\"\n") {
			t.Error(a.log.String())
		}
		a.end()
	})
}

func TestAConnectionThatComesAfterTheEndIsClosed(t *testing.T) {
	for _, down := range []error{nil, errors.New("no route to host")} {
		synctest.Test(t, func(t *testing.T) { // fails if something still runs at its end
			i := newIstiod()
			i.down = down
			a := start(t, i, time.Hour, func(r *xds.Reporter) {
				r.Connect = func(ctx context.Context) (net.Conn, error) {
					<-ctx.Done()
					return i.connect(ctx)
				}
			})
			time.Sleep(time.Second)
			a.end()
		})
	}
}

func TestIstiodThatGoesAwayIsReplacedBeforeTheStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIstiod()
		a := start(t, i, time.Hour)
		a.states <- nil
		time.Sleep(10 * time.Second) // the shortest success
		i.take()
		i.shutdown()
		time.Sleep(10 * time.Second)
		expect(t, i.take(), "10.0 2: "+node, "10.0 2: healthy", "10.5 1: end", "12.0 2: healthy")
		if strings.Contains(a.log.String(), "WARN") {
			t.Error(a.log.String())
		}
		a.end()
	})
}

func TestIstiodThatEndsTheStreamIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIstiod()
		a := start(t, i, time.Hour)
		time.Sleep(time.Minute)
		i.set(func() { i.streams[1]() })
		time.Sleep(time.Minute)
		expect(t, a.log.String(), `level=INFO msg="connected to istiod"`, `level=WARN msg="istiod does not take the reports; trying again until it does" reason="istiod ended the stream"`, "level=INFO msg=\"connected to istiod\"\n")
		a.end()
	})
}

// The stream ends before the next one has begun: that was to come, and is nothing to log.
func TestAStreamMayEndOnceIstiodSaidSo(t *testing.T) {
	for _, after := range []time.Duration{time.Second, time.Minute} { // too short, and long enough for a success
		synctest.Test(t, func(t *testing.T) {
			i := newIstiod()
			a := start(t, i, time.Hour)
			a.states <- nil
			time.Sleep(after)
			i.take()
			connect := a.Connect
			a.Connect = func(ctx context.Context) (net.Conn, error) {
				time.Sleep(300 * time.Millisecond)
				return connect(ctx)
			}
			i.shutdown()
			synctest.Wait()
			i.set(func() { i.streams[1]() })
			time.Sleep(10 * time.Second)
			if got := i.take(); strings.Count(got, "2: "+node) != 1 || !strings.HasSuffix(got, "2: healthy") || i.connections() != 2 {
				t.Errorf("after %s: %d connections:\n%s", after, i.connections(), got)
			}
			if strings.Contains(a.log.String(), "WARN") {
				t.Errorf("after %s: %s", after, a.log.String())
			}
			a.end()
		})
	}
}

func TestIstiodThatGoesAwayAtOnceIsNotPressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIstiod()
		a := start(t, i, time.Hour)
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			i.shutdown()
		}
		if n := strings.Count(i.take(), node); n > 20 {
			t.Errorf("%d connections in a minute", n)
		}
		a.end()
	})
}

func TestASilentIstiodIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIstiod()
		i.deaf = true
		a := start(t, i, time.Hour)
		time.Sleep(40 * time.Second)
		i.set(func() { i.deaf = false })
		time.Sleep(4 * time.Second)
		expect(t, i.take())
		time.Sleep(2 * time.Second)
		if !strings.HasSuffix(i.take(), node) || !strings.Contains(a.log.String(), `reason="istiod is silent"`) {
			t.Error(a.log.String())
		}
		// One that has nothing to say answers pings, and is kept.
		time.Sleep(time.Hour)
		if n := i.connections(); n != 2 {
			t.Errorf("%d connections", n)
		}
		a.end()
	})
}

// A window is 64 KiB: without its updates both sides would wait.
func TestMoreGoesThroughAStreamThanItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIstiod()
		i.answers = true
		a := start(t, i, time.Hour)
		reason := strings.Repeat("x", 200)
		const n = 1000
		synctest.Wait() // without a connection only the last would be kept
		for range n {
			a.states <- errors.New(reason)
			synctest.Wait() // a later state would replace one that was not sent yet
		}
		if got := strings.Count(i.take(), reason); got != n || i.connections() != 1 {
			t.Errorf("%d reports on %d connections: %s", got, i.connections(), a.log.String())
		}
		a.end()
	})
}

// A slowConn takes nothing until a time.
type slowConn struct {
	net.Conn
	until *time.Time
}

func (c slowConn) Write(p []byte) (int, error) {
	time.Sleep(time.Until(*c.until))
	return c.Conn.Write(p)
}

// TestALaterStateReplacesOneThatWaits: istiod takes nothing for some seconds, and the app
// changes meanwhile.
func TestALaterStateReplacesOneThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIstiod()
		var until time.Time
		a := start(t, i, time.Hour, func(r *xds.Reporter) {
			r.Connect = func(ctx context.Context) (net.Conn, error) {
				conn, err := i.connect(ctx)
				return slowConn{conn, &until}, err
			}
		})
		time.Sleep(5 * time.Second)
		i.take()
		until = time.Now().Add(5 * time.Second)
		for n := range 5 {
			a.states <- fmt.Errorf("state %d", n)
			synctest.Wait()
		}
		time.Sleep(6 * time.Second)
		expect(t, i.take(), "10.0 1: unhealthy: state 0", "10.0 1: unhealthy: state 4")
		a.end()
	})
}

// TestIstiodThatTakesNoMessageIsLeft: it gives no window, but answers pings.
func TestIstiodThatTakesNoMessageIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIstiod()
		alive, stingy := 0, 0
		a := start(t, i, time.Hour, func(r *xds.Reporter) {
			r.AliveEvery, r.Alive = 15*time.Second, func() { alive++ }
			r.Connect = func(ctx context.Context) (net.Conn, error) {
				if stingy++; stingy > 2 && ctx.Err() == nil {
					return i.connect(ctx)
				}
				ours, theirs := net.Pipe()
				go giveNoWindow(theirs)
				return ours, nil
			}
		})
		a.states <- nil
		time.Sleep(5 * time.Second)
		a.states <- errors.New("app is down") // is taken meanwhile
		time.Sleep(time.Minute)
		if got := i.take(); !strings.Contains(got, "unhealthy: app is down") || alive != 4 {
			t.Errorf("alive %d times, reported %q", alive, got)
		}
		if log := a.log.String(); strings.Count(log, "istiod takes no message for 10s") != 2 {
			t.Error(log)
		}
		a.end()
	})
}

// TestTheAgentEndsWithinASecond, whatever istiod does.
func TestTheAgentEndsWithinASecond(t *testing.T) {
	for name, istiod := range map[string]func(net.Conn){
		"gives no window":         giveNoWindow,
		"never reads":             func(net.Conn) {},
		"reads and never answers": func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) },
		"pings without end": func(conn net.Conn) {
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			_, err := io.WriteString(conn, "\x00\x00\x00\x04\x00\x00\x00\x00\x00")
			for err == nil {
				_, err = io.WriteString(conn, "\x00\x00\x08\x06\x00\x00\x00\x00\x00attacker")
				time.Sleep(time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := start(t, newIstiod(), time.Hour, func(r *xds.Reporter) {
					r.Connect = func(context.Context) (net.Conn, error) {
						ours, theirs := net.Pipe()
						go istiod(theirs)
						return ours, nil
					}
				})
				a.states <- nil
				time.Sleep(3 * time.Second)
				began := time.Now()
				a.stop()
				<-a.done
				if took := time.Since(began); took > time.Second {
					t.Errorf("ended after %s", took)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// giveNoWindow is a peer whose settings allow no data of a stream. It answers
// pings.
func giveNoWindow(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Hour))
	io.ReadFull(conn, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")))
	go io.WriteString(conn, "\x00\x00\x06\x04\x00\x00\x00\x00\x00"+"\x00\x04\x00\x00\x00\x00")
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		payload := make([]byte, int(head[1])<<8|int(head[2]))
		io.ReadFull(conn, payload)
		if head[3] == 6 && head[4] == 0 {
			conn.Write(append([]byte("\x00\x00\x08\x06\x01\x00\x00\x00\x00"), payload...))
		}
	}
}

func TestAReporterThatIsNotStuckSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alive := 0
		a := start(t, newIstiod(), time.Hour, func(r *xds.Reporter) {
			r.AliveEvery, r.Alive = 15*time.Second, func() { alive++ }
		})
		time.Sleep(time.Minute + time.Second)
		a.end()
		if alive != 4 {
			t.Errorf("alive %d times in a minute", alive)
		}
	})
}

// istiod chooses the WorkloadEntry by what is here, and makes one that has a health check only
// where PROXY_CONFIG has a readinessProbe.
func TestANodeSaysWhichEntryIsIts(t *testing.T) {
	reviews := vmconfig.Config{Namespace: "shop", Name: "reviews"}
	for _, c := range []struct {
		node xds.Node
		want string // id, cluster, metadata, locality and user agent
	}{
		{xds.Node{IP: "10.0.0.7", Config: &reviews},
			`sidecar~10.0.0.7~reviews.shop~shop.svc.cluster.local shop {"AUTO_REGISTER_GROUP":"reviews","INSTANCE_IPS":"10.0.0.7","NAMESPACE":"shop","PROXY_CONFIG":{"readinessProbe":{}}} [] `},
		{xds.Node{IP: "10.0.0.7", Config: &reviews, Entry: "vm-1"},
			`sidecar~10.0.0.7~vm-1.shop~shop.svc.cluster.local shop {"INSTANCE_IPS":"10.0.0.7","NAMESPACE":"shop","WORKLOAD_ENTRY":"vm-1"} [] `},
		{xds.Node{IP: "fd00::7", Cluster: "east", UserAgent: "probe-agent", Config: &vmconfig.Config{Namespace: "shop", Name: "reviews", ServiceAccount: "web", Network: "vms", Labels: map[string]string{"app": "web", "v": ""}, Locality: "a/b/c/d"}},
			`sidecar~fd00::7~reviews.shop~shop.svc.cluster.local shop {"AUTO_REGISTER_GROUP":"reviews","CLUSTER_ID":"east","INSTANCE_IPS":"fd00::7","LABELS":{"app":"web","v":""},"NAMESPACE":"shop","NETWORK":"vms","PROXY_CONFIG":{"readinessProbe":{}},"SERVICE_ACCOUNT":"web"} [a b c/d] probe-agent`},
		{xds.Node{IP: "10.0.0.7", Config: &vmconfig.Config{Namespace: "shop", Name: "reviews", Locality: "a"}},
			`sidecar~10.0.0.7~reviews.shop~shop.svc.cluster.local shop {"AUTO_REGISTER_GROUP":"reviews","INSTANCE_IPS":"10.0.0.7","NAMESPACE":"shop","PROXY_CONFIG":{"readinessProbe":{}}} [a] `},
	} {
		synctest.Test(t, func(t *testing.T) {
			i := newIstiod()
			a := start(t, i, time.Hour, func(r *xds.Reporter) { r.Node = &c.node })
			i.take()
			n := fields(i.node)
			var metadata structpb.Struct
			if err := proto.Unmarshal(n[3], &metadata); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(metadata.AsMap())
			if err != nil {
				t.Fatal(err)
			}
			var locality []string
			for part := protowire.Number(1); part <= 3; part++ {
				if v, ok := fields(n[4])[part]; ok {
					locality = append(locality, string(v))
				}
			}
			if got := fmt.Sprintf("%s %s %s %v %s", n[1], n[2], text, locality, n[6]); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			a.end()
		})
	}
}
