package wiping

import (
	"io"
	"net"
	"sync"
)

// fragmentBytes is the number of bytes of a body in one TLS record. crypto/tls copies what it encrypts into its own buffer.
// If it must enlarge this buffer for the end of the record, the old buffer becomes garbage with the plaintext in it. So the
// plaintext may never be longer than three bytes. Three bytes are less than the last four digits of a card, which anybody may
// see; and nobody can tell three digits of a CVV from other digits.
const fragmentBytes = 3

// fragmentWriter writes bodies in TLS records of fragmentBytes each, and sends the encrypted records of a
// write together.
type fragmentWriter struct {
	tlsConn io.Writer  // the TLS connection; it makes one record of each Write of a few bytes
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

// maxBatchBytes is the number of encrypted bytes above which a batch is written before its end.
const maxBatchBytes = 32 << 10

// batchConn is a connection below crypto/tls. It can hold back the encrypted bytes that crypto/tls writes, in
// order to send them together.
type batchConn struct {
	net.Conn

	mu    sync.Mutex
	batch []byte // bytes held back, guarded by mu; nil: nothing is held back now
}

func (b *batchConn) startBatch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batch = make([]byte, 0, 1<<10)
}

// sendBatch writes the bytes that were held back. Bytes that come later are written immediately.
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
