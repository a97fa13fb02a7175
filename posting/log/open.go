package log

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"mizan/internal/assert"
	"mizan/internal/disk"
	"mizan/posting/store/damage"
)

// Open opens a log, which is a directory of segments (files with frames). The error is a *damage.Error, ErrOtherVersion, or
// an I/O error. The caller must call Replay before other methods.
func Open(o Options) (*Local, error) { return open(o.directory(), &o) }

func open(dir disk.Directory, o *Options) (*Local, error) {
	assert.That(o.SegmentSize >= minSegmentSize && o.SegmentSize%blockSize == 0, "a segment of %d bytes", o.SegmentSize)
	l := &Local{dir: dir, segmentSize: o.SegmentSize, syncsLater: o.SyncsLater}
	err := l.list()
	if err == nil {
		err = l.compareSegments()
	}
	if err == nil {
		err = l.openConfirmed()
	}
	for _, s := range l.segments {
		if s.owner != (Owner{}) {
			l.owner = s.owner
		}
	}
	if err != nil {
		_ = l.Close() // the first error is returned
		return nil, err
	}
	return l, nil
}

// list finds the segments, and the spare files that may become segments. It removes files that a killed process has left
// unfinished.
func (l *Local) list() error {
	names, err := l.dir.Names()
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	for _, name := range names {
		if err := l.add(name); err != nil {
			return err
		}
	}
	slices.SortFunc(l.segments, func(a, b *segment) int { return cmp.Compare(a.sequence, b.sequence) })
	return nil
}

func (l *Local) add(name string) error {
	if number, ok := sequenceOf(name, newPrefix); ok {
		l.highestSpareNumber = max(l.highestSpareNumber, number)
		if err := l.dir.Remove(name); err != nil {
			return fmt.Errorf("log: %w", err)
		}
		return nil
	}
	if number, ok := sequenceOf(name, sparePrefix); ok {
		l.highestSpareNumber = max(l.highestSpareNumber, number)
		return l.addSpare(name)
	}
	if _, ok := sequenceOf(name, segmentPrefix); !ok {
		return nil // not a file of the log
	}
	f, err := l.dir.Open(name)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	s := &segment{name: name, file: f}
	l.segments = append(l.segments, s)
	if err := s.readHeader(l.dir.Path(name)); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	return nil
}

// addSpare keeps a spare file if it has the size of new segments. Otherwise it removes the file.
func (l *Local) addSpare(name string) error {
	f, err := l.dir.Open(name)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	size, err := f.Size()
	err = errors.Join(err, f.Close())
	if err == nil && size != l.segmentSize {
		return l.dir.Remove(name)
	}
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	l.spares = append(l.spares, name)
	return nil
}

// compareSegments keeps the newest segments, back to the first gap in their sequence numbers. The segments before the gap
// become leftovers: somebody may have put them back, or the segments in the gap may be lost. If frames of a lost segment are
// needed, Replay returns an error.
func (l *Local) compareSegments() error {
	if len(l.segments) == 0 {
		return damage.New(l.dir.Path(""), "no segment of the log is in it")
	}
	for i := len(l.segments) - 1; i > 0; i-- {
		before, s := l.segments[i-1], l.segments[i]
		if s.sequence != before.sequence+1 {
			l.leftovers, l.segments = l.segments[:i], l.segments[i:]
			return nil
		}
		if s.after.N < before.after.N {
			return damage.New(l.dir.Path(s.name), "it follows frame %d, and the segment before it frame %d", s.after.N, before.after.N)
		}
	}
	return nil
}

