package simulator

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/testseed"
	"mizan/ledger/payment"
)

// openSmall opens a simulator that writes checkpoints often, and whose lists are short.
func openSmall(t *testing.T) *testSimulator {
	sim := &testSimulator{t: t, path: filepath.Join(tempDirInMemory(t), "simulator.log"), clock: clock.NewManual(start), within: smallBounds}
	sim.within.checkpointEvery = 2000
	sim.open()
	t.Cleanup(func() {
		if sim.Simulator != nil {
			_ = sim.Close()
		}
	})
	return sim
}

// memory is the state that a simulator has read from its log.
type memory struct {
	Index             index
	Chargebacks       chargebacks
	Durable, LastLine int64
	LineCount         int
}

func (sim *testSimulator) memory() memory {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	list := sim.chargebacks
	list.reports, list.isSorted = sortUnique(slices.Clone(list.reports)), true
	if len(list.reports) == 0 {
		list.reports = nil
	}
	return memory{sim.index, list, sim.log.durable, sim.log.lastLine, sim.log.lineCount}
}

// makeRandomCalls makes calls of many kinds, some of them about charges that were made long before.
func (sim *testSimulator) makeRandomCalls(random *rand.Rand, count int) {
	for range count {
		n := random.Uint64N(300)
		switch random.IntN(6) {
		case 0:
			sim.submit(followUpCall(n, actors.Refund, random.Uint64N(100), 1000))
		case 1:
			sim.submit(cardCall(n, actors.Pay, chargebackCard))
		case 2:
			sim.advance(time.Duration(random.IntN(40)) * time.Second)
		default:
			sim.submit(cardCall(n, actors.Pay, "4242424242424242"))
		}
	}
}

// isCheckpointed tells whether there is a checkpoint.
func (sim *testSimulator) isCheckpointed() bool {
	_, err := os.Stat(sim.checkpointPath)
	return err == nil
}

// reopenWithoutCheckpoint restarts the simulator, which reads its whole log.
func (sim *testSimulator) reopenWithoutCheckpoint() {
	sim.t.Helper()
	if err := sim.Close(); err != nil {
		sim.t.Fatal(err)
	}
	_ = os.Remove(sim.checkpointPath) // there may be no checkpoint
	sim.open()
}

func TestAStartFromACheckpointLearnsWhatAWholeReadLearns(t *testing.T) {
	random := testseed.Random(t)
	for range 40 {
		sim := openSmall(t)
		sim.makeRandomCalls(random, 20+random.IntN(300))
		if random.IntN(2) == 0 {
			sim.reopen()
			sim.makeRandomCalls(random, random.IntN(60))
		}
		if err := sim.Close(); err != nil {
			t.Fatal(err)
		}
		if !sim.isCheckpointed() {
			t.Fatal("there is no checkpoint")
		}
		sim.open()
		if sim.checkpointedUpTo == 0 {
			t.Error("the checkpoint was not used")
		}
		withCheckpoint := sim.memory()
		sim.reopenWithoutCheckpoint()
		if sim.checkpointedUpTo != 0 {
			t.Error("a checkpoint was used that is not there")
		}
		if whole := sim.memory(); !reflect.DeepEqual(withCheckpoint, whole) {
			t.Fatalf("from the checkpoint %+v\nfrom the whole log %+v", withCheckpoint, whole)
		}
	}
}

// checkpointAndLog returns a checkpoint and its log, which has a few lines more.
func checkpointAndLog(t *testing.T) (checkpoint, log []byte) {
	sim := openSmall(t)
	sim.makeRandomCalls(testseed.Random(t), 100)
	sim.background.Wait()
	sim.writeCheckpoint()
	sim.submit(cardCall(1000, actors.Pay, "4242424242424242"))
	checkpoint, err := os.ReadFile(sim.checkpointPath)
	if err != nil {
		t.Fatal(err)
	}
	return checkpoint, sim.content()
}

// learnedFrom returns the part of the log that the checkpoint covers, for a simulator that uses the checkpoint.
func learnedFrom(t *testing.T, checkpoint, log []byte, within bounds) section {
	t.Helper()
	s := newSimulator(&memoryFile{log}, &Options{Clock: clock.NewManual(start), BaseURL: baseURL, Key: testKey}, within)
	covered := s.loadCheckpoint(checkpoint, int64(len(log)))
	if covered == (section{}) && (len(s.index.ring) > 0 || len(s.index.positions) > 0 || s.chargebacks.reports != nil) {
		t.Fatal("something was learned from a checkpoint that was ignored")
	}
	return covered
}

