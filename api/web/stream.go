package web

import (
	"bytes"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"mizan/ledger"
)

// WriteTimeout is how long a caller may take to read one piece of a response.
const WriteTimeout = 30 * time.Second

// SetStreamHeaders sets the headers of a response of unknown length. The headers are sent at once, because the first byte
// of the body may take a while.
func (req *Request) SetStreamHeaders(mediaType string) {
	req.Response.Header.SetContentType(mediaType)
	req.Response.Header.SetCanonical(HeaderCache, ValueNoStore)
	req.Response.Header.SetCanonical(HeaderNoSniff, ValueNoSniff)
	req.Response.ImmediateHeaderFlush = true
}

// firstPieceSize is how many bytes of a body are produced before the response begins: as many as an
// export writes at a time.
const firstPieceSize = 64 << 10

// AwaitFirstPiece waits for the first piece of a body, so that an error in this piece can still get an error status. It
// returns a reader of the whole body. If there is an error, it closes the body.
func AwaitFirstPiece(body io.ReadCloser) (io.ReadCloser, error) {
	piece := make([]byte, firstPieceSize)
	n, err := io.ReadFull(body, piece)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		_ = body.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(piece[:n]), body), body}, nil
}

// RequireChunks refuses a caller that can't detect a broken response: HTTP/1.0 has no chunks, so
// its clients take a broken connection for the end of the body.
func (req *Request) RequireChunks() error {
	if req.Request.Header.IsHTTP11() {
		return nil
	}
	return ledger.Refuse("web.RequireChunks", VersionNotSupported, "this answer needs HTTP/1.1")
}

// Stream sends each piece of a body as soon as the piece was read. If the body returns an error, the connection is broken,
// so that no caller takes the response for complete.
func (req *Request) Stream(body io.ReadCloser) { Stream(req.RequestCtx, body) }

// Stream is like the method Stream of a Request.
func Stream(ctx *fasthttp.RequestCtx, body io.ReadCloser) {
	ctx.Response.SetBodyStream(&streamedBody{ReadCloser: body, conn: ctx.Conn()}, -1)
}

// EndedStream is the body of a response whose length is known only after the whole response was sent.
type EndedStream interface {
	// OnEnd sets a function that is called once, when the response has ended, with the number of bytes that were sent.
	OnEnd(func(sent int64))
}

// streamedBody is the body that fasthttp sends. Each piece gets a new write deadline: a large response may take long, but a
// caller that has stopped reading is disconnected.
type streamedBody struct {
	io.ReadCloser
	conn  net.Conn
	sent  int64
	onEnd func(sent int64) // nil: none
}

// OnEnd implements EndedStream.
func (b *streamedBody) OnEnd(fn func(sent int64)) { b.onEnd = fn }

// Close implements io.Closer.
func (b *streamedBody) Close() error {
	err := b.ReadCloser.Close()
	if fn := b.onEnd; fn != nil {
		b.onEnd = nil
		fn(b.sent)
	}
	return err
}

// Read implements io.Reader.
func (b *streamedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.sent += int64(n)
	if n > 0 {
		if deadlineErr := b.conn.SetWriteDeadline(time.Now().Add(WriteTimeout)); deadlineErr != nil {
			return 0, deadlineErr
		}
	}
	return n, err
}
