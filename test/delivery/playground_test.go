package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// A playground is the built folder, served to a browser that runs a script of the test in it.
type playground struct {
	h   *harness
	dir string
}

func newPlayground(t *testing.T) playground {
	t.Helper()
	testutil.Need(t, "chromium", "chromium-browser", "google-chrome")
	h := setUp(t)
	if _, err := h.run(h.source, "make", "--no-print-directory", "playground", "VERSION="+version); err != nil {
		t.Fatal(err)
	}
	return playground{h, filepath.Join(h.source, "bin", "playground")}
}

// drive opens a page of the folder, with the script at its end. It returns what the script gives to done().
func (p playground) drive(t *testing.T, page, script string, inputs map[string]string, into any) {
	t.Helper()
	results := make(chan []byte, 1)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(p.dir)))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, strings.Replace(page, "</html>", `<script src="test.js"></script></html>`, 1))
	})
	mux.HandleFunc("/test.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprintf(w, `const done = (result) => fetch("result", {method: "POST", body: JSON.stringify(result)});
const until = async (holds) => { while (!holds()) await new Promise((r) => setTimeout(r, 20)); };
(async () => { %s })().catch((e) => done({failed: String(e.stack)}));`, script)
	})
	mux.HandleFunc("/input/{name}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, inputs[r.PathValue("name")]) })
	mux.HandleFunc("/result", func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		b.ReadFrom(r.Body)
		results <- b.Bytes()
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	data, err := os.MkdirTemp("", "browser") // not t.TempDir: what the browser starts may write after its end
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(data)
	browser := exec.CommandContext(ctx, testutil.Need(t, "chromium", "chromium-browser", "google-chrome"),
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
		"--user-data-dir="+data, "--remote-debugging-port=0", server.URL+"/")
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = browser.Wait()
	}()
	select {
	case result := <-results:
		var failed struct{ Failed string }
		if err := json.Unmarshal(result, &failed); err == nil && failed.Failed != "" {
			t.Fatal(failed.Failed)
		}
		if err := json.Unmarshal(result, into); err != nil {
			t.Fatalf("%v: %s", err, result)
		}
	case <-ctx.Done():
		t.Fatal("the browser gives no result")
	}
}

// A ran is what one run of the program gives.
type ran struct {
	Code           int
	Stdout, Stderr string
}

// native runs the program outside of a browser, in an empty folder.
func (p playground) native(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	cmd := exec.Command(filepath.Join(p.h.bin, "rewrite-probes"), args...)
	cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// TestPlayground_runsAsTheCommandDoes: on real manifests, and on what is none, a browser gets byte for byte what the
// native program writes.
func TestPlayground_runsAsTheCommandDoes(t *testing.T) {
	p := newPlayground(t)
	inputs := map[string]string{"empty": "", "broken": "kind: [", "binary": "\x00\x01"}
	corpus, err := testutil.Corpus("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range corpus {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		inputs[filepath.Base(name)] = string(text)
	}
	for _, name := range []string{"examples/app", "kustomization-example"} {
		files, err := filepath.Glob(filepath.Join(p.h.source, name, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		for _, file := range files {
			inputs[strings.ReplaceAll(name, "/", "-")+"-"+filepath.Base(file)] = string(readFile(t, file))
		}
	}
	runs := map[string][]string{
		"check":  {"check", "--config", "none", "-"},
		"page":   {"explain", "--config", "none", "-o", "html", "-"},
		"diff":   {"--config", "none", "--diff", "-"},
		"result": {"--config", "none", "-"},
	}
	names := make([]string, 0, len(inputs))
	for name := range inputs {
		names = append(names, name)
	}
	list, err := json.Marshal(map[string]any{"names": names, "runs": runs})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]ran{}
	p.drive(t, "<!DOCTYPE html><title>test</title></html>", `
const {names, runs} = `+string(list)+`;
const packed = await (await fetch("rewrite-probes.wasm.gz")).blob();
const program = await WebAssembly.compile(await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
const results = {};
for (const name of names) {
	const stdin = await (await fetch("input/" + name)).text();
	const worker = new Worker("run.js");
	results[name] = await new Promise((resolve, reject) => {
		const outputs = {};
		worker.onerror = reject;
		worker.onmessage = ({data}) => {
			if (data.failed) reject(new Error(name + ": " + data.failed));
			else if (data.ended) resolve(outputs);
			else outputs[data.name] = data;
		};
		worker.postMessage({program, stdin, files: {}, runs});
	});
	worker.terminate();
}
await done(results);`, inputs, &got)
	for name, text := range inputs {
		for run, args := range runs {
			if want, got := p.native(t, text, args...), got[name][run]; got != want {
				t.Errorf("%s, %s: exit code %d, want %d\n%s", name, run, got.Code, want.Code, firstDifference(got.Stdout+got.Stderr, want.Stdout+want.Stderr))
			}
		}
	}
}

// firstDifference returns the first line that differs.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d:\n%s\nwant\n%s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// TestPlayground_isUsed as a reader would: the example, a functionConfig of one's own, a link, the tabs, a run that is stopped.
func TestPlayground_isUsed(t *testing.T) {
	p := newPlayground(t)
	var got struct {
		Said, Diff, Manifest, Messages, Report string
		Manifests, Config                      string
		Link, TooLong, Linked, Stopped         string
		Shown                                  []string
		Elsewhere                              string
	}
	p.drive(t, string(readFile(t, filepath.Join(p.dir, "index.html"))), `
const ended = () => until(() => !$("run").disabled && $("stop").disabled);
await ended();
$("example").click();
await ended();
const got = {said: $("said").textContent, diff: $("diff").textContent, manifest: $("manifest").textContent, messages: $("messages").textContent,
	report: $("report").srcdoc, manifests: $("manifests").value, config: $("config").value, shown: []};
for (const tab of document.querySelectorAll("[role=tab]")) {
	tab.click();
	got.shown.push([...document.querySelectorAll("[role=tabpanel]")].filter((e) => e.offsetParent).map((e) => e.id).join(" "));
}
$("link").click();
await until(() => location.hash);
got.link = location.hash;
$("manifests").value = $("config").value = "";
location.hash = "";
await until(() => $("said").textContent.includes("damaged") || location.hash == "");
location.hash = got.link;
await until(() => $("manifests").value);
await ended();
got.linked = JSON.stringify([$("manifests").value == got.manifests, $("config").value == got.config, $("diff").textContent == got.diff]);
let random = "";
while (random.length < 60000) random += crypto.randomUUID();
$("manifests").value = random;
$("link").click();
await until(() => $("said").textContent.includes("too long"));
got.tooLong = $("said").textContent;
$("run").click();
await until(() => !$("stop").disabled);
$("stop").click();
got.stopped = $("said").textContent;
try {
	await fetch("http://127.0.0.1:1/");
	got.elsewhere = "allowed";
} catch (e) {
	got.elsewhere = await new Promise((resolve) => {
		document.addEventListener("securitypolicyviolation", (v) => resolve(v.effectiveDirective));
		fetch("http://127.0.0.1:1/").catch(() => {});
	});
}
await done(got);`, nil, &got)
	config := filepath.Join(t.TempDir(), "rewrite-probes.yaml")
	if err := os.WriteFile(config, []byte(got.Config), 0o666); err != nil {
		t.Fatal(err)
	}
	result := p.native(t, got.Manifests, "--config", config, "-")
	if got.Manifest != result.Stdout || !strings.Contains(got.Manifest, "/app-health/web/readyz") {
		t.Errorf("the manifests are not what the program writes: %s", firstDifference(got.Manifest, result.Stdout))
	}
	page := p.native(t, got.Manifests, "explain", "--config", config, "-o", "html", "-")
	if want := strings.ReplaceAll(page.Stdout, config, "/rewrite-probes.yaml"); got.Report != want {
		t.Errorf("the report is not the page of explain: %s", firstDifference(got.Report, want))
	}
	if !strings.Contains(got.Diff, "\n+") || !strings.Contains(got.Messages, "[would-fail]") || !strings.Contains(got.Said, "2 probes") {
		t.Errorf("said %q, diff:\n%s\nmessages:\n%s", got.Said, got.Diff, got.Messages)
	}
	if want := "[report diff manifest messages]"; fmt.Sprint(got.Shown) != want {
		t.Errorf("the tabs show %s, want %s", got.Shown, want)
	}
	if got.Linked != "[true,true,true]" || len(got.Link) < 100 {
		t.Errorf("the link %s gives %s", got.Link, got.Linked)
	}
	if !strings.Contains(got.TooLong, "too long for a link") || got.Stopped != "Stopped." {
		t.Errorf("too long: %q, stopped: %q", got.TooLong, got.Stopped)
	}
	if got.Elsewhere != "connect-src" {
		t.Errorf("a connection to another server is %s", got.Elsewhere)
	}
}
