package api

import (
	"bytes"
	"io"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/ledger"
)

// Bounds of forwarding.
const (
	maxInMemory = 64 << 10 // bytes of an answer that is passed on as a whole; a longer one is passed on as it arrives
	peerIdle    = time.Minute
	answerSpare = 20 * time.Second // how much longer than FrontConfig.CreateWait another node may take for the next piece of an answer
)

// Headers with which a node asserts to another node what it knows about a request. A client's headers with these names are
// removed.
var (
	assertedShard     = []byte("X-Mizan-Asserted-Shard")
	assertedSource    = []byte("X-Mizan-Asserted-Source")
	assertedSecure    = []byte("X-Mizan-Asserted-Secure")
	assertedOperator  = []byte("X-Mizan-Asserted-Operator")
	assertedRequestID = []byte("X-Mizan-Asserted-Request-Id")
	assertedOrg       = []byte("X-Mizan-Asserted-Organization")
	headerNotLeader   = []byte("X-Mizan-Not-Leader")
	headerElsewhere   = []byte("X-Mizan-Elsewhere") // number of another shard to ask; the node has not taken the request

	assertions = [][]byte{assertedShard, assertedSource, assertedSecure, assertedOperator, assertedRequestID, assertedOrg}
)

func removeAssertions(h *fasthttp.RequestHeader) {
	for _, name := range assertions {
		h.DelBytes(name)
	}
}

// MaxQuestionConns is the maximum number of connections to each other node for the node's own questions. They are apart from the
// connections for forwarded requests, so that many slow requests do not hide the state of the cluster and the administration tokens.
const MaxQuestionConns = 32

// peer returns the client for forwarded requests to another node.
func (f *Front) peer(node string) *fasthttp.HostClient {
	return f.clientOf(&f.peers, node, f.cfg.MaxPeerConns)
}

// questions returns the client for this node's own questions to another node.
func (f *Front) questions(node string) *fasthttp.HostClient {
	return f.clientOf(&f.questionPeers, node, MaxQuestionConns)
}

func (f *Front) clientOf(clients *sync.Map, node string, maxConns int) *fasthttp.HostClient {
	if client, ok := clients.Load(node); ok {
		return client.(*fasthttp.HostClient)
	}
	client, _ := clients.LoadOrStore(node, f.newPeer(node, maxConns))
	return client.(*fasthttp.HostClient)
}

