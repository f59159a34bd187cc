package delivery

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
)

// browser returns the path of a Chromium. The test is skipped if there is none.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium is installed, so the page of explain -o html was opened in no browser")
	return ""
}

// open returns the document of a page, once its scripts have run.
func open(t *testing.T, page string) string {
	t.Helper()
	chromium := browser(t)
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
	browser(t)
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
