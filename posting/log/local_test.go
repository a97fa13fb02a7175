package log

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mizan/internal/disk"
	"mizan/posting/store/damage"
)

const testSegment = framesAt + 8*blockSize

// logFixture is a log under test, and the frames that it should contain.
type logFixture struct {
	t      *testing.T
	dir    *memory
	log    *Local
	frames []Frame // all appended frames; the first one has number 1
	salt   byte

	options Options
}

// plain are the options of most logs under test.
var plain = Options{SegmentSize: testSegment}

func newLogFixture(t *testing.T) *logFixture { return newLogFixtureOf(t, plain) }

func newLogFixtureOf(t *testing.T, o Options) *logFixture {
	s := &logFixture{t: t, dir: newMemory(), options: o}
	if err := create(s.dir, &o, Mark{}); err != nil {
		t.Fatal(err)
	}
	s.mustReopen()
	return s
}

// frameOf returns the next frame, with a payload of the given size in bytes.
func (s *logFixture) frameOf(size int) Frame {
	f := Frame{Mark: Mark{N: 1}}
	if len(s.frames) > 0 {
		last := s.frames[len(s.frames)-1]
		f.N, f.Previous = last.N+1, last.Hash
	}
	f.Payload = make([]byte, size)
	for i := range f.Payload {
		f.Payload[i] = byte(f.N) + byte(i) + s.salt
	}
	f.Hash = sha256.Sum256(append(binary.BigEndian.AppendUint64(f.Previous[:], f.N), f.Payload...))
	return f
}

func bufferOf(f Frame) []byte { return append(make([]byte, HeaderSize), f.Payload...) }

// append appends a frame of this payload size. The log must acknowledge it.
func (s *logFixture) append(size int) {
	s.t.Helper()
	f := s.frameOf(size)
	if err := s.log.Append(f.Mark, bufferOf(f)); err != nil {
		s.t.Fatal(err)
	}
	s.frames = append(s.frames, f)
}

// replayed opens and replays the log in a directory. It returns the log, and the frames whose numbers are at least from.
func replayed(dir disk.Directory, from uint64) (*Local, []Frame, error) {
	return replayedWith(plain, dir, from)
}

func replayedWith(o Options, dir disk.Directory, from uint64) (*Local, []Frame, error) {
	l, err := open(dir, &o)
	if err != nil {
		return nil, nil, err
	}
	var frames []Frame
	last, err := l.Replay(from, func(f Frame) error {
		f.Payload = slices.Clone(f.Payload)
		frames = append(frames, f)
		return nil
	})
	if err == nil && len(frames) > 0 && frames[len(frames)-1].Mark != last {
		err = fmt.Errorf("the log says that its last frame is %d", last.N)
	}
	return l, frames, err
}

