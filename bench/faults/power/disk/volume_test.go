package disk

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

const volumeSize = 512 << 20

// kinds are the file systems that this machine can try. What is missing is logged.
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

// A program that acknowledges what it has not synced must be seen to lose it, and one that syncs must not. This shows that flushes of the
// file system reach the device, and that nothing else keeps the data: not the loop device, not a cache of the kernel.
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

// Writes that were not flushed reach the device's cache, so there is something that it can lose in part.
func TestWritesReachTheDeviceBeforeAFlush(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			v := newVolume(t, kind)
			path := filepath.Join(v.Dir, "file")
			if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := StartWriting(path); err != nil {
				t.Fatal(err)
			}
			for before := v.Operations(); v.Operations() == before; { // the kernel writes in the background
				runtime.Gosched()
			}
			o, err := v.Reboot(LoseNothing, rand.New(rand.NewPCG(1, 1)))
			if err != nil || o.Unflushed == 0 {
				t.Errorf("%v, %v", o, err)
			}
		})
	}
}
