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

// BinaryVariable is the environment variable with the path of a binary that is built already;
// the Makefile sets it. It is ignored under the race detector, which needs its own build.
const BinaryVariable = "MIZAN_TEST_BINARY"

var plain, raced built

// built is the binary under test, with or without the race detector.
type built struct {
	once sync.Once
	path string
	dir  string // directory of the build; empty: none was made
	err  error
}

// Main runs a package's tests and removes the binary that Binary has built. A package that uses
// this kit calls it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	for _, b := range []*built{&plain, &raced} {
		if b.dir != "" {
			_ = os.RemoveAll(b.dir)
		}
	}
	os.Exit(code)
}

// Binary returns the path of the binary under test. The first call builds it, with the race
// detector if the tests have it.
func Binary(tb testing.TB) string {
	tb.Helper()
	return binary(tb, raceDetector)
}

func binary(tb testing.TB, race bool) string {
	tb.Helper()
	b := &plain
	if race {
		b = &raced
	}
	b.once.Do(func() { b.path, b.err = b.build(race) })
	if b.err != nil {
		tb.Fatal(b.err)
	}
	return b.path
}

func (b *built) build(race bool) (string, error) {
	if path := os.Getenv(BinaryVariable); path != "" && !race {
		_, err := os.Stat(path)
		return path, err
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	if b.dir, err = os.MkdirTemp("", "mizan-testkit-"); err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, "mizan")
	args := []string{"build", "-o", path}
	if race {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/mizan")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the binary: %w\n%s", err, bytes.TrimSpace(out))
	}
	return path, nil
}

// moduleRoot returns the nearest parent directory with a go.mod.
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
