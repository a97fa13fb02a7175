package log

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"mizan/internal/assert"
	"mizan/internal/disk"
)

// Options say where a log is, and how large its segments are.
type Options struct {
	Dir         string
	Disk        disk.Opener // opens the directory Dir; nil: disk.Local
	SegmentSize int64       // size of each new segment (a file of the log) in bytes: a multiple of 4 KiB, at least 28 KiB. Existing segments keep their size

	// SyncsLater makes Append return before the frame is durable: Sync and Confirm make it durable. It is for frames that are durable
	// elsewhere until then. It applies to new segments.
	SyncsLater bool
}

// directory opens the directory of the log.
func (o Options) directory() disk.Directory {
	if o.Disk == nil {
		return disk.Local(o.Dir)
	}
	return o.Disk(o.Dir)
}

// maxSpares is the maximum number of spare files that Release keeps for new segments.
const maxSpares = 2

// Local is a log in a directory of this machine.
type Local struct {
	dir         disk.Directory
	segmentSize int64
	syncsLater  bool // see Options

	// Only the goroutine that appends uses these fields.
	last    Mark  // the last frame
	tail    int64 // offset of the next frame in the last segment; 0 before Replay
	owner   Owner
	current *segment // the last segment; nil before Replay

	failed        atomic.Bool // an append or a confirmation has failed
	confirmations confirmations

	making sync.Mutex // held while spare files are created, and while segments are released

	mu                 sync.Mutex // never held during disk operations
	written            Mark       // the last frame that was written; guarded by mu
	durable            Mark       // the last frame that is durable; guarded by mu
	segments           []*segment // oldest first; never empty; guarded by mu
	spares             []string   // names of files that may become segments; guarded by mu
	leftovers          []*segment // segments that are older than a gap in the sequence; Replay removes them
	isReplayed         bool       // guarded by mu
	highestSpareNumber uint64     // the highest number in the name of a spare or unfinished file; guarded by mu
}

var _ Log = (*Local)(nil)

// Append implements Log. Together with the frame, Append writes a mark, which says that the previous frame was acknowledged.
func (l *Local) Append(m Mark, buf []byte) error {
	assert.That(l.tail > 0, "a log is written before it was replayed")
	assert.That(m.N == l.last.N+1, "frame %d after frame %d", m.N, l.last.N)
	if l.failed.Load() {
		return ErrFailed
	}
	size := framed(len(buf) - HeaderSize)
	s := l.current
	if l.tail+size > s.size {
		assert.That(size <= l.segmentSize-framesAt, "a frame of %d bytes", len(buf))
		next, err := l.rotate(s)
		if err != nil {
			l.failed.Store(!errors.Is(err, ErrNoSpace) || l.failed.Load())
			return err
		}
		s = next
	}
	s.epoch.fill(buf, m, l.last.Hash)
	if err := l.write(s, buf); err != nil {
		l.failed.Store(true)
		return fmt.Errorf("log: frame %d: %w", m.N, err)
	}
	l.last = m
	l.tail += size
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written = m; !s.syncsLater {
		l.durable = m
	}
	return nil
}

func (l *Local) write(s *segment, frame []byte) error {
	if s.syncsLater {
		_, err := s.file.WriteAt(frame, l.tail)
		return err
	}
	if err := l.markLast(s); err != nil {
		return err
	}
	if _, err := s.file.WriteAt(frame, l.tail); err != nil {
		return err
	}
	return s.file.Datasync()
}

