package body

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/api/web/conn"
	"mizan/internal/source"
	"mizan/ledger"
)

// Bounds of request bodies.
const (
	maxBody            = 1 << 20         // bytes of a body from a caller whose credential was checked
	maxOpenBody        = 64 << 10        // bytes of a body on a route that anyone may call
	FirstBuffer        = 4 << 10         // bytes of a body that are read without being reserved in a budget
	Grace              = 5 * time.Second // time for the first byte; it is also added to the time that a body may take at minRate
	minRate            = 8 << 10         // bytes of a body that have to arrive each second
	maxDiscard         = 64 << 10        // bytes of a refused body that are read so that the connection can be reused
	discardTime        = time.Second     // how long reading the rest of a refused body may take
	AuthenticatedBytes = 128 << 20       // bytes of bodies held at once for callers whose credentials were checked
	AnonymousBytes     = 32 << 20        // bytes of bodies held at once on routes that anyone may call
	Shares             = 4               // one organization, or one address, gets at most 1/Shares of a budget
)

// contextKey is the key under which the context of a request stores the request's buffer.
const contextKey = "body"

// buffer holds the body of one request until the response.
type buffer struct {
	buf      []byte // the bytes that have arrived, first in the field initial, later in memory that is reserved in the budget
	initial  [FirstBuffer]byte
	budget   *budget
	owner    owner
	reserved int // bytes that are reserved in the budget
}

var bufferPool = sync.Pool{New: func() any { return new(buffer) }}

// Bodies reads the bodies of requests. Memory for a body is reserved in one of two budgets: one for callers
// whose credentials were checked, and one for all others.
type Bodies struct {
	proxies                  *web.Proxies
	authenticated, anonymous *budget
	arrivals                 arrivals
}

// New makes a reader of bodies. It holds at most authenticatedBytes at once for callers whose credentials
// were checked, and at most anonymousBytes for all others.
func New(proxies *web.Proxies, authenticatedBytes, anonymousBytes int) *Bodies {
	return &Bodies{proxies: proxies, authenticated: newBudget(authenticatedBytes), anonymous: newBudget(anonymousBytes)}
}

// owner is the caller for whom memory is reserved. On a route that anyone may call, it is the caller's network (package
// source). On all other routes it is the caller's organization; a caller with the administration token has none, so the owner
// is zero.
type owner struct {
	org    ledger.ID
	source netip.Prefix
}

// budget bounds the bytes of bodies that are held at once, in total and for one owner.
type budget struct {
	total, maxOfOwner int

	mu      sync.Mutex
	used    int           // guarded by mu
	byOwner map[owner]int // guarded by mu; owners without bytes are left out
}

func newBudget(total int) *budget {
	return &budget{total: total, maxOfOwner: total / Shares, byOwner: make(map[owner]int)}
}

// reserve reserves n bytes for the owner. If that would exceed a bound, it reserves nothing and returns
// false.
func (b *budget) reserve(o owner, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.total || b.byOwner[o]+n > b.maxOfOwner {
		return false
	}
	b.used += n
	b.byOwner[o] += n
	return true
}

func (b *budget) release(o owner, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.byOwner[o] -= n; b.byOwner[o] == 0 {
		delete(b.byOwner, o)
	}
}

func (b *budget) heldBytes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// HeldBytes returns how many bytes of memory are held for bodies that do not fit into FirstBuffer bytes.
func (b *Bodies) HeldBytes() int { return b.authenticated.heldBytes() + b.anonymous.heldBytes() }

// boundOf returns the largest body of the route, in bytes.
func boundOf(route *web.Route) int {
	switch {
	case route.MaxBody > 0:
		return route.MaxBody
	case route.Access.Callers == web.Anyone:
		return maxOpenBody
	}
	return maxBody
}

// Read reads the whole body into Request.Body. It is called after the caller is known and
// before the request is carried out, so that a caller that sends slowly occupies only its own connection.
func (bodies *Bodies) Read(req *web.Request) error {
	budget, owner := bodies.budgetOf(req)
	return bodies.read(req.RequestCtx, budget, owner, boundOf(req.Route))
}

// ReadAnonymous reads the whole body, of at most bound bytes, before the caller is known. The memory is one of the budget for
// routes that anyone may call.
func (bodies *Bodies) ReadAnonymous(ctx *fasthttp.RequestCtx, bound int) error {
	return bodies.read(ctx, bodies.anonymous, owner{source: source.Of(bodies.proxies.Source(ctx))}, bound)
}

func (bodies *Bodies) read(req *fasthttp.RequestCtx, from *budget, by owner, bound int) error {
	const op = "body.read"
	stream := req.RequestBodyStream()
	if stream == nil {
		return nil
	}
	length := req.Request.Header.ContentLength()
	if length > bound {
		return tooLarge(bound)
	}
	b := bufferPool.Get().(*buffer)
	b.budget, b.owner = from, by
	req.SetUserValue(contextKey, b)
	var headers fasthttp.RequestHeader
	chunked := length < 0
	if chunked {
		req.Request.Header.CopyTo(&headers)
	}
	err := b.fill(stream, length, bound, req.Conn(), &bodies.arrivals)
	if err == nil && chunked && conn.HasEnded(req.Conn()) {
		err = io.ErrUnexpectedEOF
	}
	if chunked {
		// fasthttp adds trailers to the headers. Trailers arrive after the caller was admitted, and proxies do not check them, so
		// they are dropped.
		headers.CopyTo(&req.Request.Header)
	}
	if err == nil {
		req.Request.SetBodyRaw(b.buf)
		return nil
	}
	var refusal *ledger.Refusal
	if errors.As(err, &refusal) {
		return err
	}
	conn.HangUp(req) // it is unknown where on the connection the next request begins
	if timedOut(err) && bodies.arrivals.haveEnded() {
		return ledger.Refuse(op, ledger.Unavailable, "the server ends while the request arrives: nothing was done")
	}
	if timedOut(err) {
		return ledger.Refuse(op, web.RequestTimeout, "the request took too long to arrive")
	}
	return ledger.Refuse(op, web.BadRequest, "the request could not be read")
}

