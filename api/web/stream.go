package web

import (
	"bytes"
	"io"
	"net"
	"time"

	"mizan/ledger"
)

// writeTimeout is how long a caller may take to read a piece of an answer.
const WriteTimeout = 30 * time.Second

// streamHead sets the headers of an answer of any length. They go out before its first
// byte, which may be long in coming.
func (req *Request) StreamHead(media string) {
	req.Response.Header.SetContentType(media)
	req.Response.Header.SetCanonical(HeaderCache, ValueNoStore)
	req.Response.Header.SetCanonical(HeaderNoSniff, ValueNoSniff)
	req.Response.ImmediateHeaderFlush = true
}

// firstPiece is how much of a body is made before it is begun: as much as an export
// writes at once.
const firstPiece = 64 << 10

// begun is a body of which the first piece is there, or all of it: what fails before is
// the error, and can be answered as one. The body that it was given is closed then.
func Begun(body io.ReadCloser) (io.ReadCloser, error) {
	first := make([]byte, firstPiece)
	n, err := io.ReadFull(body, first)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		_ = body.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(first[:n]), body), body}, nil
}

// streams refuses a caller who can't be told how a body of any length ends: HTTP/1.0
// has no chunks, and takes a broken connection for the end.
func (req *Request) Streams() error {
	if req.Request.Header.IsHTTP11() {
		return nil
	}
	return ledger.Refuse("api.streams", versionNotSupported, "this answer needs HTTP/1.1")
}

// stream sends a body as it is read. One that ends with an error breaks the
// connection, so that nobody takes it for whole.
func (req *Request) Stream(body io.ReadCloser) {
	req.Response.SetBodyStream(&streamed{ReadCloser: body, to: req.Conn()}, -1)
}

// streamed is what the transport sends. The bound on writing counts from the last
// piece: a large answer may take long, but not a reader that has stopped reading.
type streamed struct {
	io.ReadCloser
	to net.Conn
}

// Read implements io.Reader.
func (b *streamed) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		if late := b.to.SetWriteDeadline(time.Now().Add(WriteTimeout)); late != nil {
			return 0, late
		}
	}
	return n, err
}
