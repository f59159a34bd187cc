package istiod

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// recovery is how long istiod itself may take to follow the API server again
// after an outage, however often the agent repeats the state.
const recovery = 2 * time.Minute

// fast is how long istiod may take to tell clients; an agent probes every second.
const fast = 10 * time.Second

func TestATokenIsEnoughOnceAndEndpointsFollow(t *testing.T) {
	i := startIstiod(t, "one", 15010)
	clients := watch(t, i)
	address := machine()
	entry := "reviews-" + address
	file, app := config(t, address, nil)
	ca, secret, state := rootCert(t), token(t, "reviews-vm"), t.TempDir()
	a := startAgent(t, file, i.secure, "--ca", ca, "--token", secret, "--state", state)
	wantCondition(t, entry, "False command ended with exit code 1: cat: "+app+": No such file or directory", 20*time.Second)
	clients.want(t, address, false, fast)
	for range 3 {
		up(t, app)
		t.Logf("the endpoint came %s after the app", clients.want(t, address, true, fast))
		t.Logf("the endpoint came %s after the report", clients.after(t, a, "app is healthy"))
		wantCondition(t, entry, "True", fast)
		_ = os.Remove(app)
		t.Logf("the endpoint went %s after the app", clients.want(t, address, false, fast))
		t.Logf("the endpoint went %s after the report", clients.after(t, a, "app is not healthy"))
	}
	text, err := os.ReadFile(secret)
	if err != nil || strings.Contains(a.Log(), strings.TrimSpace(string(text))) {
		t.Error("the token is in the log", err)
	}

	// The certificate is enough for the next one, and SIGTERM takes the endpoint away.
	up(t, app)
	clients.want(t, address, true, fast)
	if err := a.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	clients.want(t, address, false, fast)
	wantCondition(t, entry, "False probe-agent was stopped", fast)
	if err := a.Cmd.Wait(); err != nil {
		t.Error(err)
	}
	_ = os.Remove(secret)
	a = startAgent(t, file, i.secure, "--ca", ca, "--token", secret, "--state", state)
	clients.want(t, address, true, 20*time.Second)

	// Nobody tells of a kill: the connection's end does, 10 s later.
	_ = a.Cmd.Process.Kill()
	t.Logf("the endpoint went %s after kill -9", clients.want(t, address, false, 30*time.Second))
	wantCondition(t, entry, "no entry", 30*time.Second)
}

func TestCertificatesAreRenewedByThemselves(t *testing.T) {
	i := startIstiod(t, "one", 15010)
	address := machine()
	entry := "reviews-" + address
	file, app := config(t, address, nil)
	up(t, app)
	secret := token(t, "reviews-vm")
	a := startAgent(t, file, i.secure, "--ca", rootCert(t), "--token", secret, "--state", t.TempDir(), "--cert-ttl", "20s")
	wantCondition(t, entry, "True", 20*time.Second)
	_ = os.Remove(secret)
	if n := strings.Count(a.Log(), "istiod issued a certificate"); n != 1 {
		t.Errorf("%d certificates at once", n)
	}
	a.wantLog(t, "istiod issued a certificate", 3, time.Minute)
	if strings.Contains(a.Log(), "WARN") {
		t.Error(a.Log())
	}
}

func TestAnotherIdentityIsRefusedVerbatim(t *testing.T) {
	i := startIstiod(t, "one", 15010)
	ca, state := rootCert(t), t.TempDir()
	address := machine()
	entry := "reviews-" + address
	file, app := config(t, address, nil)
	up(t, app)
	a := startAgent(t, file, i.secure, "--ca", ca, "--token", token(t, "else"), "--state", state)
	wantCondition(t, entry, "True", 20*time.Second)
	a.Stop()

	// The group is bound to another service account.
	file, _ = config(t, address, map[string]any{"name": "bound"})
	a = startAgent(t, file, i.secure, "--ca", ca, "--token", "none", "--state", state)
	a.wantLog(t, "service account mismatch", 1, 20*time.Second)
	time.Sleep(5 * time.Second)
	if n := strings.Count(a.Log(), "service account mismatch"); n != 1 || a.Cmd.ProcessState != nil {
		t.Errorf("the refusal is %d times in the log", n)
	}
	a.Stop()

	// The certificate is for another namespace: the agent's own check, and istiod's.
	file, _ = config(t, address, map[string]any{"namespace": "other"})
	a = startAgent(t, file, i.secure, "--ca", ca, "--token", token(t, "else"), "--state", state)
	a.wantLog(t, `must end in`, 1, 20*time.Second)
	a.Stop()
	cert := filepath.Join(state, "identity.pem")
	a = startAgent(t, file, i.secure, "--ca", ca, "--cert", cert, "--key", cert)
	a.wantLog(t, "istiod does not take the reports", 1, 20*time.Second)
	if !strings.Contains(a.Log(), "gRPC status") {
		t.Error(a.Log())
	}
}

// istiod abandons a change that the API server does not take within 150 ms. The
// agent's repetition corrects that, no later than it is due.
func TestAChangeDuringAnOutageOfTheAPIServerIsNotLost(t *testing.T) {
	i := startIstiod(t, "one", 15010)
	clients := watch(t, i)
	address := machine()
	file, app := config(t, address, nil)
	up(t, app)
	startAgent(t, file, i.secure, "--ca", rootCert(t), "--token", token(t, "reviews-vm"), "--state", t.TempDir(), "--repeat", repeat.String())
	clients.want(t, address, true, 20*time.Second)
	within := max(*repeat, recovery)
	for n := range *outages {
		api.StopAPI()
		start := time.Now()
		if n%2 == 0 {
			_ = os.Remove(app)
		} else {
			up(t, app)
		}
		time.Sleep(3 * time.Second << (n / 2))
		if err := api.StartAPI(); err != nil {
			t.Fatal(err)
		}
		outage := time.Since(start)
		t.Logf("outage %d of %s: clients saw the new state %s later", n+1, outage, clients.want(t, address, n%2 == 1, within))
	}
}

func TestIstiodIsRestartedAndAnotherTakesOver(t *testing.T) {
	first := startIstiod(t, "one", 15010)
	address := machine()
	entry := "reviews-" + address
	file, app := config(t, address, nil)
	up(t, app)
	ca, state := rootCert(t), t.TempDir()
	startAgent(t, file, first.secure, "--ca", ca, "--token", token(t, "reviews-vm"), "--state", state)
	watch(t, first).want(t, address, true, 20*time.Second)
	for range *restarts {
		first.Stop()
		_ = os.Remove(app)
		first = startIstiod(t, "one-again", 15010)
		wantCondition(t, entry, "False command ended with exit code 1: cat: "+app+": No such file or directory", 30*time.Second)
		up(t, app)
		watch(t, first).want(t, address, true, 20*time.Second)
	}
}
