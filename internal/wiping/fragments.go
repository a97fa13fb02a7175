package wiping

import (
	"io"
	"net"
	"sync"
)

// fragment is how many bytes of a body go into one record of TLS. crypto/tls copies what
// it encrypts into a buffer of its own; where that has to grow for the record's end, the old
// one stays behind as garbage with the plaintext in it. So nothing longer than this is ever
// in one: less than the last four digits that everybody may see, and a part of a CVV that
// nothing tells from other numbers.
const fragment = 3

// fragments writes bodies in records of a fragment each, and all that they are encrypted to
// at once.
type fragments struct {
	secured io.Writer // writes one record for each Write of a few bytes
	wire    *wire     // what it writes to
}

// write implements the writing of a body. After an error the connection is of no use any
// more, and how much was written is a guess.
func (r *fragments) write(p []byte) (n int, err error) {
	r.wire.hold()
	for n < len(p) && err == nil {
		var some int
		some, err = r.secured.Write(p[n:min(n+fragment, len(p))])
		n += some
	}
	if failed := r.wire.release(); err == nil {
		err = failed
	}
	return n, err
}

// heldBytes is how much is held of what is encrypted before it is written.
const heldBytes = 32 << 10

// wire is a connection below crypto/tls that holds back what is written, for a while: it
// is encrypted.
type wire struct {
	net.Conn

	mu   sync.Mutex
	held []byte // guarded by mu; nil: nothing is held back
}

func (w *wire) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = make([]byte, 0, 1<<10)
}

// release writes what is held, and holds nothing back any more.
func (w *wire) release() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.held
	w.held = nil
	return w.flush(held)
}

func (w *wire) flush(held []byte) error {
	if len(held) == 0 {
		return nil
	}
	_, err := w.Conn.Write(held)
	return err
}

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held == nil {
		return w.Conn.Write(p)
	}
	if w.held = append(w.held, p...); len(w.held) > heldBytes {
		err := w.flush(w.held)
		w.held = w.held[:0]
		if err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
