package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// browse runs a browser without a screen, and returns what it prints.
func browse(t *testing.T, page string, flags ...string) string {
	t.Helper()
	chromium := testutil.Need(t, "chromium", "chromium-browser", "google-chrome")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--disable-background-networking", "--user-data-dir=" + t.TempDir()}
	args = append(args, flags...)
	out, err := testutil.Output(exec.CommandContext(ctx, chromium, append(args, "file://"+page)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// explained returns the page of explain for the example, and where a file of it is.
func explained(t *testing.T) (page, file string) {
	t.Helper()
	return explainedOf(t, "examples/app", "examples/app")
}

// explainedOf does that for another folder, with the functionConfig of a folder.
func explainedOf(t *testing.T, config, folder string) (page, file string) {
	t.Helper()
	testutil.Need(t, "chromium", "chromium-browser", "google-chrome")
	h := setUp(t)
	page, err := h.run(h.source, filepath.Join(h.bin, "rewrite-probes"), "explain", "--config", config+"/rewrite-probes.yaml", "-o", "html", folder)
	if err != nil {
		t.Fatal(err)
	}
	return page, saved(t, page)
}

func saved(t *testing.T, page string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "probes.html")
	if err := os.WriteFile(file, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// withScript returns the page with one more script at its end.
func withScript(t *testing.T, page, script string) string {
	t.Helper()
	body, ended := strings.CutSuffix(strings.TrimSpace(page), "</html>")
	if !ended {
		t.Fatal("the page must end with </html>")
	}
	return body + "<script>{" + script + "}</script>\n</html>"
}

var rootTag = regexp.MustCompile(`<html[^>]*>`)

// TestPage_filters presses and types what a reader would, and reads what is shown then.
func TestPage_filters(t *testing.T) {
	page, _ := explained(t)
	const see = `
const root = document.documentElement.dataset, shown = e => e.offsetParent !== null;
root.seen = [...document.querySelectorAll(".workload")].filter(shown).map(w => w.querySelector("h3").firstChild.textContent.trim()).join(", ");
root.rows = [...document.querySelectorAll("tr[data-class]")].filter(shown).length;
root.none = shown(document.getElementById("none"));`
	all := seen(t, page, see)
	if all["seen"] != "StatefulSet ledger, Deployment web" || all["none"] != "false" {
		t.Fatalf("without a filter everything must be shown: %v", all)
	}
	rows, _ := strconv.Atoi(all["rows"])
	sum := 0
	for _, class := range []string{"fail", "may-fail", "work", "not-affected"} {
		got := seen(t, page, `document.querySelector("button[data-class=`+class+`]").click();`+see)
		n, _ := strconv.Atoi(got["rows"])
		if counted := regexp.MustCompile(`data-class="` + class + `"[^>]*>.*?</span> (\d+) `).FindStringSubmatch(page); counted == nil || counted[1] != got["rows"] {
			t.Errorf("%s: the button says %v, and %s rows are shown", class, counted, got["rows"])
		}
		sum += n
	}
	if sum != rows || rows == 0 {
		t.Errorf("the classes have %d rows together, and the page has %d", sum, rows)
	}
	for typed, want := range map[string]string{"ledger": "StatefulSet ledger", "WEB.yaml liveness": "Deployment web", "no such word": ""} {
		got := seen(t, page, `const box = document.getElementById("filter"); box.value = "`+typed+`"; box.dispatchEvent(new Event("input"));`+see)
		if got["seen"] != want || got["none"] != fmt.Sprint(want == "") {
			t.Errorf("with %q typed, %q must be shown: %v", typed, want, got)
		}
	}
}

// seen runs a script on the page, and returns the data of the root that it set.
func seen(t *testing.T, page, script string) map[string]string {
	t.Helper()
	dom := browse(t, saved(t, withScript(t, page, script)), "--dump-dom")
	data := make(map[string]string)
	for _, m := range regexp.MustCompile(`data-(\w+)="([^"]*)"`).FindAllStringSubmatch(rootTag.FindString(dom), -1) {
		data[m[1]] = html.UnescapeString(m[2])
	}
	if len(data) == 0 {
		t.Fatalf("the script set nothing: %s", rootTag.FindString(dom))
	}
	return data
}

// TestPage_needsNothing looks for what would make a browser ask for anything, and lets the page say
// itself what it asked for.
func TestPage_needsNothing(t *testing.T) {
	page, _ := explained(t)
	if outside := regexp.MustCompile(`(?i)src=|<link|url\(|@import|fetch\(|https?:|ping=`).FindString(page); outside != "" {
		t.Errorf("the page must hold all that it needs, and has %q", outside)
	}
	for _, href := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if strings.HasPrefix(href[1], "//") || strings.Contains(href[1], ":") {
			t.Errorf("the page leads outside: %s", href[1])
		}
	}
	got := seen(t, page, `document.documentElement.dataset.asked = performance.getEntriesByType("resource").length;`)
	if got["asked"] != "0" {
		t.Errorf("the page asked for %s things", got["asked"])
	}
}

// TestPage_worksWithoutScripts has the browser run none: every row is shown, and no control that would do nothing.
func TestPage_worksWithoutScripts(t *testing.T) {
	page, _ := explained(t)
	plain := regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(page, "")
	if strings.Contains(plain, "onclick") {
		t.Error("a script hides in an attribute")
	}
	got := seen(t, plain, `
const root = document.documentElement.dataset;
root.hidden = [...document.querySelectorAll("tr[data-class]")].filter(e => e.offsetParent === null).length;
root.rows = document.querySelectorAll("tr[data-class]").length;
root.controls = document.getElementById("controls").offsetParent !== null;`)
	if got["hidden"] != "0" || got["rows"] == "0" || got["controls"] != "false" {
		t.Errorf("without scripts: %v", got)
	}
}

// TestPage_folds opens by the keyboard alone what works, which is closed; a change of a workload; and all changes.
func TestPage_folds(t *testing.T) {
	page, _ := explainedOf(t, "kustomization-example", "kustomization-example")
	got := seen(t, page, `
const root = document.documentElement.dataset, rest = document.getElementById("rest"), row = rest.querySelector("tr[data-class]");
root.before = row.checkVisibility() + "," + rest.open;
rest.querySelector("summary").focus();
root.focus = document.activeElement === rest.querySelector("summary");
rest.querySelector("summary").click();
root.after = rest.open;
const diffs = [...document.querySelectorAll(".diff")];
root.closed = diffs.every(d => !d.open);
document.getElementById("diffs").click();
root.opened = diffs.every(d => d.open) && diffs[0].textContent.includes("name: probe-proxy");
root.wide = diffs[0].querySelector("pre").offsetWidth >= 0.95 * document.querySelector("main").offsetWidth;
root.old = diffs.every(d => d.querySelector("del"));
const reachable = e => e.tabIndex >= 0;
root.reachable = [...document.querySelectorAll("button, input, summary, a[href]")].every(reachable);
root.lang = document.documentElement.lang;`)
	want := map[string]string{"before": "false,false", "focus": "true", "after": "true", "closed": "true", "opened": "true", "wide": "true", "old": "true", "reachable": "true", "lang": "en"}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s is %q, want %q", key, got[key], value)
		}
	}
}

// TestPage_beginsWithWhatFails reads the first screen of Kubeflow: the verdict, and only what fails, or what the unknown fact decides.
func TestPage_beginsWithWhatFails(t *testing.T) {
	testutil.Need(t, "chromium", "chromium-browser", "google-chrome")
	h := setUp(t)
	corpus, err := testutil.Corpus("../..")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(corpus, func(name string) bool { return filepath.Base(name) == "kubeflow.yaml" })
	if at < 0 {
		t.Fatal("the corpus has no kubeflow.yaml")
	}
	input := filepath.Join(t.TempDir(), "unknown.yaml") // without the ConfigMap that says what Istio's injector does
	unknown := strings.ReplaceAll(string(readFile(t, corpus[at])), "name: istio-sidecar-injector", "name: other")
	if err := os.WriteFile(input, []byte(unknown), 0o666); err != nil {
		t.Fatal(err)
	}
	off := filepath.Join(t.TempDir(), "off.yaml")
	if err := os.WriteFile(off, []byte("apiVersion: rewrite-probes.io/v1alpha1\nkind: RewriteProbes\nmetadata: {name: x}\nspec: {istio: {injectorRewrites: false}}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for config, want := range map[string]struct{ class, verdict string }{
		off:    {"fail", "22 of 47 probes fail today. After this change: 0. 1 object was not read."},
		"none": {"may-fail", "22 of 47 probes work only if Istio's injector rewrites them. After this change: 0. 1 object was not read."},
	} {
		page, err := h.run(h.source, filepath.Join(h.bin, "rewrite-probes"), "explain", "--allow-empty", "--config", config, "-o", "html", input)
		if err != nil && page == "" {
			t.Fatal(err)
		}
		got := seen(t, page, `
const root = document.documentElement.dataset, rows = [...document.querySelectorAll("tr[data-class]")].filter(r => r.checkVisibility());
root.verdict = document.querySelector("h1").textContent;
root.top = document.querySelector("h1").getBoundingClientRect().top < 100;
root.first = rows[0].getBoundingClientRect().bottom < 900;
root.classes = [...new Set(rows.map(r => r.dataset.class))].join();`)
		verdict := strings.TrimSuffix(want.verdict, " 1 object was not read.")
		if !strings.HasPrefix(got["verdict"], verdict) || got["top"] != "true" || got["first"] != "true" || got["classes"] != want.class {
			t.Errorf("%s: %v", config, got)
		}
	}
}

// TestPage_fitsItsWindow shows the page on a desk and on a phone, where a path is a word longer than that, and
// compares where things are. A screenshot of each must not be empty.
func TestPage_fitsItsWindow(t *testing.T) {
	page, _ := explained(t)
	const path = "/healthz"
	if !strings.Contains(page, path) {
		t.Fatalf("the page must have the path %s", path)
	}
	page = strings.ReplaceAll(page, path, "/"+strings.Repeat("health", 30))
	const frame = `<!DOCTYPE html><html><iframe width="%WIDTH%" height="900" style="border:0" srcdoc="%PAGE%"></iframe><script>
onload = () => {
	const inside = document.querySelector("iframe").contentDocument, root = document.documentElement.dataset;
	const rows = [...inside.querySelectorAll("tr[data-class]")], left = (r, i) => Math.round(r.cells[i].getBoundingClientRect().left);
	root.fits = inside.documentElement.scrollWidth <= inside.documentElement.clientWidth;
	root.stacked = rows.every(r => r.cells[2].getBoundingClientRect().top >= r.cells[1].getBoundingClientRect().bottom);
	root.columns = rows.every(r => [...r.cells].every((c, i) => left(r, i) === left(rows[0], i)));
};
</script></html>`
	for width, want := range map[string]string{"390": `data-fits="true" data-stacked="true"`, "1280": `data-fits="true" data-stacked="false" data-columns="true"`} {
		framed := strings.NewReplacer("%WIDTH%", width, "%PAGE%", html.EscapeString(page)).Replace(frame)
		if dom := browse(t, saved(t, framed), "--dump-dom"); !strings.Contains(dom, want) {
			t.Errorf("%s pixels wide: the page must be %s, and is %s", width, want, rootTag.FindString(dom))
		}
		shot := filepath.Join(t.TempDir(), "shot.png")
		browse(t, saved(t, page), "--window-size="+width+",900", "--screenshot="+shot)
		if colors := colorsOf(t, shot); colors < 20 {
			t.Errorf("%s pixels wide: the screenshot has %d colours", width, colors)
		}
	}
}

// colorsOf returns how many colours a picture has.
func colorsOf(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	colors := make(map[[3]uint32]bool)
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			r, g, b, _ := picture.At(x, y).RGBA()
			colors[[3]uint32{r, g, b}] = true
		}
	}
	return len(colors)
}

