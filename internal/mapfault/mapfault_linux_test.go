//go:build amd64 || arm64

package mapfault

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// If childVariable is set, the test binary is a child process: it makes a mapped file at the path in childVariable, and
// causes a fault. The value of endingVariable tells how the child process ends (see fault).
const (
	childVariable  = "MIZAN_MAPFAULT_CHILD"
	endingVariable = "MIZAN_MAPFAULT_ENDING"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		if err := fault(path, os.Getenv(endingVariable)); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
		}
		os.Exit(7) // reached only if the fault did not end the process
	}
	os.Exit(m.Run())
}

// fault writes beyond the end of a mapped file, on several goroutines. With the ending "speaks", the process itself prints
// why it ends after a fault has come. With "hangs", it calls ClaimExitLine and prints nothing.
func fault(path, ending string) error {
	runtime.GOMAXPROCS(8) // a thread that waits in the signal handler blocks its P, a processor of the Go scheduler
	if err := ExitOnFault(1, "the disk is full"); err != nil {
		return err
	}
	if err := ExitOnFault(3, "another"); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := f.Truncate(1 << 16); err != nil {
		return err
	}
	mapped, err := syscall.Mmap(int(f.Fd()), 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if ending != "" {
		ClaimExitLine()
		ClaimExitLine() // a second call has no effect
	}
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 1000 {
				runtime.Gosched()
			}
			mapped[1<<15] = 1 // the fault
		})
	}
	if ending == "speaks" {
		for atomic.LoadUint32(&taken) == takenByProcess { // until a fault has come
			runtime.Gosched()
		}
		fmt.Fprintln(os.Stderr, "the store has failed")
		os.Exit(2)
	}
	writers.Wait()
	return nil
}

func TestFaultInAMappedFileExitsWithOneLineAndItsCode(t *testing.T) {
	for _, tt := range []struct {
		ending string
		times  int
		code   int
		want   string
	}{
		{"", 20, 1, "the disk is full\n"},
		{"speaks", 20, 2, "the store has failed\n"},
		{"hangs", 2, 1, "the disk is full\n"},
	} {
		for range tt.times {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), childVariable+"="+filepath.Join(t.TempDir(), "mapped"), endingVariable+"="+tt.ending)
			out, err := child.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != tt.code || string(out) != tt.want {
				t.Fatalf("%s: it ended with %v and said %q", tt.ending, err, out)
			}
		}
	}
}
