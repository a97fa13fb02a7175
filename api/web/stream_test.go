package web

import (
	"io"
	"net"
	"testing"
	"time"
)

// The write deadline counts from the last piece, so that an export may take longer than one
// deadline.
func TestLongExportIsNotCutOff(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	conn := &bounded{}
	body := &streamedBody{ReadCloser: reader, to: conn}
	go func() {
		for range 3 {
			_, _ = writer.Write([]byte("piece"))
		}
		_ = writer.Close()
	}()
	before := time.Now()
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	if string(content) != "piecepiecepiece" || len(conn.bounds) < 3 {
		t.Errorf("%q was read under the bounds %v", content, conn.bounds)
	}
	for _, at := range conn.bounds {
		if at.Before(before.Add(10 * time.Second)) {
			t.Errorf("a piece has until %v, from %v on", at, before)
		}
	}
}

// bounded records its write deadlines.
type bounded struct {
	net.Conn
	bounds []time.Time
}

// SetWriteDeadline implements net.Conn.
func (c *bounded) SetWriteDeadline(at time.Time) error {
	c.bounds = append(c.bounds, at)
	return nil
}
