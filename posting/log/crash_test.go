package log

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mizan/posting/store/damage"
)

// last returns the content of the last segment's file.
func (s *logFixture) last() []byte {
	return s.dir.files[s.log.current.name].content
}

// torn returns a story of three frames whose process was killed before the fourth frame was synced. It also returns the fourth
// frame, and where this frame begins and ends in the segment.
func torn(t *testing.T, size int) (s *logFixture, fourth Frame, from, to int64) {
	s = newLogFixture(t)
	for range 3 {
		s.append(500)
	}
	from = s.log.tail
	fourth = s.frameOf(size)
	s.dir.powerCut = s.dir.steps + 3
	if err := s.log.Append(fourth.Mark, bufferOf(fourth)); err == nil {
		t.Fatal("acknowledged without a sync")
	}
	s.dir = s.dir.killed()
	return s, fourth, from, from + int64(HeaderSize+size)
}

// A crash may cut off the write of a frame at any byte, or may lose its beginning. The frame was not acknowledged, so the log
// may contain the whole frame or nothing of it.
func TestTornFrameIsCutAtEveryByte(t *testing.T) {
	s, fourth, from, to := torn(t, 2*blockSize+700)
	written, confirmed := slices.Clone(s.last()), slices.Clone(s.dir.files[confirmedName].content)
	for _, old := range []byte{0, 0xa5} { // what each lost byte had before the write
		for cut := from; cut <= to; cut++ {
			for _, isBeginningLost := range []bool{false, true} {
				content := s.last()
				copy(content, written)
				copy(s.dir.files[confirmedName].content, confirmed)
				lost := content[cut:to]
				if isBeginningLost {
					lost = content[from:cut]
				}
				for i := range lost {
					lost[i] = old
				}
				want := s.frames
				if bytes.Equal(content, written) {
					want = append(slices.Clone(want), fourth)
				}
				_, frames, err := replayed(s.dir, 1)
				if err == nil {
					err = compare(frames, want)
				}
				if err != nil {
					t.Fatalf("cut at byte %d (beginning lost: %v): %v", cut-from, isBeginningLost, err)
				}
			}
		}
	}
}

func TestSectorsOfAFrameAreWrittenInAnyOrder(t *testing.T) {
	s, fourth, from, to := torn(t, blockSize)
	written := slices.Clone(s.last())
	count := int((to - from + sectorSize - 1) / sectorSize)
	for kept := range 1 << count {
		content := s.last()
		copy(content, written)
		for i := range count {
			if kept>>i&1 == 0 {
				begin := from + int64(i)*sectorSize
				clear(content[begin:min(begin+sectorSize, to)])
			}
		}
		want := s.frames
		if kept == 1<<count-1 {
			want = append(slices.Clone(want), fourth)
		}
		_, frames, err := replayed(s.dir, 1)
		if err == nil {
			err = compare(frames, want)
		}
		if err != nil {
			t.Fatalf("sectors %b: %v", kept, err)
		}
	}
}

// Each byte of a confirmed log is changed once. Either Replay refuses the log, or it returns the right frames because the
// byte does not matter.
func TestEveryChangedByteIsFoundOrHarmless(t *testing.T) {
	if testing.Short() {
		t.Skip("opens a log 80,000 times")
	}
	s := newLogFixture(t)
	for range 3 {
		s.append(2*blockSize + 100) // the third frame begins a new segment
	}
	s.append(100)
	if err := s.log.Confirm(); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for name, f := range s.dir.files {
		for at := range f.content {
			f.content[at] ^= 0x10
			_, frames, err := replayed(s.dir, 1)
			f.content[at] ^= 0x10
			if err != nil {
				refused++
				wantDamage(t, fmt.Sprintf("byte %d of %s", at, name), err, "")
				continue
			}
			if err := compare(frames, s.frames); err != nil {
				t.Fatalf("byte %d of %s: %v", at, name, err)
			}
		}
	}
	least := 0 // number of bytes that matter: those of frames, and of the headers of segments
	for _, f := range s.frames {
		least += HeaderSize + len(f.Payload)
	}
	if least += len(s.log.segments) * segmentHeader; refused != least {
		t.Errorf("%d changed bytes were detected, of %d that matter", refused, least)
	}
}

