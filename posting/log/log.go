package log

import "errors"

// Mark names a frame.
type Mark struct {
	N    uint64   // the frame's number; 0: before the first frame
	Hash [32]byte // what the frame after it names as its predecessor; zeros before the first frame
}

// Owner names whose log it is, in a form that is the caller's. Zeros: nobody has said.
type Owner [32]byte

// Frame is a stored frame.
type Frame struct {
	Mark
	Previous [32]byte // hash of the frame before
	Payload  []byte   // valid until the function returns that got the frame
}

// Log is a durable sequence of frames with consecutive numbers. Append is called by one goroutine at a time, and not before
// Replay has returned. Release may be called meanwhile.
type Log interface {
	// Append makes a frame durable, which follows the last one. The first HeaderSize bytes of buf are room for the log, and
	// the payload is behind them. ErrNoSpace changes nothing. Any other error leaves open whether the frame is durable, and
	// the log takes no further ones.
	Append(m Mark, buf []byte) error
	// Replay calls fn with all frames from a number on, and returns the last frame of the log, which is older if the log
	// ends before. An error of fn ends it.
	Replay(from uint64, fn func(Frame) error) (last Mark, err error)
	// Release tells that frames below a number will not be replayed any more.
	Release(below uint64) error
}

// Errors of a log.
var (
	// ErrNoSpace tells that a segment cannot be made because the disk is full.
	ErrNoSpace = errors.New("no room for a segment of the log")
	// ErrFailed refuses everything after an Append has failed.
	ErrFailed = errors.New("the log has failed before")
	// ErrOtherVersion refuses a log that another release has written.
	ErrOtherVersion = errors.New("another release has written the log")
	// ErrReleased tells that a log no longer has the frames from which it should be replayed.
	ErrReleased = errors.New("the log does not go back so far")
)
