package log

import "errors"

// Mark identifies a frame.
type Mark struct {
	N    uint64   // the frame's number; 0: before the first frame
	Hash [32]byte // the frame's hash, which the next frame contains too; zeros before the first frame
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
// Replay has returned. Release may be called meanwhile.
type Log interface {
	// Append makes the next frame durable. The first HeaderSize bytes of buf are for the frame's header, and the payload follows
	// them. ErrNoSpace means that nothing was changed. After any other error it is unknown whether the frame is durable, and the
	// log takes no further frames.
	Append(m Mark, buf []byte) error
	// Replay calls fn with all frames whose number is at least from, until fn returns an error. It returns the last frame of the
	// log, whose number may be below from.
	Replay(from uint64, fn func(Frame) error) (last Mark, err error)
	// Release lets the log drop the frames whose numbers are below the given one, because they will not be replayed any
	// more.
	Release(below uint64) error
}

// Errors of a log.
var (
	// ErrNoSpace means that a segment cannot be made because the disk is full.
	ErrNoSpace = errors.New("no room for a segment of the log")
	// ErrFailed refuses everything after an Append has failed.
	ErrFailed = errors.New("the log has failed before")
	// ErrOtherVersion refuses a log that another release has written.
	ErrOtherVersion = errors.New("another release has written the log")
	// ErrReleased means that a log no longer has the frames with which Replay should begin.
	ErrReleased = errors.New("the log does not go back so far")
)