// The end of the log is lost, from each frame on. Replay accepts this only if just the last frame is lost and neither a mark
// nor a confirmation names that frame, because a crash may have torn it.
func TestLostEndIsFound(t *testing.T) {
	for _, isConfirmed := range []bool{false, true} {
		s := newLogFixture(t)
		var places []int64
		for range 4 {
			places = append(places, s.log.tail)
			s.append(300)
		}
		if isConfirmed {
			if err := s.log.Confirm(); err != nil {
				t.Fatal(err)
			}
		}
		for i, place := range places {
			content := s.last()
			written := slices.Clone(content)
			clear(content[place:])
			_, frames, err := replayed(s.dir, 1)
			copy(content, written)
			if i == len(places)-1 && !isConfirmed {
				s.want(frames, s.frames[:i])
				continue
			}
			wantDamage(t, fmt.Sprint("without frame ", i+1), err, "was acknowledged, but the last one found is")
		}
	}
}

// Frames are appended, synced, confirmed and released, while the process is killed, the power is cut, and syncs fail. All
// acknowledged frames survive. After them there is at most one frame that was not acknowledged. In a log that syncs later, a power
// cut may remove frames that were written since the last sync, but none before another one that stays.
func TestAcknowledgedFramesSurvive(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 2
	}
	for round := range 2 * rounds {
		o := plain
		o.SyncsLater = round%2 == 1
		rapid.Check(t, func(rt *rapid.T) { liveThroughFaults(t, rt, o) })
	}
}

func liveThroughFaults(t *testing.T, rt *rapid.T, o Options) {
	s := newLogFixtureOf(t, o)
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
	var inFlight *Frame
	released, synced := uint64(1), 0 // synced is the number of frames that survive a power cut
	isCut := false                   // the power was cut since the last replay
	// crash ends the process, or cuts the power.
	crash := func(rt *rapid.T) {
		if rapid.Bool().Draw(rt, "power") {
			s.dir, isCut = s.dir.afterPowerCut(random), true
		} else {
			s.dir = s.dir.killed()
		}
	}
	// found compares the frames of a log that was replayed. They are durable now.
	found := func(rt *rapid.T, frames []Frame) {
		n := int(released) - 1 + len(frames)
		if inFlight != nil && n == len(s.frames)+1 {
			s.frames = append(s.frames, *inFlight)
		}
		if n < synced || n < len(s.frames) && !isCut || n > len(s.frames) {
			rt.Fatalf("the log has %d frames; %d were acknowledged, and %d were written", n, synced, len(s.frames))
		}
		if err := compare(frames, s.frames[released-1:n]); err != nil {
			rt.Fatal(err)
		}
		s.frames, synced, inFlight, isCut = s.frames[:n:n], n, nil, false
	}
	// reopen opens the log. Up to two attempts before that may fail.
	reopen := func(rt *rapid.T) {
		if !o.SyncsLater {
			synced = len(s.frames)
		}
		for range rapid.IntRange(0, 2).Draw(rt, "failures") {
			s.dir.powerCut, s.dir.failSync = 0, 0
			if step := rapid.IntRange(1, 7).Draw(rt, "step"); rapid.Bool().Draw(rt, "cut") {
				s.dir.powerCut = step
			} else {
				s.dir.failSync = step
			}
			l, frames, err := replayedWith(o, s.dir, released)
			var damaged *damage.Error
			switch {
			case errors.As(err, &damaged):
				rt.Fatal(err)
			case err == nil:
				found(rt, frames)
			}
			if l != nil {
				_ = l.Close()
			}
			crash(rt)
		}
		s.dir.powerCut, s.dir.failSync = 0, 0
		l, frames, err := replayedWith(o, s.dir, released)
		if err != nil {
			rt.Fatal(err)
		}
		found(rt, frames)
		s.log = l
		s.salt++
	}
	sync := func(err error) bool {
		if err == nil {
			synced = len(s.frames)
		}
		return err == nil
	}
	rt.Repeat(map[string]func(*rapid.T){
		"append": func(rt *rapid.T) {
			if s.log.failed.Load() {
				return
			}
			f := s.frameOf(rapid.IntRange(0, 6*blockSize).Draw(rt, "size"))
			switch err := s.log.Append(f.Mark, bufferOf(f)); {
			case err == nil:
				s.frames = append(s.frames, f)
			case !s.log.failed.Load():
				rt.Fatalf("refused: %v", err)
			default:
				inFlight = &f
			}
		},
		"sync":    func(*rapid.T) { sync(s.log.Sync()) },
		"confirm": func(*rapid.T) { sync(s.log.Confirm()) },
		"spare":   func(*rapid.T) { _ = s.log.MakeSpare() },
		"release": func(rt *rapid.T) {
			if !sync(s.log.Sync()) {
				return
			}
			released = max(released, rapid.Uint64Range(1, uint64(len(s.frames))+1).Draw(rt, "below"))
			if err := s.log.Release(released); err != nil && s.dir.powerCut == 0 {
				rt.Fatal(err)
			}
		},
		"fail a sync": func(rt *rapid.T) {
			s.dir.failSync = s.dir.steps + rapid.IntRange(1, 8).Draw(rt, "step")
			s.dir.isSynced = rapid.Bool().Draw(rt, "synced")
		},
		"cut the power": func(rt *rapid.T) {
			if s.dir.powerCut == 0 {
				s.dir.powerCut = s.dir.steps + rapid.IntRange(1, 12).Draw(rt, "step")
			}
		},
		"restart": func(rt *rapid.T) {
			if s.dir.powerCut > 0 && s.dir.steps >= s.dir.powerCut || s.log.failed.Load() {
				crash(rt)
			} else {
				s.dir = s.dir.killed()
			}
			reopen(rt)
		},
	})
}

