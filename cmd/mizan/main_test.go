package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestScript runs the command line as a shell does.
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

// oneLine wants exactly one line with the prefix on stderr.
func oneLine(t *testing.T, stderr, prefix string) {
	t.Helper()
	if got := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n"); len(got) != 1 || !strings.HasPrefix(got[0], prefix) {
		t.Errorf("stderr is %q, want one line that begins with %q", stderr, prefix)
	}
}
