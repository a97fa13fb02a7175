package simulator

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"mizan/actors"
	"mizan/internal/clock"
)

// memoryFile is a log's file in memory.
type memoryFile struct{ content []byte }

func (f *memoryFile) ReadAt(p []byte, offset int64) (int, error) {
	if offset >= int64(len(f.content)) {
		return 0, io.EOF
	}
	n := copy(p, f.content[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) WriteAt(p []byte, offset int64) (int, error) {
	f.content = diskWrite{offset, p}.applyTo(f.content)
	return len(p), nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.content = f.content[:size]
	return nil
}

func (f *memoryFile) Sync() error  { return nil }
func (f *memoryFile) Close() error { return nil }

// smallBounds make a simulator that is opened quickly.
var smallBounds = bounds{chunkSize: 2 * maxLine, checkpointEvery: checkpointEvery, index: 64, filterBits: 1 << 12, chargebackReports: 64}

// startWith starts a simulator with a log's content, and returns the content that the start leaves.
func startWith(content []byte) ([]byte, error) {
	f := &memoryFile{slices.Clone(content)}
	s := newSimulator(f, &Options{Clock: clock.NewManual(start), BaseURL: baseURL, Key: testKey}, smallBounds)
	_, err := s.readLog(int64(len(content)))
	return f.content, err
}

// logOfTwoBatches returns a log whose last lines were written as two batches of several lines, and where the batches
// begin.
func logOfTwoBatches(t *testing.T) (content []byte, firstBegin, secondBegin int) {
	sim, disk := openVolatile(t)
	n := uint64(10)
	batchOfLines := func() (begin int) {
		call := func() {
			n++
			sim.submit(cardCall(n, actors.Pay, "4242424242424242"))
		}
		submitDuringSync(sim, disk, func() { sim.submit(followUpCall(firstCall, actors.Refund, n, 1)); begin = len(sim.content()) }, call, call, call, call)
		return begin
	}
	batchOfLines()
	batchOfLines()
	lines := sim.lines()
	content = sim.content()
	return content, int(lines[2].offset), int(lines[7].offset)
}

// wholeLines returns the content up to the end of its last whole line.
func wholeLines(content []byte) []byte {
	return content[:bytes.LastIndexByte(content, '\n')+1]
}

// A kill leaves any number of the batch's first bytes. The lines that are whole stay; their calls may have happened.
func TestABatchCutAnywhereIsCutOffAfterItsLastWholeLine(t *testing.T) {
	content, _, begin := logOfTwoBatches(t)
	for length := begin; length < len(content); length++ {
		for _, padding := range []int{0, 1, 511, 5000} {
			got, err := startWith(slices.Concat(content[:length], make([]byte, padding)))
			if want := wholeLines(content[:length]); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d of %d bytes of the batch and %d bytes of padding: %v, %d bytes are left, want %d", length-begin, len(content)-begin, padding, err, len(got), len(want))
			}
		}
	}
}

// After a power cut any blocks of the last batch may be zero. The lines before the first zero block stay; nothing else
// does.
func TestAnyLostBlocksOfTheLastBatchAreCutOff(t *testing.T) {
	content, _, begin := logOfTwoBatches(t)
	firstBlock, blockCount := begin/diskBlock, (len(content)-1)/diskBlock-begin/diskBlock+1
	for lost := range 1 << blockCount {
		torn := slices.Concat(content, make([]byte, maxPadding))
		intact := len(content)
		for i := blockCount - 1; i >= 0; i-- {
			if lost&(1<<i) != 0 {
				from, to := max(begin, (firstBlock+i)*diskBlock), min((firstBlock+i+1)*diskBlock, len(content))
				clear(torn[from:to])
				intact = from
			}
		}
		got, err := startWith(torn)
		if want := wholeLines(content[:intact]); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("lost blocks %b: %v, %d bytes are left, want %d", lost, err, len(got), len(want))
		}
	}
}

// A line of the next batch shows that a batch was durable, so lost blocks of that batch are damage.
func TestLostBlocksBeforeTheLastBatchAreDamage(t *testing.T) {
	content, begin, lastBegin := logOfTwoBatches(t)
	for at := 0; at < lastBegin; at += diskBlock {
		damaged := slices.Clone(content)
		clear(damaged[at:min(at+diskBlock, lastBegin)])
		want := fmt.Sprintf("line %d: damaged; restore from a backup", 1+bytes.Count(content[:at], []byte("\n")))
		got, err := startWith(damaged)
		if err == nil || err.Error() != want || !bytes.Equal(got, damaged) {
			t.Errorf("bytes from %d on are lost, batches begin at %d and %d: %v, want %s", at, begin, lastBegin, err, want)
		}
	}
}

// A changed bit is neither a lost block nor a line that was cut short, wherever it is.
func TestAChangedBitOfTheLastBatchIsDamage(t *testing.T) {
	content, _, begin := logOfTwoBatches(t)
	for _, padding := range []int{0, 600} {
		for at := begin; at < len(content); at++ {
			for bit := range 8 {
				damaged := slices.Concat(content, make([]byte, padding))
				damaged[at] ^= 1 << bit
				if got, err := startWith(damaged); !errors.Is(err, errDamaged) || !bytes.Equal(got, damaged) {
					t.Fatalf("bit %d of byte %d of %d, with %d bytes of padding: %v", bit, at-begin, len(content)-begin, padding, err)
				}
			}
		}
	}
}

// Zero bytes within a block are not a lost block.
func TestZeroBytesWithinABlockAreDamage(t *testing.T) {
	content, _, begin := logOfTwoBatches(t)
	for _, length := range []int{1, 100, diskBlock - 1, diskBlock + 1} {
		for at := begin; at+length < len(content); at++ {
			if at == begin && (at+length)%diskBlock == 0 {
				continue // the first block may be lost
			}
			damaged := slices.Concat(content, make([]byte, 4*diskBlock))
			clear(damaged[at : at+length])
			if _, err := startWith(damaged); !errors.Is(err, errDamaged) {
				t.Fatalf("%d zero bytes at %d of the batch: %v", length, at-begin, err)
			}
		}
	}
}

// A change of the padding (the zero bytes after the lines) is either detected as damage or harmless: all lines stay.
func TestAChangeOfThePaddingHarmsNoLine(t *testing.T) {
	content, _, _ := logOfTwoBatches(t)
	for at := range 3 * diskBlock {
		damaged := slices.Concat(content, make([]byte, 4*diskBlock))
		damaged[len(content)+at] = '{'
		if got, err := startWith(damaged); !errors.Is(err, errDamaged) && (err != nil || !bytes.Equal(got, content)) {
			t.Fatalf("byte %d of the padding: %v, %d bytes are left, want %d", at, err, len(got), len(content))
		}
	}
}

func TestTooMuchBehindTheLinesIsDamage(t *testing.T) {
	content, _, begin := logOfTwoBatches(t)
	for what, tail := range map[string][]byte{
		"more padding than is written":         make([]byte, maxBatch+maxPadding+1),
		"a torn batch longer than a batch":     append(make([]byte, maxBatch+diskBlock-len(content)%diskBlock), content[begin:begin+30]...),
		"a long line":                          bytes.Repeat([]byte("x"), 3*chunkSize),
		"a line that is longer than any other": append([]byte(lineStart), bytes.Repeat([]byte("x"), maxBatch)...),
	} {
		if _, err := startWith(slices.Concat(content, tail)); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, tail := range map[string][]byte{"padding": make([]byte, maxPadding), "padding and a lost batch": make([]byte, maxBatch+maxPadding)} {
		if got, err := startWith(slices.Concat(content, tail)); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