// Replay implements Log. Before Replay calls fn, it makes the end of the log durable, because a killed process may have left
// the end only in the page cache. If the log begins after the frame from, the error is ErrReleased.
func (l *Local) Replay(from uint64, fn func(Frame) error) (Mark, error) {
	if first := l.First(); from < first {
		return Mark{}, fmt.Errorf("log: %w: frame %d, and the first is %d", ErrReleased, from, first)
	}
	end, err := l.findEnd()
	if err != nil {
		return Mark{}, err
	}
	begin := len(l.segments) - 1
	for begin > 0 && l.segments[begin].after.N >= from {
		begin--
	}
	for i := begin; i < len(l.segments) && from <= end.last.N; i++ {
		r := l.reader(l.segments[i])
		if err := r.readFrames(from, fn); err != nil {
			return Mark{}, err
		}
		after := end.last
		if i+1 < len(l.segments) {
			after = l.segments[i+1].after
		}
		if after != r.last {
			return Mark{}, damage.New(r.path, "it ends with frame %d, and should end with frame %d", r.last.N, after.N)
		}
	}
	l.current, l.last, l.tail = l.segments[len(l.segments)-1], end.last, end.at
	if err := l.removeLeftovers(); err != nil {
		return Mark{}, err
	}
	l.mu.Lock()
	l.isReplayed, l.written, l.durable = true, end.last, end.last
	l.mu.Unlock()
	return l.last, l.Confirm() // with this confirmation, the next start does not write the last frame again
}

// logEnd is the position at which a log ends.
type logEnd struct {
	last Mark
	at   int64 // offset of the next frame in the last segment
}

// findEnd reads the last segment and makes its last frames durable. It does not write frames again that are known to be durable
// already, because a power cut during the write could damage these acknowledged frames.
func (l *Local) findEnd() (end logEnd, err error) {
	r := l.reader(l.segments[len(l.segments)-1])
	if err := r.readFrames(math.MaxUint64, nil); err != nil {
		return end, err
	}
	if err := r.checkEnd(); err != nil {
		return end, err
	}
	if err := l.checkConfirmed(r.last); err != nil {
		return end, err
	}
	known := max(r.mark.N, l.confirmations.lastNumber.Load())
	if isConfirmed := len(r.places) > 0 && known >= r.last.N; !isConfirmed {
		if err := l.makeDurable(r.unsure(known), r.at); err != nil {
			return end, fmt.Errorf("log: %w", err)
		}
	}
	end.last, end.at = r.last, r.at
	if r.hasGap || r.syncsLater && !l.syncsLater {
		end.at = r.size // the next frame begins a segment: frames behind a gap must not follow it, or it needs a sync of its own
	}
	return end, nil
}

func (l *Local) reader(s *segment) *segmentReader {
	return &segmentReader{segment: s, path: l.dir.Path(s.name), last: s.after, at: framesAt}
}

// removeLeftovers removes the segments before a gap. Replay calls it after it has found all needed frames in the other
// segments.
func (l *Local) removeLeftovers() error {
	for _, s := range l.leftovers {
		if err := errors.Join(s.file.Close(), l.dir.Remove(s.name)); err != nil {
			return fmt.Errorf("log: %w", err)
		}
	}
	l.leftovers = nil
	return nil
}

// makeDurable makes the end of the log durable. The end may be only in the page cache, because the previous process may have
// been killed, or a sync may have failed. After a failed sync the kernel treats unwritten pages as written. So makeDurable
// writes the blocks before the frames again, and also the last frames, which are between the offsets from and tail. In the
// segment before the last one, it writes the mark that says that the last segment exists, because the previous process may
// have ended before it wrote this mark.
func (l *Local) makeDurable(from, tail int64) error {
	if err := l.dir.Sync(); err != nil {
		return err
	}
	if n := len(l.segments); n > 1 {
		before := l.segments[n-2]
		if err := before.writeMark(markSlot{Mark: l.segments[n-1].after, isContinued: true}); err != nil {
			return err
		}
		if err := before.file.Datasync(); err != nil {
			return err
		}
	}
	current := l.segments[len(l.segments)-1]
	if err := current.writeAgain(0, framesAt); err != nil {
		return err
	}
	if from > 0 {
		if err := current.writeAgain(from, tail); err != nil {
			return err
		}
	}
	return current.file.Datasync()
}

// First returns the number of the oldest frame in the log. If the log has no frames, it returns the number of the next frame.
func (l *Local) First() uint64 { return l.segments[0].after.N + 1 }

