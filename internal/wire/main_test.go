package wire_test

import (
	"os"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// said has the reasons for which the tests saw responses refused.
var said = golden.Sentences{}

func TestMain(m *testing.M) { os.Exit(testutil.RunAndCheck(m, said.Compare)) }
