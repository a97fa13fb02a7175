package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// BinaryVariable names a binary that is built already; the Makefile sets it. It
// does not count under the race detector, which wants a build of its own.
const BinaryVariable = "MIZAN_TEST_BINARY"

var built struct {
	once sync.Once
	path string
	dir  string // of a build of our own; empty: none
	err  error
}

// Main runs a package's tests and removes what Binary built. A package that
// uses this kit calls it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// Binary is the path of the binary under test. It is built at the first call,
// with the race detector if the tests have it.
func Binary(tb testing.TB) string {
	tb.Helper()
	built.once.Do(func() { built.path, built.err = build() })
	if built.err != nil {
		tb.Fatal(built.err)
	}
	return built.path
}

func build() (string, error) {
	if path := os.Getenv(BinaryVariable); path != "" && !raceDetector {
		_, err := os.Stat(path)
		return path, err
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	if built.dir, err = os.MkdirTemp("", "mizan-testkit-"); err != nil {
		return "", err
	}
	path := filepath.Join(built.dir, "mizan")
	args := []string{"build", "-o", path}
	if raceDetector {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/mizan")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the binary: %w\n%s", err, bytes.TrimSpace(out))
	}
	return path, nil
}

// moduleRoot is the nearest folder above with a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = parent
	}
}
