package store

import (
	"errors"
	"fmt"
	"math"
	"mizan/internal/testseed"
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

// smallExt4 makes an ext4 file system with a size of mib MiB in a file, and mounts it. Unlike a file system in memory, ext4
// allocates blocks late, and uses some for itself.
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
		if err := runOrGiveUp(command...); err != nil {
			t.Skipf("NOT TRIED: an ext4 cannot be mounted here (it takes root and loop devices): %v", err)
		}
	}
	t.Cleanup(func() {
		switch err := runOrGiveUp("umount", "-l", dir); {
		case errors.Is(err, errStuck):
			t.Log(err) // dir is free; only the kernel still works on the image
		case err != nil:
			t.Error(err)
		}
	})
	return dir
}

// errStuck means that a command has not ended after a minute.
var errStuck = errors.New("has not ended after a minute")

// runOrGiveUp runs a command. A command that makes, mounts or unmounts a file system can be stuck in the kernel, where no
// signal ends it, so it is left alone after a minute.
func runOrGiveUp(command ...string) error {
	ended := make(chan error, 1)
	go func() {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", command[0], err, out)
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		return fmt.Errorf("%s %w", command[0], errStuck)
	}
}

// enlarge changes the size of a file system that smallDisk has mounted to mib MiB.
func enlarge(t *testing.T, dir string, mib int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%dm", mib)); err != nil {
		t.Fatal(err)
	}
}

// occupy writes a file into dir that leaves only freeAfter bytes free. It returns the path of the file.
func occupy(t *testing.T, dir string, freeAfter int64) (ballast string) {
	t.Helper()
	free, err := freeBytes(dir)
	if err != nil {
		t.Fatal(err)
	}
	ballast = filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, int64(free)-freeAfter), 0o600); err != nil {
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

// wantNoSpace waits until a child has ended by itself, and checks that the child reported too little free space.
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
	hist, expected := childHistory(testseed.Seed(t), manyKeys), make(model)
	var checkedUpTo uint64
	dir := smallDisk(t, 30)
	for i, mib := range []int{30, 33, 50} {
		if testing.Short() && i > 0 {
			break // each size fills the disk at another point; runs without -short try all sizes
		}
		enlarge(t, dir, mib)
		p := startChild(t, filepath.Join(dir, "data"), hist, 1<<40)
		p.wantNoSpace(t)
		secondChild := startChild(t, filepath.Join(dir, "data"), hist, 1<<40) // the disk is still full
		secondChild.wantNoSpace(t)
		enlarge(t, dir, 4*mib)
		lastGroup := wantHistory(t, filepath.Join(dir, "data"), hist, expected, checkedUpTo, max(checkedUpTo, p.acked, secondChild.acked))
		t.Logf("%d MiB: groups %d to %d", mib, checkedUpTo+1, lastGroup)
		if lastGroup == checkedUpTo {
			t.Errorf("with %d MiB not one group was written", mib)
		}
		checkedUpTo = lastGroup
	}
}

func TestOpenRefusesAFullDisk(t *testing.T) {
	hist := childHistory(testseed.Seed(t), manyKeys)
	dir := smallDisk(t, 64)
	ballast := occupy(t, dir, 100<<10)
	data := filepath.Join(dir, "data")
	if _, err := Open(Options{Dir: data, MemTable: minMemTable, Log: discardLog}); !errors.Is(err, ErrNoSpace) || unclear(err) != nil {
		t.Errorf("creating it: %v", err)
	}
	remove(t, ballast)
	p := startChild(t, data, hist, 150)
	p.readUntil(t, "done")
	acked := p.kill(t)
	for _, bytesLeft := range []int64{0, 1 << 20, 2 << 20} {
		ballast = occupy(t, dir, bytesLeft)
		if _, err := Open(Options{Dir: data, MemTable: minMemTable, Log: discardLog}); !errors.Is(err, ErrNoSpace) || unclear(err) != nil {
			t.Errorf("with %d bytes left: %v", bytesLeft, err)
		}
		remove(t, ballast)
	}
	wantHistory(t, data, hist, make(model), 0, acked)
}

