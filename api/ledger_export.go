package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/internal/export"
	"mizan/ledger"
)

// Bounds of exports: each reads a journal, for as long as its reader takes.
const (
	maxExports  = 4         // at once
	exportTime  = time.Hour // from the first byte to the last
	exportStall = writeTimeout
)

var (
	errExportStops = errors.New("the service is stopping")
	errExportLong  = errors.New("the export takes too long")
)

// exports are those under way. They outlive their handlers: what is written goes
// through a pipe to the connection, so that neither waits with more than a few pages.
type exports struct {
	stop    context.Context
	end     context.CancelCauseFunc
	running chan struct{}

	mu      sync.Mutex
	ended   bool // guarded by mu: none begins any more
	writing sync.WaitGroup
}

func newExports() *exports {
	x := &exports{running: make(chan struct{}, maxExports)}
	x.stop, x.end = context.WithCancelCause(context.Background())
	return x
}

// begin takes a place among those that run; whoever has got it calls leave.
func (x *exports) begin() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return false
	}
	select {
	case x.running <- struct{}{}:
		x.writing.Add(1)
		return true
	default:
		return false
	}
}

func (x *exports) leave() {
	<-x.running
	x.writing.Done()
}

// close breaks off all exports, whose readers see that, and waits until none reads
// the journal.
func (x *exports) close() {
	x.mu.Lock()
	x.ended = true
	x.mu.Unlock()
	x.end(errExportStops)
	x.writing.Wait()
}

// exportQuery is what is asked for.
type exportQuery struct {
	*query
	format   export.Format
	prefix   string
	from, to ledger.Micros
}

func (s *Server) newExportQuery(c *call) (*exportQuery, error) {
	q := &exportQuery{query: queryOf(c.RequestCtx, "format", "env", "from", "to", "prefix")}
	var known bool
	if q.format, known = export.ParseFormat(q.text("format")); !known {
		q.problems.add("format", "format must be one of "+strings.Join(export.Names(), ", "))
	}
	q.env()
	now := s.cfg.Clock.Now()
	q.from = q.moment("from", now, false)
	q.to = q.moment("to", now, true)
	if q.from > q.to {
		q.problems.add("from", "from must not be after to")
	}
	q.prefix = q.text("prefix")
	return q, q.problems.err()
}

// moment is a bound of the range, itself included: an RFC 3339 time, or a day, which
// is meant from its first instant to its last. Nothing is booked before 1970 or after
// now, and who asks for a range that has not ended would take the export for whole.
func (q *exportQuery) moment(name string, now time.Time, end bool) ledger.Micros {
	absent := ledger.Micros(0)
	if end {
		absent = forever
	}
	said, sent := q.values[name]
	if !sent {
		return absent
	}
	at, err := time.Parse(time.DateOnly, said)
	day := err == nil
	if !day {
		at, err = time.Parse(time.RFC3339Nano, said)
	}
	switch {
	case err != nil:
		q.problems.add(name, name+" must be an RFC 3339 time or a day")
	case at.Before(time.Unix(0, 0)):
		q.problems.add(name, name+" must not be before 1970")
	case at.After(now):
		q.problems.add(name, name+" must not be after now")
	case end && day && ledger.DateOf(at) != ledger.DateOf(now):
		return ledger.MicrosOf(at.AddDate(0, 0, 1)) - 1
	case end && (day || ledger.MicrosOf(at) == ledger.MicrosOf(now)):
		return forever // a clock that stands still books microseconds after itself
	default:
		return ledger.MicrosOf(at)
	}
	return absent
}

// answer is GET /ledger/export: a stream without a length. One that ends before its
// time breaks the connection, so that nobody takes it for whole.
func (x *exports) answer(s *Server, c *call) error {
	q, err := s.newExportQuery(c)
	if err != nil {
		return err
	}
	c.Response.Header.SetContentType(q.format.MediaType())
	c.Response.Header.SetCanonical(headerCache, valueNoStore)
	c.Response.Header.SetCanonical(headerNoSniff, valueNoSniff)
	c.Response.Header.Set(fiber.HeaderContentDisposition, `attachment; filename="ledger-`+q.env().String()+"."+q.format.Extension()+`"`)
	c.Response.ImmediateHeaderFlush = true // a workbook begins late, but it does begin
	if c.IsHead() {
		return nil
	}
	if !x.begin() {
		c.Response.Header.Del(fiber.HeaderContentDisposition)
		return unavailable("too many exports are under way")
	}
	reader, writer := io.Pipe()
	go x.write(s, q, c.who.Org, writer)
	c.Response.SetBodyStream(&exportBody{PipeReader: reader, to: c.Conn()}, -1)
	return nil
}

// write writes the export into the pipe and ends it: with an error, the reader's end
// comes without the mark of a whole answer.
func (x *exports) write(s *Server, q *exportQuery, org ledger.ID, out *io.PipeWriter) {
	defer x.leave()
	ctx, cancel := context.WithTimeoutCause(x.stop, exportTime, errExportLong)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = out.CloseWithError(context.Cause(ctx)) })()
	var err error
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Log.Error("panic in an export", "stack", string(debug.Stack()))
			err = errors.New("panic")
		}
		_ = out.CloseWithError(err)
	}()
	b, err := s.bookOf(ctx, q, org)
	if err == nil {
		_, err = export.Write(out, q.format, b)
	}
	if err != nil && !errors.Is(err, io.ErrClosedPipe) && ctx.Err() == nil {
		s.cfg.Log.LogAttrs(ctx, slog.LevelError, "an export failed", slog.String("format", q.format.String()), slog.Any("error", err))
	}
}

// exportBody is what the transport sends. The bound on writing counts from the last
// piece: a large export may take long, but not a reader that has stopped reading.
type exportBody struct {
	*io.PipeReader
	to net.Conn
}

// Read implements io.Reader.
func (b *exportBody) Read(p []byte) (int, error) {
	n, err := b.PipeReader.Read(p)
	if n > 0 {
		if late := b.to.SetWriteDeadline(time.Now().Add(exportStall)); late != nil {
			return 0, late
		}
	}
	return n, err
}
