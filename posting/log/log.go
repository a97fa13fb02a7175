package log

import "errors"

// Mark identifies a frame.
type Mark struct {
	N    uint64   // number of the frame; 0 if the mark stands for the beginning, before the first frame
	Hash [32]byte // hash of the frame; the next frame contains this hash too; zeros if N is 0
}

// Owner identifies the owner of a log. The caller chooses the bytes. If they are all zero, the owner is unknown.
type Owner [32]byte

// Frame is a stored frame.
type Frame struct {
	Mark
	Previous [32]byte // hash of the previous frame
	Payload  []byte   // valid until the function that is called with the frame returns
}

// Log is a durable sequence of frames with consecutive numbers. Only one goroutine at a time may call Append, and only after
// Replay has returned. Release may be called at the same time as Append.
type Log interface {
	// Append makes the next frame durable. The caller leaves the first HeaderSize bytes of buf free for the frame's header.
	// The payload follows them. If the error is ErrNoSpace, nothing was changed. After any other error it is unknown whether
	// the frame is durable, and the log takes no further frames.
	Append(m Mark, buf []byte) error
	// Replay calls fn with all frames whose numbers are at least from, in order, until fn returns an error. It returns the
	// mark of the last frame in the log, whose number may be below from.
	Replay(from uint64, fn func(Frame) error) (last Mark, err error)
	// Release tells the log that frames with numbers less than below will not be replayed any more. The log may remove them.
	Release(below uint64) error
}

// Errors of a log.
var (
	// ErrNoSpace means that the disk has no room for a new segment.
	ErrNoSpace = errors.New("no room for a segment of the log")
	// ErrFailed is returned by Append and Confirm if an earlier call of either method has failed. A failure with ErrNoSpace
	// does not count.
	ErrFailed = errors.New("the log has failed before")
	// ErrOtherVersion means that another release of this program has written the log.
	ErrOtherVersion = errors.New("another release has written the log")
	// ErrReleased means that the log no longer has the frame with which Replay should begin.
	ErrReleased = errors.New("the log does not go back so far")
)
