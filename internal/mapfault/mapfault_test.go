package mapfault

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// childVariable has the test binary touch a mapped file that is shorter than its map.
const childVariable = "MIZAN_MAPFAULT_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		if err := fault(path); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
		}
		os.Exit(7) // it went on
	}
	os.Exit(m.Run())
}

// fault writes behind the end of a mapped file, on a goroutine among others.
func fault(path string) error {
	if err := Exit(1, "the disk is full"); err != nil {
		return err
	}
	if err := Exit(3, "another"); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := f.Truncate(1 << 16); err != nil {
		return err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				runtime.Gosched()
			}
			b[1<<15] = 1
		})
	}
	all.Wait()
	return nil
}

func TestAFaultInAMappedFileIsOneLineAndTheCode(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("NOT TRIED: there is no handler for this architecture")
	}
	for range 20 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVariable+"="+filepath.Join(t.TempDir(), "mapped"))
		out, err := child.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Fatalf("it ended with %v: %s", err, out)
		}
		if string(out) != "the disk is full\n" {
			t.Fatalf("it said %q", out)
		}
	}
}
