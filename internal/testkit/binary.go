package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// Environment variables with the paths of binaries that the Makefile has built. If a variable is not set, the tests build the
// binary.
const (
	BinaryVariable     = "MIZAN_TEST_BINARY"
	RaceBinaryVariable = "MIZAN_TEST_RACE_BINARY" // built with the race detector
)

var plainBinary, raceBinary builtBinary

// builtBinary is the binary under test, with or without the race detector.
type builtBinary struct {
	once sync.Once
	path string
	dir  string // temporary directory with the binary; empty if this process has not built it
	err  error
}

// Main runs a package's tests and then removes the binaries that Binary and RaceBinary have built. If the tests of a package
// use testkit, TestMain must call Main.
func Main(m *testing.M) {
	code := m.Run()
	for _, b := range []*builtBinary{&plainBinary, &raceBinary} {
		if b.dir != "" {
			_ = os.RemoveAll(b.dir)
		}
	}
	os.Exit(code)
}

// Binary returns the path of the binary under test, without the race detector. Unless BinaryVariable is set, the first call in
// a process builds the binary.
func Binary(tb testing.TB) string {
	tb.Helper()
	return plainBinary.pathOf(tb, false)
}

// RaceBinary returns the path of a binary that is built like the tests: with the race detector if the tests have it, and
// otherwise without. It is for commands that have goroutines: serve, simulator, backup and restore.
func RaceBinary(tb testing.TB) string {
	tb.Helper()
	if !hasRaceDetector {
		return plainBinary.pathOf(tb, false)
	}
	return raceBinary.pathOf(tb, true)
}

// binaryOf returns the path of the binary for a command. A command with a single goroutine cannot have races, so binaryOf
// returns the binary without the race detector. With the race detector, the command would take eight times as long to start.
func binaryOf(tb testing.TB, args []string) string {
	tb.Helper()
	if len(args) > 0 && slices.Contains([]string{"serve", "simulator", "backup", "restore"}, args[0]) {
		return RaceBinary(tb)
	}
	return Binary(tb)
}

func (b *builtBinary) pathOf(tb testing.TB, withRace bool) string {
	tb.Helper()
	b.once.Do(func() { b.path, b.err = b.build(withRace) })
	if b.err != nil {
		tb.Fatal(b.err)
	}
	return b.path
}

func (b *builtBinary) build(withRace bool) (string, error) {
	variable := BinaryVariable
	if withRace {
		variable = RaceBinaryVariable
	}
	if path := os.Getenv(variable); path != "" {
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
	if withRace {
		return path, compile(root, path, "-race")
	}
	return path, compile(root, path)
}

// compile builds the binary with further arguments of `go build`.
func compile(root, path string, arguments ...string) error {
	cmd := exec.Command("go", slices.Concat([]string{"build", "-o", path}, arguments, []string{"./cmd/mizan"})...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the binary: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

// BinaryOfVersion builds the binary as another release, with the given version, and returns its path.
func BinaryOfVersion(tb testing.TB, version string) string {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "mizan")
	if err := compile(root, path, "-ldflags", "-X main.version="+version); err != nil {
		tb.Fatal(err)
	}
	return path
}

// NotUnderRace skips a test if the tests run under the race detector, and logs the reason. It is for tests in which the
// detector can't find anything, because the tested code has a single goroutine or runs in a process without the detector.
func NotUnderRace(tb testing.TB, reason string) {
	tb.Helper()
	if hasRaceDetector {
		tb.Skip("not under the race detector: " + reason)
	}
}

// moduleRoot returns the nearest directory with a go.mod: the working directory or one above it.
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