// budgetOf returns the budget for the body of a request, and the owner for whom the budget reserves memory.
func (bodies *Bodies) budgetOf(req *web.Request) (*budget, owner) {
	if req.Route.Access.Callers == web.Anyone {
		return bodies.anonymous, owner{source: source.Of(bodies.proxies.Source(req.RequestCtx))}
	}
	return bodies.authenticated, owner{org: req.Principal.Org}
}

func tooLarge(bound int) error {
	return ledger.Refuse("body.Read", web.PayloadTooLarge, "the body is larger than %d bytes", bound)
}

// timedOut tells whether a read ended at its deadline. fasthttp has a separate error for
// trailers.
func timedOut(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, fasthttp.ErrTimeout)
}

// fill reads length bytes or, if length is negative, everything up to the end of the stream. If the body is too large or the
// budget is used up, the error is a *ledger.Refusal. Any other error comes from the connection or from the parser of chunks.
func (b *buffer) fill(from io.Reader, length, bound int, conn net.Conn, slow *arrivals) error {
	b.buf = b.initial[:0]
	isSlow := false
	defer func() {
		if isSlow {
			slow.remove(conn)
		}
	}()
	for began := time.Now(); len(b.buf) != length; {
		if len(b.buf) == cap(b.buf) {
			if err := b.grow(length, bound); err != nil {
				return err
			}
		}
		if len(b.buf) > 0 { // the first read already has a deadline, see LimitFirstByteWait
			if isSlow = isSlow || slow.add(conn); !isSlow {
				return os.ErrDeadlineExceeded
			}
			allowed := Grace + time.Duration(len(b.buf))*time.Second/minRate
			if err := conn.SetReadDeadline(began.Add(allowed)); err != nil {
				return err
			}
		}
		n, err := from.Read(b.buf[len(b.buf):cap(b.buf)])
		b.buf = b.buf[:len(b.buf)+n]
		switch {
		case err == io.EOF && length >= 0 && len(b.buf) != length:
			return io.ErrUnexpectedEOF // fasthttp reports a broken connection as the end of the body
		case err == io.EOF && len(b.buf) > bound:
			return tooLarge(bound)
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// grow doubles the capacity of the buffer, up to the largest size that the body may have.
func (b *buffer) grow(length, bound int) error {
	if len(b.buf) > bound {
		return tooLarge(bound)
	}
	size := min(2*cap(b.buf), bound+1) // one byte more than the bound, so that a body that is too long is noticed
	if length >= 0 {
		size = min(size, length)
	}
	if !b.budget.reserve(b.owner, size) {
		return ledger.Refuse("body.Read", ledger.Unavailable, "too many large requests are being read").By(ledger.LimitBodies)
	}
	oldBuf, oldReserved := b.buf, b.reserved
	b.buf, b.reserved = append(make([]byte, 0, size), oldBuf...), size
	clear(oldBuf)
	b.budget.release(b.owner, oldReserved)
	return nil
}

// release wipes the buffer and returns its bytes to the budget.
func (b *buffer) release() {
	clear(b.buf)
	if b.reserved > 0 {
		b.budget.release(b.owner, b.reserved)
	}
	b.buf, b.budget, b.owner, b.reserved = nil, nil, owner{}, 0
	bufferPool.Put(b)
}

// Wipe overwrites the part of a request's body that was read.
func Wipe(ctx *fasthttp.RequestCtx) {
	b, hasBuffer := ctx.UserValue(contextKey).(*buffer)
	if !hasBuffer {
		return
	}
	if !ctx.Request.IsBodyStream() {
		ctx.Request.SetBodyRaw(nil)
	}
	ctx.RemoveUserValue(contextKey)
	b.release()
}

// SkipRest keeps the unread rest of a body from being parsed as the next request: it discards a
// short rest, and closes the connection if the rest is long.
func SkipRest(ctx *fasthttp.RequestCtx) {
	if stream := ctx.RequestBodyStream(); stream != nil && !conn.WasHungUp(ctx) && !discardRest(ctx, stream) {
		conn.HangUp(ctx)
	}
}

// discardRest reads the rest of a refused body. It returns false if the rest is long or does not arrive soon.
func discardRest(ctx *fasthttp.RequestCtx, stream io.Reader) bool {
	if ctx.Request.Header.ContentLength() > maxDiscard || ctx.Conn().SetReadDeadline(time.Now().Add(discardTime)) != nil {
		return false
	}
	_, err := conn.Discard(stream, maxDiscard)
	return err == io.EOF
}

// LimitFirstByteWait bounds the wait for the first byte of an announced body. The method Read bounds the wait for the rest of
// the body.
func LimitFirstByteWait(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
	if length := h.ContentLength(); length > 0 || length == chunkedLength {
		c.ReadTimeout = Grace
	}
	return c
}

// chunkedLength is the length that fasthttp reports for a chunked body.
const chunkedLength = -1
