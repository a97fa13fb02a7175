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
	conn := &deadlineRecorder{}
	body := &streamedBody{ReadCloser: reader, conn: conn}
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
	if string(content) != "piecepiecepiece" || len(conn.deadlines) < 3 {
		t.Errorf("%q was read under the deadlines %v", content, conn.deadlines)
	}
	for _, deadline := range conn.deadlines {
		if deadline.Before(before.Add(10 * time.Second)) {
			t.Errorf("a piece has until %v, from %v on", deadline, before)
		}
	}
}

// deadlineRecorder is a connection that records its write deadlines.
type deadlineRecorder struct {
	net.Conn
	deadlines []time.Time
}

// SetWriteDeadline implements net.Conn.
func (c *deadlineRecorder) SetWriteDeadline(at time.Time) error {
	c.deadlines = append(c.deadlines, at)
	return nil
}
