package simulator

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/testseed"
	"mizan/ledger/payment"
)

// volatileFile is a file on a disk that loses its unsynced writes in a power cut, or any blocks of them.
type volatileFile struct {
	*os.File
	mu         sync.Mutex
	synced     []byte        // the bytes that the disk has for certain
	unsynced   []diskWrite   // the writes since the last sync, in order
	syncBegun  chan struct{} // if set, each sync first sends to syncBegun
	syncMayEnd chan struct{} // if syncBegun is set, each sync then receives from syncMayEnd

	writeCount, syncCount int // number of writes of lines, and number of syncs that succeeded
	failsSync             bool
	failsWrite            bool // writes of lines fail
	failsPadding          bool // writes of zero bytes fail
}

// diskWrite is a write at an offset; without data, the file is cut off there.
type diskWrite struct {
	offset int64
	data   []byte
}

func (disk *volatileFile) WriteAt(p []byte, offset int64) (int, error) {
	disk.mu.Lock()
	defer disk.mu.Unlock()
	isPadding := p[0] == 0
	if !isPadding {
		disk.writeCount++
	}
	if isPadding && disk.failsPadding || !isPadding && disk.failsWrite {
		n, err := disk.File.WriteAt(p[:len(p)/2], offset)
		disk.unsynced = append(disk.unsynced, diskWrite{offset, slices.Clone(p[:n])})
		return n, errors.Join(errFull, err)
	}
	disk.unsynced = append(disk.unsynced, diskWrite{offset, slices.Clone(p)})
	return disk.File.WriteAt(p, offset)
}

func (disk *volatileFile) Truncate(size int64) error {
	disk.mu.Lock()
	defer disk.mu.Unlock()
	disk.unsynced = append(disk.unsynced, diskWrite{offset: size})
	return disk.File.Truncate(size)
}

func (disk *volatileFile) Sync() error {
	if disk.syncBegun != nil {
		disk.syncBegun <- struct{}{}
		<-disk.syncMayEnd
	}
	disk.mu.Lock()
	defer disk.mu.Unlock()
	if disk.failsSync {
		return errors.New("input/output error")
	}
	disk.syncCount++
	for _, w := range disk.unsynced {
		disk.synced = w.applyTo(disk.synced)
	}
	disk.unsynced = nil
	return nil
}

func (w diskWrite) applyTo(content []byte) []byte {
	if w.data == nil {
		return content[:min(w.offset, int64(len(content)))]
	}
	if end := int(w.offset) + len(w.data); end > len(content) {
		content = append(content, make([]byte, end-len(content))...)
	}
	copy(content[w.offset:], w.data)
	return content
}

// blocks divides the write at the borders of the disk's blocks.
func (w diskWrite) blocks() (list []diskWrite) {
	if w.data == nil {
		return []diskWrite{w}
	}
	for at := 0; at < len(w.data); {
		offset := w.offset + int64(at)
		end := min(len(w.data), at+int(diskBlock-offset%diskBlock))
		list = append(list, diskWrite{offset, w.data[at:end]})
		at = end
	}
	return list
}

// afterPowerCut returns a possible content of the disk after a power cut at this moment: the synced bytes, and any of
// the blocks that were not synced. The caller holds mu.
func (disk *volatileFile) afterPowerCut(random *rand.Rand) []byte {
	content := slices.Clone(disk.synced)
	probability := random.IntN(4) // chances out of 3 that a block is written
	for _, w := range disk.unsynced {
		for _, block := range w.blocks() {
			if random.IntN(3) < probability {
				content = block.applyTo(content)
			}
		}
	}
	return content
}

// openVolatile returns a simulator on a volatile disk. Its first call has written padding, so that a further
// call is one write and one sync.
func openVolatile(t *testing.T) (*testSimulator, *volatileFile) {
	sim := open(t)
	disk := &volatileFile{File: sim.log.file.(logFile).File}
	sim.log.file = disk
	sim.expect("first call", sim.submit(cardCall(firstCall, actors.Pay, "4242424242424242")), chargedOutcome(firstCall))
	disk.writeCount, disk.syncCount = 0, 0
	return sim, disk
}

// firstCall is the number of the charge that openVolatile makes.
const firstCall = 1 << 60

// gate makes each sync wait for the test.
func (disk *volatileFile) gate() {
	disk.syncBegun, disk.syncMayEnd = make(chan struct{}), make(chan struct{})
}

// After a power cut at any moment, the log still has every call whose outcome was returned, no matter which blocks
// of the last batch the disk has written.
func TestPowerCutLosesNoReturnedOutcome(t *testing.T) {
	random := testseed.Random(t)
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		sim, disk := openVolatile(t)
		var (
			mu            sync.Mutex
			answeredCalls = []uint64{firstCall}
			powerCut      atomic.Bool
			running       sync.WaitGroup
		)
		for worker := range uint64(8) {
			running.Go(func() {
				for n := worker << 32; !powerCut.Load(); n++ {
					sim.submit(cardCall(n, actors.Pay, "4242424242424242"))
					mu.Lock()
					answeredCalls = append(answeredCalls, n)
					mu.Unlock()
				}
			})
		}
		for wanted := random.IntN(400) + 20; ; runtime.Gosched() {
			mu.Lock()
			enough := len(answeredCalls) >= wanted
			mu.Unlock()
			if enough {
				break
			}
		}
		// The content of the disk at this moment, and the calls whose outcomes were returned by then.
		mu.Lock()
		callsBeforeCut := append([]uint64(nil), answeredCalls...)
		disk.mu.Lock()
		content := disk.afterPowerCut(random)
		disk.mu.Unlock()
		mu.Unlock()
		powerCut.Store(true)
		running.Wait()
		restarted := &testSimulator{t: t, path: filepath.Join(t.TempDir(), "simulator.log"), clock: clock.NewManual(start)}
		if err := os.WriteFile(restarted.path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		restarted.open()
		for _, n := range callsBeforeCut {
			if got := restarted.inquire(n).Verdict; got != payment.VerdictCharged {
				t.Fatalf("round %d: call %d was answered, and is %v after the power cut", round, n, got)
			}
		}
		if err := restarted.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