func TestACheckpointThatIsDamagedOrOfAnotherLogIsIgnored(t *testing.T) {
	checkpoint, log := checkpointAndLog(t)
	isUsed := func(checkpoint, log []byte) bool {
		t.Helper()
		return learnedFrom(t, checkpoint, log, smallBounds) != section{}
	}
	if !isUsed(checkpoint, log) {
		t.Fatal("the checkpoint is not used")
	}
	for at := range checkpoint {
		flipped := slices.Clone(checkpoint)
		flipped[at] ^= 1 << (at % 8)
		if isUsed(flipped, log) || isUsed(checkpoint[:at], log) {
			t.Fatalf("used, although byte %d was changed or is missing", at)
		}
	}
	if isUsed(append(slices.Clone(checkpoint), 0), log) || isUsed(nil, log) {
		t.Error("used with another byte, or without any")
	}
	covered := learnedFrom(t, checkpoint, log, smallBounds)
	if isUsed(checkpoint, log[:covered.end-1]) || isUsed(checkpoint, nil) {
		t.Error("used for a log that has become shorter")
	}
	otherSim := openSmall(t)
	otherSim.submit(cardCall(1, actors.Pay, "4000000000000002"))
	otherSim.makeRandomCalls(testseed.Random(t), 200)
	if isUsed(checkpoint, otherSim.content()) {
		t.Error("used for another log")
	}
	for what, change := range map[string]func(b *bounds){
		"index": func(b *bounds) { b.index++ }, "sieve": func(b *bounds) { b.filterBits *= 2 }, "chargebacks": func(b *bounds) { b.chargebackReports = 0 },
	} {
		within := smallBounds
		change(&within)
		if learnedFrom(t, checkpoint, log, within) != (section{}) {
			t.Errorf("used with another size of the %s", what)
		}
	}
}

// A checkpoint with the right checksum, but with wrong numbers, never crashes the simulator that reads it.
func TestACheckpointWithWrongNumbersCrashesNothing(t *testing.T) {
	random := testseed.Random(t)
	checkpoint, log := checkpointAndLog(t)
	for range 20_000 {
		changed := slices.Clone(checkpoint)
		for range 1 + random.IntN(3) {
			at := len(checkpointMagic) + 8*random.IntN((len(changed)-len(checkpointMagic))/8)
			binary.LittleEndian.PutUint64(changed[at:], random.Uint64()>>random.IntN(64))
		}
		changed = changed[:len(changed)-crc32.Size]
		changed = binary.LittleEndian.AppendUint32(changed, crc32.Checksum(changed, castagnoli))
		learnedFrom(t, changed, log, smallBounds)
	}
}