// Sync makes all frames durable whose Append has returned. It is safe for concurrent use, also while a frame is appended.
func (l *Local) Sync() error {
	if l.failed.Load() {
		return ErrFailed
	}
	l.mu.Lock()
	written := l.written
	if written == l.durable {
		l.mu.Unlock()
		return nil
	}
	s := l.segments[len(l.segments)-1]
	l.mu.Unlock()
	err := s.file.Datasync()
	if errors.Is(err, os.ErrClosed) && l.lastDurable().N >= written.N {
		return nil // another call was first, and then the segment was released
	}
	if err != nil {
		l.failed.Store(true)
		return fmt.Errorf("log: up to frame %d: %w", written.N, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.durable.N < written.N {
		l.durable = written
	}
	return nil
}

// markLast writes a mark, which says that the last frame was acknowledged. It writes none if a confirmation or the header of
// the segment already names this frame.
func (l *Local) markLast(s *segment) error {
	if l.confirmations.lastNumber.Load() == l.last.N || s.after.N == l.last.N { // the second condition: the segment's header names the last frame
		return nil
	}
	return s.writeMark(markSlot{Mark: l.last})
}

// rotate begins the next segment, because the current one is full. First all frames and the new segment become durable. Then
// rotate writes a mark into the full segment, which says that the new segment exists, and makes the mark durable. Only then
// may a frame be written into the new segment.
func (l *Local) rotate(full *segment) (*segment, error) {
	if err := l.MakeSpare(); err != nil {
		return nil, err
	}
	if err := l.Sync(); err != nil {
		return nil, err
	}
	next, err := l.beginSegment(l.takeSpare(), full.sequence+1, l.last)
	if err != nil {
		return nil, err
	}
	if err := full.writeMark(markSlot{Mark: l.last, isContinued: true}); err != nil {
		return nil, err
	}
	if err := full.file.Datasync(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.segments = append(l.segments, next)
	l.mu.Unlock()
	l.current, l.tail = next, framesAt
	return next, nil
}

// takeSpare removes a spare file from the list of spare files and returns its name. There must be one.
func (l *Local) takeSpare() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	spare := l.spares[len(l.spares)-1]
	l.spares = l.spares[:len(l.spares)-1]
	return spare
}

// beginSegment turns the spare file called name into a segment with the given sequence number. after is the last frame before
// the segment.
func (l *Local) beginSegment(name string, sequence uint64, after Mark) (*segment, error) {
	f, err := l.dir.Open(name)
	if err != nil {
		return nil, err
	}
	s := &segment{name: nameOf(segmentPrefix, sequence), file: f, syncsLater: l.syncsLater}
	if s.size, err = f.Size(); err == nil {
		err = s.begin(sequence, l.owner, after)
	}
	if err == nil {
		err = l.dir.Rename(name, s.name)
	}
	if err == nil {
		err = l.dir.Sync()
	}
	if err != nil {
		_ = f.Close() // the first error is returned
		return nil, err
	}
	return s, nil
}

// MakeSpare makes a spare file if there is none. A spare file will become the next segment. If nobody has called MakeSpare in
// advance, Append makes the file, and takes longer. MakeSpare is safe for concurrent use. If the disk is full, the error is
// ErrNoSpace.
func (l *Local) MakeSpare() error {
	if l.HasSpare() {
		return nil // return without waiting for a release that is under way
	}
	l.making.Lock()
	defer l.making.Unlock()
	number, isNeeded := l.nameForSpare()
	if !isNeeded {
		return nil
	}
	made, spare := nameOf(newPrefix, number), nameOf(sparePrefix, number)
	f, err := l.dir.Create(made, l.segmentSize)
	if err != nil {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return fmt.Errorf("log: %s: %w", l.dir.Path(""), ErrNoSpace)
		}
		return fmt.Errorf("log: %w", err)
	}
	err = f.Close()
	if err == nil {
		err = l.dir.Rename(made, spare)
	}
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	l.addSpareName(spare)
	return nil
}

// nameForSpare returns a number for the name of a new spare file. If there already is a spare file, no new one is needed, and
// isNeeded is false.
func (l *Local) nameForSpare() (number uint64, isNeeded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spares) > 0 {
		return 0, false
	}
	l.highestSpareNumber++
	return l.highestSpareNumber, true
}

// Release implements Log. Release turns segments whose frames are no longer needed into spare files, or removes them. It
// begins with the oldest segment and finishes one before it takes the next, so that a crash leaves no gap in the sequence of
// segments. Before Replay has returned, Release does nothing.
func (l *Local) Release(below uint64) error {
	l.making.Lock() // one release at a time
	defer l.making.Unlock()
	for {
		oldest, spare := l.takeOldest(below)
		if oldest == nil {
			return nil
		}
		if err := l.recycle(oldest, spare); err != nil {
			return fmt.Errorf("log: %w", err)
		}
	}
}

