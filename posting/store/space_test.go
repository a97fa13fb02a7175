package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// smallDisk mounts a file system in memory with a size of mib MiB.
func smallDisk(t *testing.T, mib int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		t.Skipf("NOT TRIED: a small file system cannot be mounted here (it takes root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// smallExt4 makes an ext4 file system with a size of mib MiB in a file, and mounts it. Unlike a file system in
// memory, it allocates blocks late and uses some for itself.
func smallExt4(t *testing.T, mib int) (dir string) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, int64(mib)<<20); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, command := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("NOT TRIED: an ext4 cannot be mounted here (it takes root and loop devices): %v: %s", err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// enlarge changes the size of a file system that smallDisk has mounted.
func enlarge(t *testing.T, dir string, mib int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%dm", mib)); err != nil {
		t.Fatal(err)
	}
}

// occupy writes a file that leaves only the given number of bytes free.
func occupy(t *testing.T, dir string, leave int64) (ballast string) {
	t.Helper()
	free, err := freeBytes(dir)
	if err != nil {
		t.Fatal(err)
	}
	ballast = filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, int64(free)-leave), 0o600); err != nil {
		t.Fatal(err)
	}
	return ballast
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// wantNoSpace waits until a child has ended by itself, and checks that it reported too little free space.
func (p *process) wantNoSpace(t *testing.T) {
	t.Helper()
	p.readUntil(t, "")
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("the child ended with %v, and said %.4000q", err, p.output)
	}
	if !strings.Contains(p.failure, ErrNoSpace.Error()) {
		t.Errorf("the child failed: %s", p.failure)
	}
}

func TestFullDiskStopsTheStoreWithAnError(t *testing.T) {
	sd := seed(t)
	st, m := childHistory(sd, manyKeys), make(model)
	var checkedUpTo uint64
	dir := smallDisk(t, 30)
	for i, mib := range []int{30, 33, 50} {
		if testing.Short() && i > 0 {
			break // with each size the disk is full at another point; runs without -short try all
		}
		enlarge(t, dir, mib)
		p := startChild(t, filepath.Join(dir, "data"), st, 1<<40)
		p.wantNoSpace(t)
		secondChild := startChild(t, filepath.Join(dir, "data"), st, 1<<40) // there is no more room now
		secondChild.wantNoSpace(t)
		enlarge(t, dir, 4*mib)
		last := wantHistory(t, filepath.Join(dir, "data"), st, m, checkedUpTo, max(checkedUpTo, p.acked, secondChild.acked))
		t.Logf("%d MiB: groups %d to %d", mib, checkedUpTo+1, last)
		if last == checkedUpTo {
			t.Errorf("with %d MiB not one group was written", mib)
		}
		checkedUpTo = last
	}
}

func TestOpenRefusesAFullDisk(t *testing.T) {
	st := childHistory(seed(t), manyKeys)
	dir := smallDisk(t, 64)
	ballast := occupy(t, dir, 100<<10)
	data := filepath.Join(dir, "data")
	if _, err := Open(Options{Dir: data, MemTable: minMemTable, Log: discardLog}); !errors.Is(err, ErrNoSpace) || unclear(err) != nil {
		t.Errorf("creating it: %v", err)
	}
	remove(t, ballast)
	p := startChild(t, data, st, 150)
	p.readUntil(t, "done")
	acked := p.kill(t)
	for _, leave := range []int64{0, 1 << 20, 2 << 20} {
		ballast = occupy(t, dir, leave)
		if _, err := Open(Options{Dir: data, MemTable: minMemTable, Log: discardLog}); !errors.Is(err, ErrNoSpace) || unclear(err) != nil {
			t.Errorf("with %d bytes left: %v", leave, err)
		}
		remove(t, ballast)
	}
	wantHistory(t, data, st, make(model), 0, acked)
}

// TestAnotherProcessFillsTheDisk fills an ext4 file system while the store, which has already checked the free
// space, writes a table through a memory map. The process ends with one line, and a new process continues when
// there is room again.
func TestAnotherProcessFillsTheDisk(t *testing.T) {
	st, dir := childHistory(seed(t), manyKeys), smallExt4(t, 500)
	t.Setenv(memTableVariable, fmt.Sprint(DefaultMemTable)) // a larger table takes longer to write
	faults, rounds := 0, 2
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		data, ballast := filepath.Join(dir, fmt.Sprint("data", round)), filepath.Join(dir, "ballast")
		p := startChild(t, data, st, 1<<40)
		p.readUntil(t, "opened")
		for before := tables(data); tables(data) == before; { // until a flush has begun
			select {
			case line := <-p.lines:
				p.take(t, line)
			default:
			}
		}
		occupyAll(t, ballast)
		p.readUntil(t, "")
		err := p.cmd.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || len(p.output) != 1 || !strings.Contains(p.failure, "space") {
			t.Fatalf("the child ended with %v, and said %.2000q", err, p.output)
		}
		if strings.Contains(p.failure, mapFault) {
			faults++
		}
		remove(t, ballast)
		wantHistoryIn(t, open(t, Options{Dir: data}), st, make(model), 0, p.acked)
		dropTree(t, data)
	}
	t.Logf("%d of %d children ended by a fault in a mapped file", faults, rounds)
}