// A killed simulator leaves the checkpoints that it has written; the remains of an interrupted write are removed.
func TestCheckpointsAreWrittenWhileTheLogGrows(t *testing.T) {
	sim := openSmall(t)
	last := int64(0)
	for n := range uint64(200) {
		sim.submit(cardCall(n, actors.Pay, "4242424242424242"))
		sim.background.Wait()
		if sim.log.durable-sim.checkpointedUpTo >= sim.within.checkpointEvery+maxLine {
			t.Fatalf("after %d calls the log has %d bytes, and the checkpoint covers %d", n+1, sim.log.durable, sim.checkpointedUpTo)
		}
		if sim.checkpointedUpTo != last && !sim.isCheckpointed() {
			t.Fatal("there is no checkpoint")
		}
		last = sim.checkpointedUpTo
	}
	leftover := filepath.Join(filepath.Dir(sim.path), "."+filepath.Base(sim.checkpointPath)+".123.tmp")
	if err := os.WriteFile(leftover, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	killed := sim.Simulator
	sim.open()
	defer func() { _ = killed.log.file.Close() }()
	if sim.checkpointedUpTo != last {
		t.Errorf("the checkpoint covers %d bytes, want %d", sim.checkpointedUpTo, last)
	}
	if _, err := os.Stat(leftover); err == nil {
		t.Error("what a killed write left is still there")
	}
	for n := range uint64(200) {
		sim.expect("inquiry", sim.inquire(n), chargedOutcome(n))
	}
}

func TestASmallLogHasNoCheckpoint(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
	if err := sim.Close(); err != nil || sim.isCheckpointed() {
		t.Errorf("a checkpoint of one line was written; %v", err)
	}
}

// A start with a checkpoint does not read the older lines. A call that reads a damaged line gets no
// answer, and the verification that follows the start reports the damage. The next start refuses the log.
func TestDamageThatACheckpointCoversIsReported(t *testing.T) {
	sim := openSmall(t)
	for n := range uint64(50) {
		sim.submit(cardCall(n, actors.Pay, "4242424242424242"))
	}
	sim.background.Wait()
	sim.writeCheckpoint()
	if err := sim.Close(); err != nil {
		t.Fatal(err)
	}
	content := sim.content()
	const damagedLine = 44 // the charge of this line is in the index
	at := 0
	for range damagedLine - 1 {
		at += bytes.IndexByte(content[at:], '\n') + 1
	}
	content[at+100] ^= 1
	sim.damage(content)
	reported := make(chan error, 1)
	options := sim.options()
	options.OnDamage = func(err error) { reported <- err }
	want := fmt.Sprintf("simulator: %s: line %d: damaged; restore from a backup", sim.path, damagedLine)
	var err error
	if sim.Simulator, err = openWithin(options, sim.within); err != nil {
		t.Fatal(err)
	}
	sim.expect("inquiry about the damaged line", sim.inquire(damagedLine-1), unknownOutcome)
	sim.expect("inquiry about another", sim.inquire(damagedLine), chargedOutcome(damagedLine))
	if err := <-reported; err == nil || err.Error() != want {
		t.Errorf("reported %v, want %s", err, want)
	}
	for n := range uint64(50) {
		sim.submit(cardCall(1000+n, actors.Pay, "4242424242424242"))
	}
	if err := sim.Close(); err != nil || sim.isCheckpointed() {
		t.Errorf("the damaged log has a checkpoint; %v", err)
	}
	if _, err := openWithin(options, sim.within); err == nil || err.Error() != want {
		t.Errorf("the next start: %v, want %s", err, want)
	}
}

// A checkpoint was being written when the damage was found.
func TestACheckpointOfADamagedLogIsRemoved(t *testing.T) {
	sim := openSmall(t)
	sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
	sim.mu.Lock()
	sim.checkpointEvery = 1
	sim.checkpointIfDue()
	sim.isDamaged = true // before the checkpoint is written, which takes mu
	sim.mu.Unlock()
	sim.background.Wait()
	if sim.isCheckpointed() {
		t.Error("the checkpoint is still there")
	}
}

// The verification waits for permission before it reads each chunk, and ends with its context.
func TestTheVerificationIsPaced(t *testing.T) {
	sim := openSmall(t)
	for n := range uint64(400) {
		sim.submit(cardCall(n, actors.Pay, "4242424242424242"))
	}
	whole := section{end: sim.log.durable}
	asked := 0
	err := sim.verify(t.Context(), whole, func(_ context.Context, byteCount int) error { asked += byteCount; return nil })
	if got, atLeast := int64(asked), sim.log.durable; err != nil || got < atLeast || got > atLeast+sim.log.chunkSize+maxLine {
		t.Errorf("asked for %d bytes of %d, %v", got, atLeast, err)
	}
	errNotNow := errors.New("not now")
	times := 0
	err = sim.verify(t.Context(), whole, func(context.Context, int) error {
		if times++; times == 3 {
			return errNotNow
		}
		return nil
	})
	if !errors.Is(err, errNotNow) || times != 3 {
		t.Errorf("it asked %d times, %v, want 3", times, err)
	}
}

// Checkpoints are written while many goroutines make calls, so that the race detector checks both.
func TestCheckpointsDuringCalls(t *testing.T) {
	sim := openSmall(t)
	var running sync.WaitGroup
	for worker := range uint64(8) {
		running.Go(func() {
			for n := range uint64(100) {
				sim.submit(cardCall(worker<<32|n, actors.Pay, "4242424242424242"))
				if got := sim.inquire(worker<<32 | n).Verdict; got != payment.VerdictCharged {
					t.Errorf("call %d of worker %d is %v", n, worker, got)
				}
			}
		})
	}
	running.Wait()
	want := sim.memory()
	sim.reopen()
	if got := sim.memory(); !reflect.DeepEqual(got, want) {
		t.Errorf("after a start %+v, want %+v", got, want)
	}
}