// TestPage_prints makes a PDF of the page: two sheets of paper for 15 probes, with all rows, and no controls.
func TestPage_prints(t *testing.T) {
	page, file := explainedOf(t, "kustomization-example", "kustomization-example/base")
	pdf := filepath.Join(t.TempDir(), "probes.pdf")
	browse(t, file, "--print-to-pdf="+pdf)
	data, err := os.ReadFile(pdf)
	if err != nil || !bytes.HasPrefix(data, []byte("%PDF-")) || len(data) < 5000 {
		t.Fatalf("no PDF: %v, %d bytes", err, len(data))
	}
	if rows, sheets := strings.Count(page, "<tr class="), len(regexp.MustCompile(`/Type */Page\b`).FindAll(data, -1)); rows != 15 || sheets == 0 || sheets > 2 {
		t.Errorf("%d rows are on %d sheets", rows, sheets)
	}
	got := seen(t, strings.Replace(page, "@media print", "@media all", 1), `
const root = document.documentElement.dataset;
root.hidden = [...document.querySelectorAll("tr[data-class]")].filter(e => !e.checkVisibility()).length;
root.controls = document.getElementById("controls").checkVisibility();`)
	if got["hidden"] != "0" || got["controls"] != "false" {
		t.Errorf("got %v", got)
	}
}

