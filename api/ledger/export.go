package ledgerapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/ledger/export"
	"mizan/api/web"
	"mizan/api/web/journal"
	"mizan/internal/fair"
	"mizan/ledger"
	"mizan/ledger/money"
)

// Limits of exports. Without limits, slow readers could keep any number of exports running.
const (
	maxExports                = 4         // exports at once
	maxExportsPerOrganization = 2         // exports of one organization at once; the rest is for other organizations
	exportTime                = time.Hour // longest time of an export from the first byte to the last
)

// Reasons for refusing an export, or for ending it early.
var (
	errExportStops error = unavailable("the service is stopping")
	errExportLong  error = unavailable("the export takes too long")
	errExports     error = unavailable("too many exports are under way").By(ledger.LimitExports)
	errExportsOf   error = unavailable("too many exports of this organization are under way").By(ledger.LimitExports)
)

func unavailable(reason string) *ledger.Refusal {
	return ledger.Refuse("ledger.export", ledger.Unavailable, "%s", reason)
}

// exports counts and ends the running exports. An export continues after its handler has returned: it writes into a pipe, from
// which the connection reads. So neither the export nor the connection buffers more than a few pages.
type exports struct {
	stop context.Context
	end  context.CancelCauseFunc

	slots *fair.Semaphore[ledger.ID] // counts the running exports, by organization

	mu      sync.Mutex
	ended   bool // guarded by mu; if true, no further export begins
	writing sync.WaitGroup
}

func newExports() *exports {
	x := &exports{slots: fair.NewSemaphore[ledger.ID](maxExports, maxExportsPerOrganization)}
	x.stop, x.end = context.WithCancelCause(context.Background())
	return x
}

// begin counts one more running export of the organization. If the export must not run, begin returns the reason. If begin
// returns no error, the caller must call leave when the export has ended.
func (x *exports) begin(org ledger.ID) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return errExportStops
	}
	switch x.slots.Enter(org) {
	case fair.ErrCrowded:
		return errExportsOf
	case fair.ErrFull:
		return errExports
	}
	x.writing.Add(1)
	return nil
}

func (x *exports) leave(org ledger.ID) {
	x.slots.Leave(org)
	x.writing.Done()
}

// close ends all exports and waits until they have stopped reading the journal.
func (x *exports) close() {
	x.mu.Lock()
	x.ended = true
	x.mu.Unlock()
	x.end(errExportStops)
	x.writing.Wait()
}

// Range selects the entries of an export.
type Range struct {
	Env      money.Env
	Prefix   string        // only entries with an account whose path begins with this prefix; empty: all entries
	From, To ledger.Micros // bounds of the booked time, both included
	Since    string        // From, as the caller wrote it
	Until    string        // To, as the caller wrote it
}

// readExport reads the format and the range from the query.
func (h *Handlers) readExport(req *web.Request) (export.Format, *Range, error) {
	q := web.QueryOf(req.RequestCtx, "format", "env", "from", "to", "prefix")
	format, known := export.ParseFormat(q.Text("format"))
	if !known {
		q.Problems.Add("format", "format must be one of "+strings.Join(export.Names(), ", "))
	}
	r := &Range{Env: q.Env(), Since: q.Text("from"), Until: q.Text("to"), Prefix: q.Text("prefix")}
	now := h.cfg.Clock.Now()
	newest, err := h.newest(r, req.Principal.Org, now)
	if err != nil {
		return format, nil, err
	}
	r.From = exportBound(q, "from", now, newest, false)
	r.To = exportBound(q, "to", now, newest, true)
	if r.From > r.To {
		q.Problems.Add("from", "from must not be after to")
	}
	return format, r, q.Problems.Err()
}

