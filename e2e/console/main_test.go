package console

import (
	"os"
	"testing"

	"umg/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.RunTests(m)) }
