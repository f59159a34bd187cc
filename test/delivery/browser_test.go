package delivery

import (
	"context"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// open returns the document of a page, once its scripts have run.
func open(t *testing.T, page string) string {
	t.Helper()
	chromium := testutil.Need(t, "chromium", "chromium-browser", "google-chrome")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--disable-background-networking", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+page)
	out, err := testutil.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestThePageOfExplainFilters types into the filter box of the page, and reads
// what is shown then.
func TestThePageOfExplainFilters(t *testing.T) {
	testutil.Need(t, "chromium", "chromium-browser", "google-chrome")
	h := setUp(t)
	page, err := h.run(h.source, filepath.Join(h.bin, "rewrite-probes"), "explain", "--config", "examples/app/rewrite-probes.yaml", "-o", "html", "examples/app")
	if err != nil {
		t.Fatal(err)
	}
	if outside := regexp.MustCompile(`(?i)(src|href)=|url\(|@import|fetch\(`).FindString(page); outside != "" {
		t.Errorf("the page must hold all that it needs, and has %q", outside)
	}
	const ask = `<script>
const typed = %TYPED%, box = document.getElementById("filter");
box.value = typed;
box.dispatchEvent(new Event("input"));
const seen = [...document.querySelectorAll("section")].filter(s => s.offsetParent !== null).map(s => s.querySelector("h2").firstChild.textContent.trim());
document.documentElement.dataset.seen = seen.join(", ");
document.documentElement.dataset.none = document.getElementById("none").offsetParent !== null;
</script>
</html>`
	for typed, want := range map[string]string{
		``:                  `data-seen="StatefulSet ledger, Deployment web" data-none="false"`,
		`ledger`:            `data-seen="StatefulSet ledger" data-none="false"`,
		`WEB.yaml liveness`: `data-seen="Deployment web" data-none="false"`,
		`no such word`:      `data-seen="" data-none="true"`,
	} {
		file := filepath.Join(t.TempDir(), "probes.html")
		script := strings.Replace(ask, "%TYPED%", `"`+typed+`"`, 1)
		if !strings.HasSuffix(strings.TrimSpace(page), "</html>") {
			t.Fatal("the page must end with </html>")
		}
		if err := os.WriteFile(file, []byte(strings.TrimSuffix(strings.TrimSpace(page), "</html>")+script), 0o666); err != nil {
			t.Fatal(err)
		}
		if dom := open(t, file); !strings.Contains(dom, want) {
			t.Errorf("with %q typed, the page must have %s, and has %s", typed, want, regexp.MustCompile(`<html[^>]*>`).FindString(dom))
		}
	}
}

// TestThePageOfExplainFitsAPhone shows the page in a frame as wide as a phone, with a path that is a word longer than that.
func TestThePageOfExplainFitsAPhone(t *testing.T) {
	testutil.Need(t, "chromium", "chromium-browser", "google-chrome")
	h := setUp(t)
	page, err := h.run(h.source, filepath.Join(h.bin, "rewrite-probes"), "explain", "--config", "examples/app/rewrite-probes.yaml", "-o", "html", "examples/app")
	if err != nil {
		t.Fatal(err)
	}
	const path = "/healthz"
	if !strings.Contains(page, path) {
		t.Fatalf("the page must have the path %s", path)
	}
	page = strings.ReplaceAll(page, path, "/"+strings.Repeat("health", 30))
	file := filepath.Join(t.TempDir(), "phone.html")
	const frame = `<!DOCTYPE html><html><iframe width="390" height="800" style="border:0" srcdoc="%PAGE%"></iframe><script>
onload = () => {
	const inside = document.querySelector("iframe").contentDocument, cells = [...inside.querySelector("tr:has(td)").cells];
	document.documentElement.dataset.fits = inside.documentElement.scrollWidth <= inside.documentElement.clientWidth;
	document.documentElement.dataset.stacked = cells.at(-1).getBoundingClientRect().top >= cells[2].getBoundingClientRect().bottom;
};
</script></html>`
	if err := os.WriteFile(file, []byte(strings.Replace(frame, "%PAGE%", html.EscapeString(page), 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if dom := open(t, file); !strings.Contains(dom, `data-fits="true" data-stacked="true"`) {
		t.Errorf("the page must be no wider than 390 pixels, with its cells below each other, and is %s", regexp.MustCompile(`<html[^>]*>`).FindString(dom))
	}
}
