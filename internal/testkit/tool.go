package testkit

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Tool returns the path of a program that tools/go.mod names. The first call builds the program, which then stays in Go's build
// cache. If this machine can't build the program, Tool skips the test.
func Tool(tb testing.TB, name string) string {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command("go", "tool", "-modfile="+filepath.Join("tools", "go.mod"), "-n", name)
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Skipf("skipped, because %s can't be built: go tool -modfile=tools/go.mod %s: %v\n%s", name, name, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}
