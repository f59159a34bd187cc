package config_test

import (
	"os"
	"testing"

	"github.com/rewrite-probes/rewrite-probes/internal/testutil"
	"github.com/rewrite-probes/rewrite-probes/internal/testutil/golden"
)

// said has the errors of the configurations that the tests decoded.
var said = golden.Sentences{}

func TestMain(m *testing.M) { os.Exit(testutil.RunAndCheck(m, said.Compare)) }
