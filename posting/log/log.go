package log

import "errors"

// Mark identifies a frame.
type Mark struct {
	N    uint64   // number of the frame; 0: no frame, before the first one
	Hash [32]byte // hash of the frame, which the next frame also contains; zeros before the first frame
}

// Owner identifies the owner of a log, in a form that the caller chooses; zeros: unknown.
type Owner [32]byte

// Frame is a stored frame.
type Frame struct {
	Mark
	Previous [32]byte // hash of the frame before
	Payload  []byte   // valid until the function that gets the frame returns
}

// Log is a durable sequence of frames with consecutive numbers. Append is called by one goroutine at a time, and not before
// Replay has returned. Release may be called at the same time.
type Log interface {
	// Append makes the next frame durable. The first HeaderSize bytes of buf are for the frame's header, and the payload
	// follows them. If the error is ErrNoSpace, nothing was changed. After any other error it is unknown whether the frame is
	// durable, and the log takes no further frames.
	Append(m Mark, buf []byte) error
	// Replay calls fn with all frames whose numbers are at least from, in order, until fn returns an error. It returns the
	// mark of the last frame in the log, whose number may be below from.
	Replay(from uint64, fn func(Frame) error) (last Mark, err error)
	// Release says that frames whose numbers are below the given one will not be replayed any more, so that the log may
	// remove them.
	Release(below uint64) error
}

// Errors of a log.
var (
	// ErrNoSpace means that the disk has no room for a new segment.
	ErrNoSpace = errors.New("no room for a segment of the log")
	// ErrFailed is the error of Append and Confirm after a call of one of them has failed. A failure with ErrNoSpace does not
	// count.
	ErrFailed = errors.New("the log has failed before")
	// ErrOtherVersion means that another release of this program has written the log.
	ErrOtherVersion = errors.New("another release has written the log")
	// ErrReleased means that a log no longer has the frames with which Replay should begin.
	ErrReleased = errors.New("the log does not go back so far")
)