func (s *logFixture) mustReopen() {
	s.t.Helper()
	l, frames, err := replayedWith(s.options, s.dir, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	s.log = l
	s.want(frames, s.frames)
}

func (s *logFixture) want(got, want []Frame) {
	s.t.Helper()
	if err := compare(got, want); err != nil {
		s.t.Fatal(err)
	}
}

func compare(got, want []Frame) error {
	equal := func(a, b Frame) bool {
		return a.Mark == b.Mark && a.Previous == b.Previous && bytes.Equal(a.Payload, b.Payload)
	}
	if slices.EqualFunc(got, want, equal) {
		return nil
	}
	return fmt.Errorf("the log has %d frames, and not the %d that were acknowledged", len(got), len(want))
}

func TestFramesAreReplayedInOrder(t *testing.T) {
	s := newLogFixture(t)
	for size := range 30 {
		s.append(size * 1000 % (6 * blockSize))
	}
	if n := len(s.log.segments); n < 5 {
		t.Errorf("%d segments", n)
	}
	s.dir = s.dir.killed()
	s.mustReopen()
	for _, from := range []uint64{1, 7, 29, 30, 31} {
		_, frames, err := replayed(s.dir, from)
		if err != nil {
			t.Fatal(err)
		}
		s.want(frames, s.frames[from-1:])
	}
	s.append(5)
	s.mustReopen()
}

func TestReplayMayBeginAfterTheLastFrameOnly(t *testing.T) {
	dir := newMemory()
	after := Mark{N: 41, Hash: [32]byte{1, 2}}
	if err := create(dir, &plain, after); err != nil {
		t.Fatal(err)
	}
	l, frames, err := replayed(dir, 42)
	if err != nil || len(frames) != 0 || l.last != after {
		t.Fatal(frames, l.last, err)
	}
	if err := l.Append(Mark{N: 42}, make([]byte, HeaderSize)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := replayed(dir, 41); !errors.Is(err, ErrReleased) {
		t.Error(err)
	}
	stop := errors.New("stop")
	l, _ = open(dir, &plain)
	if _, err := l.Replay(42, func(Frame) error { return stop }); err != stop {
		t.Error(err)
	}
}

func TestReleasedSegmentsAreUsedAgain(t *testing.T) {
	s := newLogFixture(t)
	for range 40 {
		s.append(3 * blockSize)
		if err := s.log.Release(uint64(len(s.frames))); err != nil {
			t.Fatal(err)
		}
	}
	if files, made := len(s.dir.files), (1<<40-s.dir.room)/testSegment; files > 2+maxSpares || made > 3 {
		t.Errorf("%d files, of %d that were made", files, made)
	}
	if _, _, err := replayed(s.dir, 1); !errors.Is(err, ErrReleased) {
		t.Errorf("released frames: %v", err)
	}
	first := s.log.segments[0].after.N + 1
	if first > 40 || first < 37 {
		t.Errorf("the first frame is %d", first)
	}
	_, frames, err := replayed(s.dir, first)
	if err != nil {
		t.Fatal(err)
	}
	s.want(frames, s.frames[first-1:])
}

func TestReleaseKeepsWhatIsNeeded(t *testing.T) {
	s := newLogFixture(t)
	for range 20 {
		s.append(3 * blockSize)
	}
	for below := range uint64(21) {
		if err := s.log.Release(below); err != nil {
			t.Fatal(err)
		}
		_, frames, err := replayed(s.dir, max(below, 1))
		if err != nil {
			t.Fatalf("below %d: %v", below, err)
		}
		s.want(frames, s.frames[max(below, 1)-1:])
	}
	if n := len(s.dir.files); n != 1+maxSpares+1 { // one segment, the spare files, and the file of confirmations
		t.Errorf("%d files are left", n)
	}
}

func TestFullDiskChangesNothing(t *testing.T) {
	s := newLogFixture(t)
	s.dir.room = 0
	for range 2 {
		s.append(2 * blockSize)
	}
	steps := s.dir.steps
	f := s.frameOf(2 * blockSize)
	if err := s.log.Append(f.Mark, bufferOf(f)); !errors.Is(err, ErrNoSpace) {
		t.Fatal(err)
	}
	if s.dir.steps != steps+1 {
		t.Error("something was written beside the file for which there is no room")
	}
	s.append(10) // a frame that needs no new segment is still accepted
	s.dir.room = 1 << 30
	s.append(2 * blockSize)
	s.mustReopen()
}

func TestNothingIsAppendedAfterAnError(t *testing.T) {
	for _, isSynced := range []bool{false, true} {
		s := newLogFixture(t)
		s.append(100)
		s.dir.failSync, s.dir.isSynced = s.dir.steps+3, isSynced
		f := s.frameOf(200)
		if err := s.log.Append(f.Mark, bufferOf(f)); !errors.Is(err, errDisk) {
			t.Fatal(err)
		}
		if err := s.log.Append(f.Mark, bufferOf(f)); !errors.Is(err, ErrFailed) {
			t.Error(err)
		}
		if err := s.log.Confirm(); !errors.Is(err, ErrFailed) {
			t.Error(err)
		}
		if isSynced {
			s.frames = append(s.frames, f)
		}
		for _, m := range s.dir.files { // writes that were not synced are lost
			m.content, m.pending = slices.Clone(m.disk), nil
		}
		s.mustReopen()
		s.append(300)
		s.mustReopen()
	}
}

// A killed process has left a frame in the page cache only. The next process makes the frame durable before it replays it.
func TestReplayMakesDurableWhatItBelieves(t *testing.T) {
	s := newLogFixture(t)
	s.append(100)
	s.dir.powerCut = s.dir.steps + 3 // the power is cut at the sync of the next frame
	f := s.frameOf(200)
	if err := s.log.Append(f.Mark, bufferOf(f)); !errors.Is(err, errPower) {
		t.Fatal(err)
	}
	s.frames = append(s.frames, f)
	s.dir = s.dir.killed()
	s.dir.failSync = 4 // the fourth step is the sync of the last segment, after a sync of the directory and two writes
	if _, _, err := replayed(s.dir, 1); !errors.Is(err, errDisk) {
		t.Errorf("a failed sync: %v", err)
	}
	s.dir = s.dir.killed()
	s.mustReopen()
	for _, m := range s.dir.files {
		if len(m.pending) > 0 {
			t.Error("a frame that was replayed is not durable")
		}
	}
}

// A frame from an earlier use of the segment's file is never taken for a frame, and neither is a frame inside a payload.
func TestContentOfAnEarlierUseIsNoFrame(t *testing.T) {
	s := newLogFixture(t)
	s.append(100)
	forged := make([]byte, 3*blockSize)
	var nobody epoch
	for i := range 3 {
		at := (i+1)*blockSize - HeaderSize // where a block of the segment begins
		nobody.fill(forged[at:][:HeaderSize:HeaderSize], Mark{N: 9}, [32]byte{})
	}
	f := s.frameOf(len(forged))
	f.Payload = forged
	s.dir.powerCut = s.dir.steps + 3
	_ = s.log.Append(f.Mark, bufferOf(f))
	s.dir = s.dir.killed()
	clear(s.last()[framesAt+blockSize:][:HeaderSize]) // the frame's header was lost
	s.mustReopen()
	s.append(10)
	s.mustReopen()
}

func TestSpareSegmentsAndUnfinishedOnesAreFound(t *testing.T) {
	s := newLogFixture(t)
	for range 3 {
		if err := s.log.MakeSpare(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.dir.Create(nameOf(newPrefix, 77), testSegment); err != nil {
		t.Fatal(err)
	}
	s.dir.files["notes"] = &memoryFile{dir: s.dir, name: "notes"}
	s.mustReopen()
	names, _ := s.dir.Names()
	if !slices.Equal(names, []string{"confirmed", "notes", "segment-0000000000000001", "spare-0000000000000001"}) {
		t.Errorf("files %q", names)
	}
	room := s.dir.room
	for range 3 {
		s.append(5 * blockSize)
	}
	if s.dir.room != room-testSegment {
		t.Error("the spare segment was not used")
	}
	l, err := open(s.dir, &Options{SegmentSize: 2 * testSegment}) // segments have another size from now on
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Replay(1, func(Frame) error { return nil }); err != nil {
		t.Fatal(err)
	}
	s.log = l
	for range 5 {
		s.append(9 * blockSize)
	}
	s.mustReopen()
}

func TestOwnerIsInEverySegmentThatBeginsLater(t *testing.T) {
	s := newLogFixture(t)
	first, second := Owner{1}, Owner{2}
	if err := s.log.SetOwner(first); err != nil {
		t.Fatal(err)
	}
	s.mustReopen()
	if s.log.Owner() != first {
		t.Error("an empty log does not name its owner")
	}
	s.append(100)
	if err := s.log.SetOwner(second); err != nil {
		t.Fatal(err)
	}
	s.mustReopen()
	if s.log.Owner() != first {
		t.Error("a segment with frames has another owner")
	}
	if err := s.log.SetOwner(second); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.append(4 * blockSize)
	}
	s.mustReopen()
	if s.log.Owner() != second {
		t.Error("a new segment does not name its owner")
	}
}

// A segment in the middle is missing, but the segments before it are not needed. Somebody may have put them back.
func TestSegmentsBeforeAGapAreLeftOut(t *testing.T) {
	s := newLogFixture(t)
	for range 12 {
		s.append(3 * blockSize)
	}
	delete(s.dir.files, nameOf(segmentPrefix, 3))
	if _, _, err := replayed(s.dir, 6); !errors.Is(err, ErrReleased) {
		t.Errorf("frames of the missing segment: %v", err)
	}
	if len(s.dir.files) != 6 {
		t.Error("files were removed although the log was refused")
	}
	_, frames, err := replayed(s.dir, 7)
	if err != nil {
		t.Fatal(err)
	}
	s.want(frames, s.frames[6:])
	if len(s.dir.files) != 4 {
		t.Errorf("%d files are left", len(s.dir.files))
	}
}

func TestAnotherVersionIsRefused(t *testing.T) {
	s := newLogFixture(t)
	f := s.dir.files["segment-0000000000000001"]
	f.content[len(segmentMagic)-1]++
	sum := sha256.Sum256(f.content[:segmentSumAt])
	copy(f.content[segmentSumAt:], sum[:])
	if _, err := open(s.dir, &plain); !errors.Is(err, ErrOtherVersion) {
		t.Error(err)
	}
}

func wantDamage(t *testing.T, what string, err error, text string) {
	t.Helper()
	var damaged *damage.Error
	if !errors.As(err, &damaged) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, want %q", what, err, text)
	}
}

func TestMissingSegmentsAreDamage(t *testing.T) {
	s := newLogFixture(t)
	for range 12 {
		s.append(3 * blockSize)
	}
	dir := s.dir.copied()
	delete(dir.files, nameOf(segmentPrefix, 6))
	_, _, err := replayed(dir, 1)
	wantDamage(t, "without the last segment", err, "segment-0000000000000005: the segment after it is missing")
	dir = s.dir.copied()
	clear(dir.files)
	_, _, err = replayed(dir, 1)
	wantDamage(t, "without all", err, "no segment of the log is in it")
	dir = s.dir.copied()
	f := dir.files[nameOf(segmentPrefix, 6)]
	f.content = f.content[:len(f.content)-1]
	_, _, err = replayed(dir, 1)
	wantDamage(t, "truncated", err, "bytes of")
	dir = s.dir.copied()
	dir.files[nameOf(segmentPrefix, 6)] = dir.files[nameOf(segmentPrefix, 5)]
	_, _, err = replayed(dir, 1)
	wantDamage(t, "exchanged", err, "it has the content of segment 5")
}

// If a process is killed after it has begun a segment, the mark may be missing that says that this segment exists. The next
// process writes the mark.
func TestReplayMarksTheSegmentsThatExist(t *testing.T) {
	s := newLogFixture(t)
	s.append(5 * blockSize)
	s.dir.powerCut = s.dir.steps + 7 // the power is cut before the mark is written
	f := s.frameOf(5 * blockSize)
	if err := s.log.Append(f.Mark, bufferOf(f)); !errors.Is(err, errPower) {
		t.Fatal(err)
	}
	s.dir = s.dir.killed()
	s.mustReopen()
	delete(s.dir.files, nameOf(segmentPrefix, 2))
	_, _, err := replayed(s.dir, 1)
	wantDamage(t, "without the new segment", err, "the segment after it is missing")
}

// If the last confirmation is torn, the confirmation before it is intact, whatever numbers the frames have.
func TestConfirmationsAreWrittenInTurn(t *testing.T) {
	s := newLogFixture(t)
	wantLost := func(n uint64) { // a log that ends before frame n is damaged, even if the last confirmation is lost
		t.Helper()
		for i := range int64(slots) {
			dir := s.dir.copied()
			f := dir.files[confirmedName]
			m, ok := confirmedEpoch.parseSlot(f.content[i*blockSize:][:slotSize])
			if ok && m.N == s.frames[len(s.frames)-1].N {
				clear(f.content[i*blockSize:][:slotSize])
				l, err := open(dir, &plain)
				if err != nil {
					t.Fatal(err)
				}
				wantDamage(t, "", l.checkConfirmed(Mark{N: n - 1}), fmt.Sprintf("frame %d was acknowledged", n))
			}
		}
	}
	for n := uint64(2); n <= 8; n += 2 {
		s.append(100)
		s.append(100)
		if err := s.log.Confirm(); err != nil {
			t.Fatal(err)
		}
		if n > 2 {
			wantLost(n - 2)
		}
		if n == 4 {
			s.dir = s.dir.killed()
			s.mustReopen()
		}
	}
}

// Confirmations are written while frames are appended. If the last segment is then replaced by an older state, Replay detects
// this.
func TestConfirmWhileFramesAreAppended(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	o := Options{Dir: dir, SegmentSize: 1 << 20}
	if err := Create(o, Mark{}); err != nil {
		t.Fatal(err)
	}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Replay(1, nil); err != nil {
		t.Fatal(err)
	}
	s := &logFixture{t: t, log: l}
	s.append(10)
	older, err := os.ReadFile(filepath.Join(dir, l.current.name))
	if err != nil {
		t.Fatal(err)
	}
	appended, confirmed := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-appended:
				confirmed <- l.Confirm()
				return
			default:
			}
			if err := l.Confirm(); err != nil {
				confirmed <- err
				return
			}
		}
	}()
	for range 100 {
		s.append(10)
	}
	close(appended)
	if err := errors.Join(<-confirmed, os.WriteFile(filepath.Join(dir, l.current.name), older, 0o600)); err != nil {
		t.Fatal(err)
	}
	again, err := Open(o) // the log is still open, as if the process had been killed
	if err != nil {
		t.Fatal(err)
	}
	_, err = again.Replay(1, func(Frame) error { return nil })
	wantDamage(t, "", err, "was acknowledged, but the last one found is")
	if err := errors.Join(again.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
}