// A power cut may damage the blocks that are being written. So a start writes nothing to a log whose last frame is known to be
// durable.
func TestStartWritesNothingOfAConfirmedLog(t *testing.T) {
	for _, isConfirmed := range []bool{true, false} {
		s := newLogFixture(t)
		s.append(300)
		s.append(2*blockSize + 100)
		if isConfirmed {
			if err := s.log.Confirm(); err != nil {
				t.Fatal(err)
			}
		}
		s.dir = s.dir.killed()
		_, frames, err := replayed(s.dir, 1)
		if err != nil {
			t.Fatal(err)
		}
		s.want(frames, s.frames)
		if hasWritten := s.dir.steps > 0; hasWritten == isConfirmed {
			t.Errorf("confirmed %v: the start made %d changes", isConfirmed, s.dir.steps)
		}
	}
}

// A program that syncs each frame opens a log in which frames were synced later, and appends one. The frame is durable.
func TestFrameIsDurableInALogThatWasSyncedLater(t *testing.T) {
	later := plain
	later.SyncsLater = true
	s := newLogFixtureOf(t, later)
	s.append(300)
	if err := s.log.Confirm(); err != nil {
		t.Fatal(err)
	}
	s.dir, s.options = s.dir.killed(), plain
	s.mustReopen()
	s.append(300)
	for seed := range uint64(20) {
		_, frames, err := replayed(s.dir.afterPowerCut(rand.New(rand.NewPCG(seed, 0))), 1)
		if err != nil {
			t.Fatal(err)
		}
		s.want(frames, s.frames)
	}
}

// While a sync is about to begin, another one may end, and the segment may be released. That is no failure, unless the frames were
// not durable.
func TestSyncOfAReleasedSegmentIsNoFailure(t *testing.T) {
	for _, isDurable := range []bool{true, false} {
		later := plain
		later.SyncsLater = true
		s := newLogFixtureOf(t, later)
		s.append(300)
		s.dir.onSync = func() error {
			if isDurable {
				if err := s.log.Sync(); err != nil {
					t.Error(err)
				}
			}
			return os.ErrClosed
		}
		if err := s.log.Sync(); (err == nil) != isDurable {
			t.Errorf("durable %v: %v", isDurable, err)
		}
		if s.log.failed.Load() == isDurable {
			t.Errorf("durable %v: the log has failed: %v", isDurable, s.log.failed.Load())
		}
	}
}
