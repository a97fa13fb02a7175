package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestScript runs the scripts in testdata/script, which call the mizan binary as a shell does.
func TestScript(t *testing.T) {
	binary := testkit.Binary(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(binary)+string(filepath.ListSeparator)+e.Getenv("PATH"))
			return nil
		},
	})
}
