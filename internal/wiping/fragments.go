package wiping

import (
	"io"
	"net"
	"sync"
)

// fragment is how many bytes of a body go into one TLS record. crypto/tls copies what it
// encrypts into its own buffer. If that buffer must grow for the record's end, the old buffer
// becomes garbage with the plaintext in it, so at most three bytes may ever be in it. Three bytes
// are less than the last four digits, which may be shown to anybody, and a part of a CVV can't be
// distinguished from other numbers.
const fragment = 3

// fragments writes bodies in records of a fragment each, and sends all the encrypted records
// together.
type fragments struct {
	secured io.Writer // the TLS connection, which writes one record for each Write of a few bytes
	wire    *wire     // the connection below it
}

// write writes a part of a body. After an error the connection can't be used any more, and the
// number of written bytes is a guess.
func (r *fragments) write(p []byte) (n int, err error) {
	r.wire.hold()
	for n < len(p) && err == nil {
		var written int
		written, err = r.secured.Write(p[n:min(n+fragment, len(p))])
		n += written
	}
	if releaseErr := r.wire.release(); err == nil {
		err = releaseErr
	}
	return n, err
}

// heldBytes is how many encrypted bytes are held back before they are written.
const heldBytes = 32 << 10

// wire is a connection below crypto/tls that can hold back written bytes for a while. They are
// encrypted.
type wire struct {
	net.Conn

	mu       sync.Mutex
	heldBack []byte // guarded by mu; nil: nothing is held back
}

func (w *wire) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heldBack = make([]byte, 0, 1<<10)
}

// release writes the bytes held back, and stops holding back.
func (w *wire) release() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	heldBack := w.heldBack
	w.heldBack = nil
	return w.flush(heldBack)
}

func (w *wire) flush(heldBack []byte) error {
	if len(heldBack) == 0 {
		return nil
	}
	_, err := w.Conn.Write(heldBack)
	return err
}

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.heldBack == nil {
		return w.Conn.Write(p)
	}
	if w.heldBack = append(w.heldBack, p...); len(w.heldBack) > heldBytes {
		err := w.flush(w.heldBack)
		w.heldBack = w.heldBack[:0]
		if err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