// newest returns the latest time that is allowed as a bound of the range: now or, if it is later, the booked time of the last
// event. If the clock stands still or is read more often than it advances, booked times are later than the clock.
func (h *Handlers) newest(r *Range, org ledger.ID, now time.Time) (ledger.Micros, error) {
	newest := ledger.MicrosOf(now)
	if r.Since == "" && r.Until == "" {
		return newest, nil
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	last, err := journal.LastBooked(view, org, now)
	return max(newest, last), err
}

// exportBound reads an inclusive bound of the range: an RFC 3339 time or a whole day. A bound after the newest time is refused,
// because such a range has not ended yet, but its export would look complete to the reader.
func exportBound(q *web.Query, name string, now time.Time, newest ledger.Micros, end bool) ledger.Micros {
	absent := ledger.Micros(0)
	if end {
		absent = web.Forever
	}
	text, sent := q.Sent(name)
	if !sent {
		return absent
	}
	at, err := time.Parse(time.DateOnly, text)
	day := err == nil
	if !day {
		at, err = web.ParseTime(text)
	}
	switch {
	case err != nil:
		q.Problems.Add(name, name+" must be an RFC 3339 time or a day")
	case at.Before(time.Unix(0, 0)):
		q.Problems.Add(name, name+" must not be before 1970")
	case ledger.MicrosOf(at) > newest:
		q.Problems.Add(name, name+" must not be after now")
	case end && day && ledger.DateOf(at) < ledger.DateOf(now):
		return ledger.MicrosOf(at.AddDate(0, 0, 1)) - 1
	case end && (day || web.ThroughNow(ledger.MicrosOf(at), now) == web.Forever):
		return web.Forever
	default:
		return ledger.MicrosOf(at)
	}
	return absent
}

// export is GET /ledger/export. The response is a stream whose length is not known when it begins.
func (h *Handlers) export(req *web.Request) error {
	if err := req.RequireChunks(); err != nil {
		return err
	}
	format, r, err := h.readExport(req)
	if err != nil {
		return err
	}
	var body io.ReadCloser
	estimated := int64(0)
	if req.IsHead() {
		estimated, err = h.estimateExport(format, r, req.Principal.Org)
	} else {
		body, estimated, err = h.startExport(format, r, req.Principal.Org)
	}
	if err != nil {
		return err
	}
	req.SetStreamHeaders(format.MediaType())
	if estimated > 0 {
		req.Response.Header.Set("X-Estimated-Bytes", strconv.FormatInt(estimated, 10))
	}
	req.Response.Header.Set(fiber.HeaderContentDisposition, `attachment; filename="ledger-`+r.Env.String()+"."+format.Extension()+`"`)
	if body != nil {
		req.Stream(body)
	}
	return nil
}

// estimateExport returns the same estimate of an export's length in bytes as startExport, but starts no export. While it reads
// samples, it counts as a running export.
func (h *Handlers) estimateExport(format export.Format, r *Range, org ledger.ID) (int64, error) {
	if err := h.exports.begin(org); err != nil {
		return 0, err
	}
	defer h.exports.leave(org)
	b, err := h.Book(h.exports.stop, r, org)
	if err != nil {
		return 0, err
	}
	return b.EstimateBytes(format)
}

// startExport begins an export and waits for its first piece. It also returns the estimated length in bytes, or 0 if there is
// no estimate.
func (h *Handlers) startExport(format export.Format, r *Range, org ledger.ID) (body io.ReadCloser, estimated int64, err error) {
	if err := h.exports.begin(org); err != nil {
		return nil, 0, err
	}
	reader, writer := io.Pipe()
	go h.writeExport(format, r, org, writer, &estimated)
	body, err = web.AwaitFirstPiece(reader)
	return body, estimated, err
}

// writeExport writes the export into the pipe and closes the pipe. After an error the response has no end mark, so that the
// reader knows that the export is incomplete. writeExport sets *estimated before it writes the first piece.
func (h *Handlers) writeExport(format export.Format, r *Range, org ledger.ID, out *io.PipeWriter, estimated *int64) {
	defer h.exports.leave(org)
	ctx, cancel := context.WithTimeoutCause(h.exports.stop, exportTime, errExportLong)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = out.CloseWithError(context.Cause(ctx)) })()
	var err error
	defer func() {
		if p := recover(); p != nil {
			h.cfg.Log.Error("panic in an export", "stack", string(debug.Stack()))
			err = errors.New("panic")
		}
		_ = out.CloseWithError(err)
	}()
	b, err := h.Book(ctx, r, org)
	if err == nil {
		*estimated, err = b.EstimateBytes(format)
	}
	if err == nil {
		_, err = export.Write(out, format, b.Book)
	}
	if err != nil && !errors.Is(err, io.ErrClosedPipe) && ctx.Err() == nil {
		h.cfg.Log.LogAttrs(ctx, slog.LevelError, "an export failed", slog.String("format", format.String()), slog.Any("error", err))
	}
}