// TestPage_hasContrast computes the contrast of every text with its ground, in the light and in the dark, as WCAG 2.1
// defines it; its level AA asks for 4.5.
func TestPage_hasContrast(t *testing.T) {
	page, _ := explained(t)
	for scheme, flag := range map[string]string{"light": "--blink-settings=preferredColorScheme=1", "dark": "--blink-settings=preferredColorScheme=0"} {
		dom := browse(t, saved(t, withScript(t, page, `
const texts = [...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()));
document.documentElement.dataset.ground = getComputedStyle(document.body).backgroundColor;
document.documentElement.dataset.inks = JSON.stringify([...new Set(texts.map(e => getComputedStyle(e).color))]);`)), "--dump-dom", flag)
		root := rootTag.FindString(dom)
		ground := luminance(t, html.UnescapeString(regexp.MustCompile(`data-ground="([^"]*)"`).FindStringSubmatch(root)[1]))
		if (ground > 0.5) != (scheme == "light") {
			t.Errorf("%s: the ground has the luminance %.2f", scheme, ground)
		}
		var inks []string
		if err := json.Unmarshal([]byte(html.UnescapeString(regexp.MustCompile(`data-inks="([^"]*)"`).FindStringSubmatch(root)[1])), &inks); err != nil || len(inks) < 4 {
			t.Fatalf("%v: %s", err, root)
		}
		for _, ink := range inks {
			l := luminance(t, ink)
			if contrast := (max(l, ground) + 0.05) / (min(l, ground) + 0.05); contrast < 4.5 {
				t.Errorf("%s: %s has a contrast of %.2f", scheme, ink, contrast)
			}
		}
	}
}

