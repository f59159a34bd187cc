package attack

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// Nodes of today have cgroups of version 2, which charge sockets to the container too. A machine with version 1 boots a
// kernel with version 2: User Mode Linux, a program of Debian's package user-mode-linux. Its root is that of the machine,
// to be read only, and its init is the program of this test. It is slow, so each attack has a control: as many callers
// who harm nobody.

const kernel = "linux.uml"

// wholeRegset is a library for the kernel's calls of ptrace. Linux takes the registers of a processor only as a whole, and
// this kernel knows a part of those with AMX.
//
//go:embed testdata/regset.c
var wholeRegset []byte

// TestVersion2 attacks probe-proxy on a kernel with cgroups of version 2.
func TestVersion2(t *testing.T) {
	if os.Getpid() == 1 {
		attackBesideControls(t)
		return
	}
	path, err := exec.LookPath(kernel)
	if err != nil {
		t.Skipf("attacks on cgroups of version 2 need %s, of Debian's package user-mode-linux: %v", kernel, err)
	}
	dir := openDir(t)
	probeProxy := *program
	if probeProxy == "" {
		probeProxy = build(t, dir, "../../..", "./cmd/probe-proxy")
	}
	cmd := exec.Command(path, "mem=1500M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "init="+os.Args[0], "con=null", "con0=null,fd:1", "con1=null", "ssl=null", "quiet",
		"--", "-test.v", "-test.short", "-test.run=^TestVersion2$", "-program="+probeProxy)
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+buildRegset(t, dir))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var log testutil.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	timer := time.AfterFunc(15*time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	err = cmd.Run()
	said := strings.ReplaceAll(log.String(), "\r", "")
	t.Logf("%v\n%s", err, said)
	switch {
	case !strings.Contains(said, guestIsUp):
		t.Skipf("%s does not boot here: %v", kernel, err)
	case !regexp.MustCompile(`(?m)^--- PASS: TestVersion2`).MatchString(said):
		t.Fatal("see above")
	}
	rows := regexp.MustCompile(`(?m)^row: (.*\n)`).FindAllStringSubmatch(said, -1)
	if len(rows) == 0 {
		t.Fatal("nothing was attacked")
	}
	if *out == "" {
		return
	}
	text := fmt.Sprintf("Linux 6.1 in user mode, cgroups of version 2, killed beyond %d MiB. Probes that failed, and the peak of memory, sockets included.\n\n| attack | as many callers who harm nobody | the attack |\n|---|---|---|\n", memoryLimit>>20)
	for _, row := range rows {
		text += row[1]
	}
	if err := testutil.ReplaceSection(*out, "attacks-v2", text); err != nil {
		t.Fatal(err)
	}
}

// buildRegset builds the library where there is a compiler. Most processors need none.
func buildRegset(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "regset.so")
	cmd := exec.Command("cc", "-shared", "-fPIC", "-o", path, "-xc", "-")
	cmd.Stdin = bytes.NewReader(wholeRegset)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%s is started without testdata/regset.c: %v\n%s", kernel, err, b)
		return ""
	}
	return path
}

// calmed returns the control of an attack.
func (a *attack) calmed() *attack {
	calm := *a
	calm.run, calm.isCalm = a.calm, true
	if a.calmApp != nil {
		calm.app = a.calmApp
	}
	return &calm
}

// attackBesideControls attacks on a slow machine: no attack loses more probes than its control, none has the program
// killed, and its memory has the usual bound.
func attackBesideControls(t *testing.T) {
	every, timeout, underWay, pace = time.Second, 3*time.Second, 2*time.Second, slow
	patience = time.Minute
	for _, a := range attacks {
		if a.calm == nil {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			var lost []string
			for range attempts {
				calm := a.calmed().against(t, memoryLimit, 0, *program, "--port")
				r := a.against(t, memoryLimit, 0, *program, "--port")
				t.Logf("control %s, attack %s", calm, r)
				if r.killed || r.peak > maxPeak {
					t.Fatal("probe-proxy takes too much memory")
				}
				lost = append(lost, fmt.Sprintf("%d and %d", r.failed, calm.failed))
				if r.failed <= calm.failed {
					fmt.Printf("row: | %s | %s | %s |\n", a.name, calm, r)
					return
				}
			}
			t.Errorf("lost probes, and those of the control: %s", strings.Join(lost, ", "))
		})
	}
}

// guestIsUp is what the guest says first.
const guestIsUp = "attack: the guest is up"

// runGuest runs the tests as the only program of a kernel, and turns it off.
func runGuest(m *testing.M) {
	code := 1
	defer func() {
		fmt.Println("attack: the guest ends with", code)
		unix.Sync()
		_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	}()
	if err := prepareGuest(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(guestIsUp)
	code = m.Run()
}

func prepareGuest() error {
	for _, mount := range [][2]string{{"proc", "/proc"}, {"sysfs", "/sys"}, {"tmpfs", "/run"}, {"cgroup2", "/sys/fs/cgroup"}} {
		if err := unix.Mount(mount[0], mount[1], mount[0], 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", mount[1], err)
		}
	}
	for name, value := range map[string]string{"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": "/run"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return upLoopback()
}

// upLoopback turns on the loopback interface, with packets as large as a network's.
func upLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint32(1500)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFMTU, lo); err != nil {
		return fmt.Errorf("MTU of lo: %w", err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	return nil
}