func (f *Front) newPeer(node string, maxConns int) *fasthttp.HostClient {
	return &fasthttp.HostClient{
		Addr: node, MaxConns: maxConns, MaxIdleConnDuration: peerIdle, WriteTimeout: web.WriteTimeout, ReadBufferSize: 2 * headerLimit,
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

// Bounds of bodies that are read before the caller is known.
const (
	maxForwarded = 1 << 20  // as on routes that need a credential
	maxImage     = 6 << 20  // an image and the parts of a form around it
	maxOpen      = 64 << 10 // as on routes that anyone may call
)

// imagesPath is the path of the route that takes images.
const imagesPath = "/api/v1/images"

// take reads the body of a client's request, so that it can be sent more than once. It is kept until the answer is complete.
func (f *Front) take(ctx *fasthttp.RequestCtx, bound int) error {
	if string(ctx.Path()) == imagesPath {
		bound = maxImage
	}
	return f.Server.bodies.ReadAnonymous(ctx, bound)
}

// ForwardResult is what has become of an attempt to forward a request.
type ForwardResult string

// Results of forwarding.
const (
	ForwardAnswered    ForwardResult = "answered"    // the other node has answered
	ForwardNotLeader   ForwardResult = "not_leader"  // the other node does not lead the shard, and has done nothing
	ForwardUnreachable ForwardResult = "unreachable" // there is no connection to the other node, so it was sent nothing
	ForwardUnanswered  ForwardResult = "unanswered"  // the other node may have done what was requested, but the client gets 503
)

// ForwardResults are all results.
var ForwardResults = []ForwardResult{ForwardAnswered, ForwardNotLeader, ForwardUnreachable, ForwardUnanswered}

// forward sends a request to the node that leads a shard. If that node has not taken the request, because it does not lead the
// shard or could not be reached, isAnswered is false, and the request may be sent again unless there is an error. If the node says
// that the organization is elsewhere, elsewhere is the shard to ask next; otherwise it is the same shard.
func (f *Front) forward(ctx *fasthttp.RequestCtx, node string, shard int, org ledger.ID, isOperator bool) (elsewhere int, isAnswered bool, err error) {
	if err := f.take(ctx, maxForwarded); err != nil {
		return shard, false, err
	}
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	ctx.Request.Header.CopyTo(&req.Header)
	for _, name := range []string{fiber.HeaderConnection, fiber.HeaderTransferEncoding, fiber.HeaderExpect, fiber.HeaderUpgrade, fiber.HeaderTE, fiber.HeaderTrailer, fiber.HeaderContentLength} {
		req.Header.Del(name)
	}
	h := &req.Header
	removeAssertions(h)
	h.SetCanonical(assertedShard, strconv.AppendInt(nil, int64(shard), 10))
	h.SetCanonical(assertedSource, []byte(ctx.RemoteAddr().String()))
	h.SetCanonical(assertedRequestID, ctx.Response.Header.PeekBytes(web.HeaderRequestID))
	if ctx.IsTLS() {
		h.SetCanonical(assertedSecure, valueYes)
	}
	if isOperator {
		h.SetCanonical(assertedOperator, valueYes)
	}
	if org != (ledger.ID{}) {
		h.SetCanonical(assertedOrg, []byte(org.String()))
	}
	if body := ctx.Request.Body(); len(body) > 0 {
		req.SetBodyRaw(body)
	}
	sent := time.Now()
	err = f.peer(node).Do(req, resp)
	_, isUnconnected := err.(*notConnectedError) //nolint:errorlint // the client passes the error of Dial on as it is
	switch {
	case isUnconnected, err == fasthttp.ErrNoFreeConns:
		fasthttp.ReleaseResponse(resp)
		f.cfg.OnForward(ForwardUnreachable, time.Since(sent))
		return shard, false, nil
	case err != nil:
		fasthttp.ReleaseResponse(resp)
		f.peer(node).CloseIdleConnections() // the node may have been started again, and then they are all broken
		f.cfg.OnForward(ForwardUnanswered, time.Since(sent))
		f.cfg.Log.Warn("a node has not answered a forwarded request", "node", node, "shard", shard, "error", err)
		return shard, false, ledger.Refuse("api.front", ledger.Unavailable, "the node that serves shard %d has not answered: it is unknown whether this happened", shard)
	case len(resp.Header.PeekBytes(headerNotLeader)) > 0:
		elsewhere = shard
		if next, err := strconv.Atoi(string(resp.Header.PeekBytes(headerElsewhere))); err == nil && next > platformShard && next < f.cfg.Shards.Count() {
			elsewhere = next
		}
		_ = resp.CloseBodyStream() // the body is empty
		fasthttp.ReleaseResponse(resp)
		f.cfg.OnForward(ForwardNotLeader, time.Since(sent))
		return elsewhere, false, nil
	}
	result, took := ForwardAnswered, time.Since(sent)
	if !f.passOn(ctx, resp) {
		result = ForwardUnanswered
	}
	f.cfg.OnForward(result, took)
	return shard, true, nil
}

var valueYes = []byte("1")

// passOn makes another node's answer the answer to the client. Streams are passed on as they arrive. If a short answer breaks off,
// the client gets 503, and isWhole is false.
func (f *Front) passOn(ctx *fasthttp.RequestCtx, resp *fasthttp.Response) (isWhole bool) {
	ctx.SetUserValue(forwardedKey{}, true)
	tlsOnly := bytes.Clone(ctx.Response.Header.PeekBytes(web.HeaderTLSOnly))
	resp.Header.Del(fiber.HeaderConnection)
	resp.Header.CopyTo(&ctx.Response.Header)
	if len(tlsOnly) > 0 {
		ctx.Response.Header.SetCanonical(web.HeaderTLSOnly, tlsOnly)
	}
	_ = ctx.Response.Header.SetTrailerBytes(nil) // headerWhole is for this node only
	if resp.BodyStream() == nil {
		ctx.Response.SetBody(resp.Body())
		fasthttp.ReleaseResponse(resp)
		return true
	}
	stream, length := &forwardedStream{resp}, resp.Header.ContentLength()
	if isAsked := ctx.UserValue(askedKey{}) != nil; !isAsked && (length < 0 || length > maxInMemory) { // this node itself needs the whole answer
		ctx.Response.ImmediateHeaderFlush = true
		web.Stream(ctx, stream)
		return true
	}
	body := make([]byte, max(length, 0))
	_, err := io.ReadFull(stream, body)
	if err == nil && length < 0 {
		body, err = io.ReadAll(stream)
	}
	_ = stream.Close()
	if err != nil {
		f.clearAnswer(ctx)
		web.WriteError(ctx, ledger.Refuse("api.front", ledger.Unavailable, "the answer of another node broke off: it is unknown whether this happened"))
		return false
	}
	ctx.Response.SetBodyRaw(body)
	return true
}

// headerWhole comes after the body of a stream that a node sends to another one. A stream that breaks off between two chunks looks
// to fasthttp like one that has ended.
var headerWhole = []byte("X-Mizan-Whole")

// markWhole adds headerWhole to a stream whose length is not known before.
func markWhole(resp *fasthttp.Response) {
	if resp.IsBodyStream() && resp.Header.ContentLength() < 0 {
		_ = resp.Header.AddTrailerBytes(headerWhole) // fails for forbidden names only
		resp.Header.SetCanonical(headerWhole, valueYes)
	}
}

// forwardedStream is the body of another node's answer.
type forwardedStream struct{ resp *fasthttp.Response }

// Read implements io.Reader. A stream that broke off ends with an error.
func (s *forwardedStream) Read(p []byte) (int, error) {
	n, err := s.resp.BodyStream().Read(p)
	if err == io.EOF && s.resp.Header.ContentLength() < 0 && len(s.resp.Header.PeekBytes(headerWhole)) == 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close ends the answer.
func (s *forwardedStream) Close() error {
	err := s.resp.CloseBodyStream()
	fasthttp.ReleaseResponse(s.resp)
	return err
}

// askedKey is the key of a value in the context of a request that this node itself sends to a shard.
type askedKey struct{}

// ask sends a request of this node itself to the server of a shard, as an operator, and waits for the whole answer.
func (f *Front) ask(shard int, req *fasthttp.Request, resp *fasthttp.Response) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f.cfg.Log.Error("panic in a request of the node itself", "stack", string(debug.Stack()))
			err = ledger.Refuse("api.front", ledger.Internal, "panic")
		}
	}()
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(req, &net.TCPAddr{IP: net.IPv6loopback}, nil)
	ctx.SetUserValue(askedKey{}, true)
	f.begin(ctx)
	f.serve(ctx, shard, true)
	ctx.Response.CopyTo(resp)
	if resp.StatusCode() == fiber.StatusServiceUnavailable {
		return noLeader(shard)
	}
	return nil
}
