package api

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/ledger"
)

// Bounds of forwarding.
const (
	maxTaken      = 64 << 10 // bytes of a body that are read before it is forwarded; a longer one is forwarded as it arrives
	maxForwarding = 64 << 20 // bytes of bodies that are being forwarded at once
	maxPeerConns  = 4096     // connections to each other node
	peerIdle      = time.Minute
	answerSpare   = 20 * time.Second // how much longer than FrontConfig.CreateWait another node may take for the next piece of an answer
)

// Headers with which a node asserts to another node what it knows about a request. A client's headers with these names are
// removed.
var (
	assertedShard     = []byte("X-Mizan-Asserted-Shard")
	assertedSource    = []byte("X-Mizan-Asserted-Source")
	assertedSecure    = []byte("X-Mizan-Asserted-Secure")
	assertedOperator  = []byte("X-Mizan-Asserted-Operator")
	assertedRequestID = []byte("X-Mizan-Asserted-Request-Id")
	headerNotLeader   = []byte("X-Mizan-Not-Leader")

	assertions = [][]byte{assertedShard, assertedSource, assertedSecure, assertedOperator, assertedRequestID}
)

func removeAssertions(h *fasthttp.RequestHeader) {
	for _, name := range assertions {
		h.DelBytes(name)
	}
}

// peer returns the client for requests to another node.
func (f *Front) peer(node string) *fasthttp.HostClient {
	if client, ok := f.peers.Load(node); ok {
		return client.(*fasthttp.HostClient)
	}
	client, _ := f.peers.LoadOrStore(node, f.newPeer(node))
	return client.(*fasthttp.HostClient)
}

func (f *Front) newPeer(node string) *fasthttp.HostClient {
	return &fasthttp.HostClient{
		Addr: node, MaxConns: maxPeerConns, MaxIdleConnDuration: peerIdle, WriteTimeout: web.WriteTimeout, ReadBufferSize: 2 * headerLimit,
		StreamResponseBody: true, NoDefaultUserAgentHeader: true, DisablePathNormalizing: true,
		Dial: func(string) (net.Conn, error) {
			conn, err := f.cfg.Dial(node)
			if err != nil {
				return nil, &notConnectedError{err}
			}
			return &impatientConn{Conn: conn, patience: f.cfg.CreateWait + answerSpare}, nil
		},
		MaxIdemponentCallAttempts: 1,
		RetryIfErr:                func(*fasthttp.Request, int, error) (bool, bool) { return false, false }, // a command must not be sent twice
	}
}

// notConnectedError means that nothing was sent to a node, because there was no connection.
type notConnectedError struct{ cause error }

func (e *notConnectedError) Error() string { return e.cause.Error() }

// impatientConn breaks a connection if the other node sends nothing for the given time, or until the deadline of the request.
type impatientConn struct {
	net.Conn
	patience time.Duration
	deadline time.Time // zero: the request has none
}

// SetReadDeadline implements net.Conn.
func (c *impatientConn) SetReadDeadline(t time.Time) error {
	c.deadline = t
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *impatientConn) SetDeadline(t time.Time) error {
	c.deadline = t
	return c.Conn.SetDeadline(t)
}

