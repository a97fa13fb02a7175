package disk

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const volumeSize = 512 << 20

// kinds returns the file systems that this machine supports. It logs why others are missing.
func kinds(t *testing.T) (list []string) {
	t.Helper()
	for _, kind := range []string{"ext4", "xfs"} {
		if err := Unavailable(kind); err != nil {
			t.Logf("not on %s: %v", kind, err)
			continue
		}
		list = append(list, kind)
	}
	if len(list) == 0 {
		t.Skip("no volume can be made here")
	}
	return list
}

func newVolume(t *testing.T, kind string) *Volume {
	t.Helper()
	v, err := NewVolume(t.TempDir(), kind, volumeSize)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// A program that does not sync must lose its data here, and a program that syncs must lose nothing. This shows that
// flushes of the file system reach the device, and that neither the loop device nor a cache of the kernel keeps data over
// a cut.
func TestVolumeLosesWhatWasNotSynced(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			v := newVolume(t, kind)
			random := rand.New(rand.NewPCG(1, 1))
			for round := range 3 {
				synced, unsynced := filepath.Join(v.Dir, fmt.Sprint("synced-", round)), filepath.Join(v.Dir, fmt.Sprint("unsynced-", round))
				f, err := os.Create(synced)
				if err != nil {
					t.Fatal(err)
				}
				dir, err := os.Open(v.Dir)
				if err != nil {
					t.Fatal(err)
				}
				_, writeErr := f.WriteString("acknowledged")
				for _, err := range []error{writeErr, f.Sync(), dir.Sync(), f.Close(), dir.Close()} {
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := os.WriteFile(unsynced, []byte("acknowledged"), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := StartWriting(unsynced); err != nil {
					t.Fatal(err)
				}
				if _, err := v.Reboot(LoseAll, random); err != nil {
					t.Fatal(err)
				}
				if content, err := os.ReadFile(synced); string(content) != "acknowledged" {
					t.Errorf("round %d: what was synced is %q, %v", round, content, err)
				}
				if content, _ := os.ReadFile(unsynced); string(content) == "acknowledged" {
					t.Errorf("round %d: what was not synced survives the loss of everything that was not flushed", round)
				}
			}
		})
	}
}

// Writes that were not flushed reach the device's cache, so the device can lose a part of them.
func TestWritesReachTheDeviceBeforeAFlush(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			v := newVolume(t, kind)
			path := filepath.Join(v.Dir, "file")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			data := make([]byte, 1<<20)
			_, writeErr := f.Write(data)
			syncErr := f.Sync() // afterwards the next write is the only one that the file system has not flushed
			_, rewriteErr := f.WriteAt(data, 0)
			cut := v.CutAt(Trigger{After: 1, Unflushed: 1, Latest: math.MaxUint32})
			for _, err := range []error{writeErr, syncErr, rewriteErr, f.Close(), StartWriting(path)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			<-cut // the kernel writes in the background
			o, err := v.Reboot(LoseNothing, rand.New(rand.NewPCG(1, 1)))
			if err != nil || o.Unflushed == 0 {
				t.Errorf("%v, %v", o, err)
			}
		})
	}
}

// When a test process dies, for example at a time-out, its volumes must end too, even if its child still works on them. Otherwise
// the child waits for ever for a disk that nobody serves.
func TestVolumeEndsWithItsProcess(t *testing.T) {
	const variable = "MIZAN_TEST_DYING_PROCESS"
	kind := kinds(t)[0]
	if dir := os.Getenv(variable); dir != "" { // this is the child process, which dies
		v, err := NewVolume(dir, kind, volumeSize)
		if err != nil {
			t.Fatal(err)
		}
		var device unix.Stat_t
		if err := unix.Stat(v.deviceDir, &device); err != nil {
			t.Fatal(err)
		}
		pipe := os.NewFile(3, "the parent's pipe")
		if _, err := fmt.Fprint(pipe, unix.Minor(device.Dev), " "); err != nil {
			t.Fatal(err)
		}
		child := exec.Command("/bin/sh", "-c", `echo $$ >&3; exec 3>&-; cd "$0" && while dd if=/dev/zero of=file bs=64k count=16 conv=fsync 2>/dev/null; do :; done`, v.Dir)
		child.ExtraFiles = []*os.File{pipe}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		for before := v.Operations(); v.Operations() < before+20; {
			runtime.Gosched()
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	dying := exec.Command("/proc/self/exe", "-test.run=^TestVolumeEndsWithItsProcess$")
	dying.Env = append(os.Environ(), variable+"="+t.TempDir())
	dying.ExtraFiles = []*os.File{writer}
	dying.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	var out bytes.Buffer
	dying.Stdout, dying.Stderr = &out, &out
	if err := dying.Start(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	var device, pid int
	_, readErr := fmt.Fscan(reader, &device, &pid)
	ended := make(chan error, 1)
	go func() { ended <- dying.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(time.Minute):
		// Seen once: the last thread of the process unmounted the file system before it closed the FUSE device, and waited for
		// ever for the disk that it had served itself.
		t.Logf("the kernel waits for the disk of a process that has ended; the connection %d is aborted", device)
		abortConnection(t, device)
		err = <-ended
	}
	if err == nil || readErr != nil {
		t.Fatalf("the process ended with %v, %v: %s", err, readErr, out.Bytes())
	}
	for end := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; runtime.Gosched() {
		if status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); strings.Contains(string(status), ") Z ") {
			break // the process has ended as a zombie, for which no process has waited
		}
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("a child still works on the volume, or waits for it")
		}
	}
}

// abortConnection ends a FUSE connection, whose number is the minor number of the file system's device.
func abortConnection(t *testing.T, number int) {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("fusectl", dir, "fusectl", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount(dir, 0) }()
	if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(number), "abort"), []byte("1"), 0o600); err != nil {
		t.Error(err)
	}
}
