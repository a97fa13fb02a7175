package wiping

import (
	"io"
	"net"
	"sync"
)

// fragmentBytes is the number of bytes of a body in one TLS record. crypto/tls copies the plaintext of a record into its own
// buffer. If crypto/tls must enlarge this buffer for the end of the record, the old buffer becomes garbage that still contains
// the plaintext. So a record has only three bytes of plaintext. Three bytes of a card number are harmless, because even its
// last four digits may be shown to anybody. Three digits of a CVV are harmless, because they look like any other digits.
const fragmentBytes = 3

// fragmentWriter writes bodies in TLS records of fragmentBytes bytes. The encrypted records of one write are sent together.
type fragmentWriter struct {
	tlsConn io.Writer  // TLS connection, which makes one record of each short Write
	batches *batchConn // connection below tlsConn
}

// write writes a part of a body. If write returns an error, the connection can't be used any more, and n is only an estimate of
// the number of sent bytes.
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

// maxBatchBytes bounds the memory of a batch. When a batch has more than maxBatchBytes encrypted bytes, they are sent before
// the batch ends.
const maxBatchBytes = 32 << 10

// batchConn is the connection to which crypto/tls writes encrypted bytes. It can collect these bytes in a batch and send them
// together.
type batchConn struct {
	net.Conn

	mu    sync.Mutex
	batch []byte // collected bytes, guarded by mu; nil if bytes are sent immediately
}

func (b *batchConn) startBatch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batch = make([]byte, 0, 1<<10)
}

// sendBatch sends the bytes of the batch and ends the batch. Bytes that are written later are sent immediately.
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