// Read implements net.Conn.
func (c *impatientConn) Read(b []byte) (int, error) {
	deadline := time.Now().Add(c.patience)
	if !c.deadline.IsZero() && c.deadline.Before(deadline) {
		deadline = c.deadline
	}
	if err := c.Conn.SetReadDeadline(deadline); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

// sentBody is the body of a client's request.
type sentBody struct {
	front   *Front
	isTaken bool      // content has the body, or its beginning
	content []byte    // belongs to the request
	rest    io.Reader // what follows content; nil: nothing
	held    int64     // bytes that are counted in front.bodies
}

// takeBody returns the body of a request. If now is false, the body is read when it is forwarded.
func (f *Front) takeBody(ctx *fasthttp.RequestCtx, now bool) (*sentBody, error) {
	b := &sentBody{front: f}
	if !now {
		return b, nil
	}
	return b, b.take(ctx)
}

// take reads the body, or as much of it as may be kept.
func (b *sentBody) take(ctx *fasthttp.RequestCtx) error {
	if b.isTaken {
		return nil
	}
	b.isTaken = true
	if ctx.Request.Header.ContentLength() == 0 {
		return nil
	}
	stream := ctx.Request.BodyStream() // a GET may have a body too
	if stream == nil {
		b.content = ctx.Request.Body()
		return nil
	}
	b.held = maxTaken
	if length := ctx.Request.Header.ContentLength(); length >= 0 && length < maxTaken {
		b.held = int64(length)
	}
	if b.front.bodies.Add(b.held) > maxForwarding {
		return ledger.Refuse("api.front", ledger.Unavailable, "too many requests are being forwarded: nothing was done").By(ledger.LimitBodies)
	}
	b.content = make([]byte, b.held)
	n, err := io.ReadFull(stream, b.content)
	b.content = b.content[:n]
	switch {
	case err == io.EOF, err == io.ErrUnexpectedEOF:
		if length := ctx.Request.Header.ContentLength(); length > n {
			return ledger.Refuse("api.front", web.BadRequest, "the request could not be read")
		}
	case err != nil:
		return ledger.Refuse("api.front", web.RequestTimeout, "the request took too long to arrive")
	default:
		b.rest = stream
		if length := ctx.Request.Header.ContentLength(); length == n {
			b.rest = nil
		}
	}
	return nil
}

// giveTo makes the body, if it was read, the body of a request again.
func (b *sentBody) giveTo(req *fasthttp.Request) {
	switch {
	case !b.isTaken || b.content == nil && b.rest == nil:
	case b.rest != nil:
		req.SetBodyStream(io.MultiReader(bytes.NewReader(b.content), b.rest), req.Header.ContentLength())
	default:
		req.SetBodyRaw(b.content)
	}
}

// release wipes the body, and makes room for others.
func (b *sentBody) release() {
	clear(b.content)
	b.front.bodies.Add(-b.held)
	b.held = 0
}

// forward sends a request to the node that leads a shard. If that node has not taken the request, because it does not lead the
// shard or could not be reached, isAnswered is false, and the request may be sent again unless there is an error.
func (f *Front) forward(ctx *fasthttp.RequestCtx, node string, shard int, isOperator bool, sent *sentBody) (isAnswered bool, err error) {
	if err := sent.take(ctx); err != nil {
		return false, err
	}
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	ctx.Request.Header.CopyTo(&req.Header)
	for _, name := range []string{fiber.HeaderConnection, fiber.HeaderTransferEncoding, fiber.HeaderExpect, fiber.HeaderUpgrade, fiber.HeaderTE, fiber.HeaderTrailer, fiber.HeaderContentLength} {
		req.Header.Del(name)
	}
	h := &req.Header
	h.SetCanonical(assertedShard, strconv.AppendInt(nil, int64(shard), 10))
	h.SetCanonical(assertedSource, []byte(ctx.RemoteAddr().String()))
	h.SetCanonical(assertedRequestID, ctx.Response.Header.PeekBytes(web.HeaderRequestID))
	if ctx.IsTLS() {
		h.SetCanonical(assertedSecure, valueYes)
	}
	if isOperator {
		h.SetCanonical(assertedOperator, valueYes)
	}
	sent.giveTo(req)
	err = f.peer(node).Do(req, resp)
	_, isUnconnected := err.(*notConnectedError) //nolint:errorlint // the client passes the error of Dial on as it is
	switch {
	case isUnconnected, err == fasthttp.ErrNoFreeConns:
		fasthttp.ReleaseResponse(resp)
		return false, f.notSent(sent)
	case err != nil:
		fasthttp.ReleaseResponse(resp)
		f.cfg.Log.Warn("a node has not answered a forwarded request", "node", node, "shard", shard, "error", err)
		return false, ledger.Refuse("api.front", ledger.Unavailable, "the node that serves shard %d has not answered: it is unknown whether this happened", shard)
	case len(resp.Header.PeekBytes(headerNotLeader)) > 0:
		_ = resp.CloseBodyStream() // the body is empty
		fasthttp.ReleaseResponse(resp)
		return false, f.notSent(sent)
	}
	f.passOn(ctx, resp)
	return true, nil
}

var valueYes = []byte("1")

// notSent returns an error if a request that no node has taken cannot be sent again, because its body was not kept.
func (f *Front) notSent(sent *sentBody) error {
	if sent.rest == nil {
		return nil
	}
	return ledger.Refuse("api.front", ledger.Unavailable, "the shard has got another leader: nothing was done")
}

// passOn makes another node's answer the answer to the client. Streams are passed on as they arrive.
func (f *Front) passOn(ctx *fasthttp.RequestCtx, resp *fasthttp.Response) {
	ctx.SetUserValue(forwardedKey{}, true)
	tlsOnly := bytes.Clone(ctx.Response.Header.PeekBytes(web.HeaderTLSOnly))
	resp.Header.Del(fiber.HeaderConnection)
	resp.Header.CopyTo(&ctx.Response.Header)
	if len(tlsOnly) > 0 {
		ctx.Response.Header.SetCanonical(web.HeaderTLSOnly, tlsOnly)
	}
	stream := resp.BodyStream()
	if stream == nil {
		ctx.Response.SetBody(resp.Body())
		fasthttp.ReleaseResponse(resp)
		return
	}
	length := resp.Header.ContentLength()
	if length >= 0 && length <= maxTaken {
		body := make([]byte, length)
		_, err := io.ReadFull(stream, body)
		_ = resp.CloseBodyStream()
		fasthttp.ReleaseResponse(resp)
		if err != nil {
			f.clearAnswer(ctx)
			web.WriteError(ctx, ledger.Refuse("api.front", ledger.Unavailable, "the answer of another node broke off: it is unknown whether this happened"))
			return
		}
		ctx.Response.SetBodyRaw(body)
		return
	}
	ctx.Response.ImmediateHeaderFlush = true
	web.Stream(ctx, &forwardedStream{stream, resp})
}

// forwardedStream is the body of another node's answer.
type forwardedStream struct {
	io.Reader
	resp *fasthttp.Response
}

// Close ends the answer.
func (s *forwardedStream) Close() error {
	err := s.resp.CloseBodyStream()
	fasthttp.ReleaseResponse(s.resp)
	return err
}

// ask sends a request of this node itself to the server of a shard, as an operator, and waits for the whole answer.
func (f *Front) ask(shard int, req *fasthttp.Request, resp *fasthttp.Response) error {
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(req, &net.TCPAddr{IP: net.IPv6loopback}, nil)
	f.begin(ctx)
	f.serve(ctx, shard, true, &sentBody{front: f, isTaken: true})
	if ctx.Response.IsBodyStream() {
		resp.SetBody(ctx.Response.Body()) // reads the stream to its end
	}
	ctx.Response.CopyTo(resp)
	if resp.StatusCode() == fiber.StatusServiceUnavailable {
		return noLeader(shard)
	}
	return nil
}