// takeOldest takes the oldest segment out of the log if none of its frames is needed any more. It returns the segment and a
// name. The caller must rename the segment's file to this name, which makes it a spare file. If the name is empty, the caller
// must remove the file instead.
func (l *Local) takeOldest(below uint64) (oldest *segment, spare string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isReplayed || len(l.segments) == 1 || l.segments[1].after.N >= below {
		return nil, ""
	}
	oldest = l.segments[0]
	l.segments = l.segments[1:]
	if len(l.spares) < maxSpares && oldest.size == l.segmentSize {
		l.highestSpareNumber++
		spare = nameOf(sparePrefix, l.highestSpareNumber)
	}
	return oldest, spare
}

// recycle removes the file of a segment, or makes it a spare file. The file is not used as a spare file before its new name
// is durable.
func (l *Local) recycle(s *segment, spare string) error {
	if err := s.file.Close(); err != nil {
		return err
	}
	if spare == "" {
		return errors.Join(l.dir.Remove(s.name), l.dir.Sync())
	}
	if err := errors.Join(l.dir.Rename(s.name, spare), l.dir.Sync()); err != nil {
		return err
	}
	l.addSpareName(spare)
	return nil
}

func (l *Local) addSpareName(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spares = append(l.spares, name)
}

// Size returns the number of bytes that the log takes on the disk.
func (l *Local) Size() (size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments {
		size += s.size
	}
	return size + int64(len(l.spares))*l.segmentSize
}

// Segments returns the number of segments in use, and the number of spare files that may become segments.
func (l *Local) Segments() (used, spare int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.segments), len(l.spares)
}

// HasSpare tells whether there is a spare file for the next segment.
func (l *Local) HasSpare() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.spares) > 0
}

// Close confirms the last frame and closes the files. No other method may run at the same time.
func (l *Local) Close() error {
	var err error
	if !l.failed.Load() {
		err = l.Confirm()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range slices.Concat(l.leftovers, l.segments) {
		err = errors.Join(err, s.file.Close())
	}
	if l.confirmations.file != nil {
		err = errors.Join(err, l.confirmations.file.Close())
	}
	return err
}

// Owner returns the owner that is stored in the newest segment that has one. If no segment has an owner, it returns zeros.
func (l *Local) Owner() Owner { return l.owner }

// SetOwner sets the owner that is stored in new segments. If the log has no frames, SetOwner replaces its only segment by one
// with the owner. No frame may be appended at the same time.
func (l *Local) SetOwner(owner Owner) error {
	l.owner = owner
	first := l.current
	if first.after != l.last || len(l.segments) > 1 {
		return nil
	}
	if err := l.MakeSpare(); err != nil {
		return err
	}
	again, err := l.beginSegment(l.takeSpare(), first.sequence, first.after)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments[0], l.current = again, again
	return first.file.Close()
}

// Create makes a log without frames in a new directory. after is the mark of the frame before the log's first frame. If the
// process ends during Create, the directory may contain no segment.
func Create(o Options, after Mark) error {
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	return create(o.directory(), &o, after)
}

func create(dir disk.Directory, o *Options, after Mark) error {
	assert.That(o.SegmentSize >= minSegmentSize && o.SegmentSize%blockSize == 0, "a segment of %d bytes", o.SegmentSize)
	l := &Local{dir: dir, segmentSize: o.SegmentSize, syncsLater: o.SyncsLater}
	if err := l.list(); err != nil {
		return err
	}
	assert.That(len(l.segments) == 0, "there is a log in %s", dir.Path(""))
	if err := l.MakeSpare(); err != nil {
		return err
	}
	s, err := l.beginSegment(l.spares[0], 1, after)
	if err == nil {
		err = s.file.Close()
	}
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	return nil
}