// segmentReader reads the frames of a segment in order.
type segmentReader struct {
	*segment
	path   string
	last   Mark    // the last frame that was read
	at     int64   // offset of the next frame
	places []int64 // offsets of all frames that were read
	hasGap bool    // there are frames behind a bad one, which were never durable
	mark   markSlot
	window []byte // a part of the segment that was read in advance
	start  int64  // offset of the window
}

// readAhead is the number of bytes that are read at once.
const readAhead = 1 << 20

// bytes returns n bytes of the segment, beginning at the offset at. If the segment ends earlier, it returns fewer bytes. The
// bytes are valid until the next call.
func (r *segmentReader) bytes(at int64, n int) ([]byte, error) {
	n = int(min(int64(n), r.size-at))
	if at < r.start || at+int64(n) > r.start+int64(len(r.window)) {
		length := int(min(int64(max(n, readAhead)), r.size-at))
		r.window = slices.Grow(r.window[:0], length)[:length]
		r.start = at
		if read, err := r.file.ReadAt(r.window, at); err != nil && (read < length || !errors.Is(err, io.EOF)) {
			return nil, fmt.Errorf("log: %s: %w", r.path, err)
		}
	}
	return r.window[at-r.start:][:n], nil
}

// readFrames reads the frames of the segment, up to the first bad one. It calls fn with the frames whose numbers are at least
// from.
func (r *segmentReader) readFrames(from uint64, fn func(Frame) error) (err error) {
	if r.mark, err = r.readMark(); err != nil {
		return fmt.Errorf("log: %s: %w", r.path, err)
	}
	for r.at+HeaderSize <= r.size {
		buf, err := r.bytes(r.at, HeaderSize)
		if err != nil {
			return err
		}
		h, ok := r.epoch.parse(buf)
		if !ok {
			return nil
		}
		if h.N != r.last.N+1 || h.previous != r.last.Hash || r.at+framed(h.payloadSize) > r.size {
			return damage.New(r.path, "frame %d does not follow frame %d", h.N, r.last.N)
		}
		if buf, err = r.bytes(r.at, HeaderSize+h.payloadSize); err != nil {
			return err
		}
		payload := buf[HeaderSize:]
		if crc32.Checksum(payload, castagnoli) != h.payloadSum {
			return nil
		}
		if h.N == r.mark.N && h.Hash != r.mark.Hash {
			return damage.New(r.path, "frame %d is not the one that was acknowledged", h.N)
		}
		if h.N >= from {
			if err := fn(Frame{Mark: h.Mark, Previous: h.previous, Payload: payload}); err != nil {
				return err
			}
		}
		r.places = append(r.places, r.at)
		r.last, r.at = h.Mark, r.at+framed(h.payloadSize)
	}
	return nil
}

// unsure returns the offset of the first frame that may not be durable, if the frame with the given number is; 0: there is none.
func (r *segmentReader) unsure(known uint64) int64 {
	count := uint64(len(r.places))
	n := known - min(known, r.after.N)
	if !r.syncsLater && count > 0 {
		n = count - 1 // the others were durable before it was written
	}
	if n >= count {
		return 0
	}
	return r.places[n]
}

// checkEnd checks that nothing is missing after the frames that were read from the last segment: no mark names a later frame, and
// the segment contains no later frame behind a bad one. If several frames may be written before a sync, a crash leaves such frames.
func (r *segmentReader) checkEnd() error {
	switch {
	case r.mark.isContinued:
		return damage.New(r.path, "the segment after it is missing")
	case r.mark.N > r.last.N:
		return damage.New(r.path, "frame %d was acknowledged, but the last one found is %d", r.mark.N, r.last.N)
	}
	for at := r.at; at+HeaderSize <= r.size; at += blockSize {
		buf, err := r.bytes(at, HeaderSize)
		if err != nil {
			return err
		}
		h, ok := r.epoch.parse(buf)
		switch isBehindGap := ok && h.N > r.last.N+1; {
		case isBehindGap && r.syncsLater:
			r.hasGap = true
			return nil
		case isBehindGap:
			return damage.New(r.path, "frame %d is bad, and frame %d is behind it", r.last.N+1, h.N)
		}
	}
	return nil
}