// TestAnotherProcessFillsTheDisk fills an ext4 file system while the store writes a table through a memory map. The store has
// checked the free space before that. The process ends with one line, and a new process continues when there is room again.
func TestAnotherProcessFillsTheDisk(t *testing.T) {
	hist, dir := childHistory(testseed.Seed(t), manyKeys), smallExt4(t, 500)
	t.Setenv(memTableVariable, fmt.Sprint(DefaultMemTable)) // a larger table takes longer to write
	faults, rounds := 0, 2
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		data, ballast := filepath.Join(dir, fmt.Sprint("data", round)), filepath.Join(dir, "ballast")
		p := startChild(t, data, hist, 1<<40)
		p.readUntil(t, "opened")
		for before := countTables(data); countTables(data) == before; { // until a flush has begun
			select {
			case line, more := <-p.lines:
				if p.take(t, line); !more {
					t.Fatalf("the child ended before a flush: %s %.2000q", p.failure, p.output)
				}
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
		wantHistoryIn(t, open(t, Options{Dir: data}), hist, make(model), 0, p.acked)
		dropTree(t, data)
	}
	t.Logf("%d of %d children ended by a fault in a mapped file", faults, rounds)
}

// countTables returns the number of tables in a data directory, including those being written.
func countTables(data string) int {
	names, _ := filepath.Glob(filepath.Join(data, storeName, "*.sst")) // the pattern is valid
	return len(names)
}

// occupyAll allocates every free block to a new file at path. It writes nothing, so it takes hardly any time.
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

// A group is refused if the disk has room for the group, but not for the table that the group's memtable will become.
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
	s.space.measuredAt, s.space.free = time.Now().Add(time.Minute), 0
	if !s.LowSpace() {
		t.Error("the disk was asked again at once")
	}
	s.space.measuredAt = time.Now().Add(-spaceRefresh - time.Second)
	if s.LowSpace() {
		t.Error("an old answer was given")
	}
}

func TestLowSpaceCountsWhatBadgerStillHasToWrite(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MinFree: 1, MemTable: minMemTable})
	s.unflushedBytes.Store(math.MaxUint64 / 2)
	if !s.LowSpace() {
		t.Error("no LowSpace, and compaction has no room")
	}
	closeStore(t, s)
}

func TestCompactionWaitsForRoom(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	s.delayCompaction() // returns at once, because compaction need not wait
	actualBytes := s.unflushedBytes.Swap(math.MaxUint64 / 2)
	continued := make(chan struct{})
	go func() { s.delayCompaction(); close(continued) }()
	for s.waitingCompactions.Load() == 0 {
		runtime.Gosched()
	}
	select {
	case <-continued:
		t.Error("it did not wait")
	default:
	}
	s.unflushedBytes.Store(actualBytes)
	<-continued
	if s.failure() != nil || s.waitingCompactions.Load() != 0 {
		t.Errorf("after it: %v, %d waiting", s.failure(), s.waitingCompactions.Load())
	}
}

// takeHandles lowers the limit of file handles a little above those in use, and opens files until the limit is reached.
func takeHandles(path string, limit syscall.Rlimit) (taken []*os.File, err error) {
	runtime.GC() // closes files of earlier tests now, rather than later
	highest, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	taken = append(taken, highest)
	low := syscall.Rlimit{Cur: uint64(highest.Fd()) + 4*minHandles, Max: limit.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		return taken, err
	}
	for {
		handle, err := os.Open(path)
		if errors.Is(err, syscall.EMFILE) {
			return taken, nil
		}
		if err != nil {
			return taken, err
		}
		taken = append(taken, handle)
	}
}

func TestCompactionWaitsForFileHandles(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) }() // also if the test ends early
	taken, err := takeHandles(s.options.Dir, limit)
	defer func() {
		for _, handle := range taken {
			handle.Close()
		}
	}()
	if err != nil {
		t.Fatal(err)
	}
	for _, handle := range taken[len(taken)-minHandles+1:] {
		handle.Close()
	}
	resourceErr := s.checkResourcesForCompaction()
	s.releaseSoon() // without free handles the background work does nothing, and returns no error
	waitForReleases(s)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(resourceErr, syscall.EMFILE) {
		t.Errorf("with %d handles free: %v", minHandles-1, resourceErr)
	}
	if err := s.checkResourcesForCompaction(); err != nil {
		t.Errorf("with handles enough: %v", err)
	}
}