// luminance returns the relative luminance of a colour such as rgb(1, 2, 3), as WCAG 2.1 defines it.
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	m := regexp.MustCompile(`^rgb\((\d+), (\d+), (\d+)\)$`).FindStringSubmatch(color)
	if m == nil {
		t.Fatalf("the colour %q", color)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.Atoi(m[i+1])
		c := float64(n) / 255
		if c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}

// TestPage_isSmall has 80 workloads on the page.
func TestPage_isSmall(t *testing.T) {
	testutil.Need(t, "chromium", "chromium-browser", "google-chrome")
	h := setUp(t)
	var list strings.Builder
	for i := range 80 {
		fmt.Fprintf(&list, `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-%d, namespace: team-%d}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: shop/web:1.0
        readinessProbe: {httpGet: {path: /ready, port: 8080}}
        livenessProbe: {tcpSocket: {port: 8080}}
        startupProbe: {httpGet: {path: /started, port: 8080}}
`, i, i/10)
	}
	file := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(file, []byte(list.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	page, err := h.run(h.source, filepath.Join(h.bin, "rewrite-probes"), "explain", "--config", "none", "-o", "html", file)
	if err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(page, "<tr class="); rows != 240 || len(page) >= 150_000 {
		t.Errorf("the page has %d rows and %d bytes", rows, len(page))
	}
}
