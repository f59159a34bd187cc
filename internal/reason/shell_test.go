package reason_test

import (
	"math/rand/v2"
	"os/exec"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/reason"
)

func TestAPlainWordHasNoQuotes(t *testing.T) {
	for _, word := range []string{"podinfo", "oci://ghcr.io/charts/podinfo", "6.5.0+build_1", "apps/prod", "a=b,c@d:1%"} {
		if got := reason.ShellWord(word); got != word {
			t.Errorf("%q becomes %q", word, got)
		}
	}
}

// TestAShellReadsEveryWordAsItIs asks the shell.
func TestAShellReadsEveryWordAsItIs(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell to ask:", err)
	}
	words := []string{"", "'", "$(touch x)", "`x`", "a;b", "a&b", ">=6.5 <7", "~/x", "a\nb", "\\", "!x", "#x", "{a,b}", "[a]*?", "\"", "ü"}
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		word := make([]byte, 1+rnd.IntN(12))
		for i := range word {
			word[i] = byte(1 + rnd.IntN(126))
		}
		words = append(words, string(word))
	}
	for _, word := range words {
		out, err := exec.Command(sh, "-c", "printf %s "+reason.ShellWord(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q as %s is %q, %v", word, reason.ShellWord(word), out, err)
		}
	}
}