// tables returns the number of tables, including those being written.
func tables(data string) int {
	names, _ := filepath.Glob(filepath.Join(data, storeName, "*.sst")) // the pattern is sound
	return len(names)
}

// occupyAll takes every free block at once.
func occupyAll(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := int64(0)
	for piece := int64(256 << 20); piece >= 4096; {
		switch err := syscall.Fallocate(int(f.Fd()), 0, at, piece); {
		case errors.Is(err, syscall.ENOSPC):
			piece /= 2
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			t.Fatal(err)
		default:
			at += piece
		}
	}
}

// A group is refused if there is room for the group, but not for the table of the memtable that gets it.
func TestGroupIsRefusedIfItsMemtableHasNoRoom(t *testing.T) {
	dir := smallDisk(t, 64)
	s := open(t, Options{Dir: filepath.Join(dir, "data"), MemTable: minMemTable})
	defer abandonStore(t, s)
	set(t, s, "a", "1")
	ballast := occupy(t, dir, minReserve+200<<10)
	defer remove(t, ballast)
	g := NewGroup(next(s))
	g.Seal()
	if err := s.Apply(g); !errors.Is(err, ErrNoSpace) || unclear(err) != nil {
		t.Errorf("Apply = %v, want ErrNoSpace", err)
	}
	if err := s.Close(); !errors.Is(err, ErrNoSpace) {
		t.Errorf("Close = %v, want ErrNoSpace", err)
	}
}

func TestLowSpaceIsBelowMinFree(t *testing.T) {
	for minFree, want := range map[uint64]bool{1: false, math.MaxUint64: true} {
		s := open(t, Options{Dir: t.TempDir(), MinFree: minFree, MemTable: minMemTable})
		if got := s.LowSpace(); got != want {
			t.Errorf("LowSpace with a watermark of %d bytes = %v", minFree, got)
		}
		closeStore(t, s)
	}
}

func TestLowSpaceAsksTheDiskFiveTimesASecond(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MinFree: 1, MemTable: minMemTable})
	defer closeStore(t, s)
	s.space.at, s.space.free = time.Now().Add(time.Minute), 0
	if !s.LowSpace() {
		t.Error("the disk was asked again at once")
	}
	s.space.at = time.Now().Add(-spaceRefresh - time.Second)
	if s.LowSpace() {
		t.Error("an old answer was given")
	}
}

func TestLowSpaceCountsWhatBadgerStillHasToWrite(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MinFree: 1, MemTable: minMemTable})
	s.debt.Store(math.MaxUint64 / 2)
	if !s.LowSpace() {
		t.Error("no LowSpace, and compaction has no room")
	}
	closeStore(t, s)
}

func TestCompactionWaitsForRoom(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	s.gate() // which is open
	owed := s.debt.Swap(math.MaxUint64 / 2)
	gatePassed := make(chan struct{})
	go func() { s.gate(); close(gatePassed) }()
	for s.gated.Load() == 0 {
		runtime.Gosched()
	}
	select {
	case <-gatePassed:
		t.Error("it did not wait")
	default:
	}
	s.debt.Store(owed)
	<-gatePassed
	if s.failure() != nil || s.gated.Load() != 0 {
		t.Errorf("after it: %v, %d waiting", s.failure(), s.gated.Load())
	}
}

func TestCompactionWaitsForFileHandles(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	lowest, err := os.Open(s.options.Dir) // its number is the lowest free one
	if err != nil {
		t.Fatal(err)
	}
	defer lowest.Close()
	lowered := syscall.Rlimit{Cur: uint64(lowest.Fd()) + minHandles, Max: limit.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lowered); err != nil {
		t.Fatal(err)
	}
	gateErr := s.gateClosed()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(gateErr, syscall.EMFILE) {
		t.Errorf("with %d handles free: %v", minHandles-1, gateErr)
	}
	if err := s.gateClosed(); err != nil {
		t.Errorf("with handles enough: %v", err)
	}
}