// A log in a directory of this machine behaves like a log in memory.
func TestLogInADirectory(t *testing.T) {
	o := Options{Dir: filepath.Join(t.TempDir(), "log"), SegmentSize: testSegment}
	if err := Create(o, Mark{}); err != nil {
		t.Fatal(err)
	}
	s := &logFixture{t: t}
	for round := range 4 {
		l, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		s.log = l
		var frames []Frame
		first := l.segments[0].after.N + 1
		if _, err := l.Replay(first, func(f Frame) error {
			f.Payload = slices.Clone(f.Payload)
			frames = append(frames, f)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		s.want(frames, s.frames[first-1:])
		spares := make(chan error)
		go func() { spares <- l.MakeSpare() }() // at the same time as frames are appended
		for size := range 20 {
			s.append(size * 1234)
		}
		if err := errors.Join(<-spares, l.Release(uint64(5*round+1))); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(o.Dir, nameOf(segmentPrefix, s.log.current.sequence))); err != nil {
		t.Fatal(err)
	}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Replay(uint64(len(s.frames)), func(Frame) error { return nil })
	wantDamage(t, "without the last segment", err, "the segment after it is missing")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkAppend appends frames of two sizes: that of a group with one payment, and that of a large group.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{3 << 10, 300 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			o := Options{Dir: filepath.Join(b.TempDir(), "log"), SegmentSize: 64 << 20}
			if err := Create(o, Mark{}); err != nil {
				b.Fatal(err)
			}
			l, err := Open(o)
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			last, err := l.Replay(1, func(Frame) error { return nil })
			if err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, HeaderSize+size)
			b.SetBytes(int64(size))
			for b.Loop() {
				last.N++
				if err := l.Append(last, buf); err != nil {
					b.Fatal(err)
				}
				if err := l.Release(last.N); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
