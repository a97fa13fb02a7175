package wiping

import (
	"io"
	"net"
	"sync"
)

// fragmentBytes is how many bytes of a body go into one TLS record. crypto/tls copies what it
// encrypts into its own buffer. If that buffer must grow for the record's end, the old buffer
// becomes garbage with the plaintext in it, so it may never contain more than three bytes of a body. Three
// bytes are less than a card's last four digits, which may be shown to anybody, and digits of a CVV can't be
// told from other digits.
const fragmentBytes = 3

// fragmentWriter writes bodies in TLS records of fragmentBytes each, and sends the encrypted records of a
// write together.
type fragmentWriter struct {
	tlsConn io.Writer  // the TLS connection, which writes one record for each Write of a few bytes
	batches *batchConn // the connection below tlsConn
}

// write writes a part of a body. After an error the connection can't be used any more, and the
// number of written bytes is a guess.
func (f *fragmentWriter) write(p []byte) (n int, err error) {
	f.batches.startBatch()
	for n < len(p) && err == nil {
		var written int
		written, err = f.tlsConn.Write(p[n:min(n+fragmentBytes, len(p))])
		n += written
	}
	if sendErr := f.batches.sendBatch(); err == nil {
		err = sendErr
	}
	return n, err
}

// maxBatchBytes is how many encrypted bytes are held back at most.
const maxBatchBytes = 32 << 10

// batchConn is a connection below crypto/tls. It can hold back the encrypted bytes that crypto/tls writes, in
// order to send them together.
type batchConn struct {
	net.Conn

	mu    sync.Mutex
	batch []byte // bytes held back, guarded by mu; nil: they are written immediately
}

func (b *batchConn) startBatch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batch = make([]byte, 0, 1<<10)
}

// sendBatch writes the bytes held back. Later bytes are written immediately.
func (b *batchConn) sendBatch() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := b.batch
	b.batch = nil
	return b.flush(batch)
}

func (b *batchConn) flush(batch []byte) error {
	if len(batch) == 0 {
		return nil
	}
	_, err := b.Conn.Write(batch)
	return err
}

// Write implements net.Conn.
func (b *batchConn) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.batch == nil {
		return b.Conn.Write(p)
	}
	if b.batch = append(b.batch, p...); len(b.batch) > maxBatchBytes {
		err := b.flush(b.batch)
		b.batch = b.batch[:0]
		if err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
