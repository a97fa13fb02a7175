package api

import (
	"encoding/json"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/auth"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/api/web/body"
	"mizan/ledger"
)

// Paths that only other nodes request.
const (
	peerOperatorPath = "/peer/operator" // 200 if the bearer token is an administration token, else 403
	peerStatusPath   = "/peer/status"   // the NodeStatus
	peerChangePath   = "/peer/change"   // carries out a shardChange
	peerMovePath     = "/peer/move"     // begins a move, or carries out a step of one; answers with a moveAnswer
)

// PeerProtocol is the protocol of the connections that Dial opens and ServePeers serves: HTTP/1.1 (see package peer).
const PeerProtocol = "mizan-http/2"

// ServePeers serves the requests of other nodes until the listener is closed.
func (f *Front) ServePeers(l net.Listener) error { return f.server.Serve(plainListener{l}) }

// plainListener hides that its connections are encrypted, because this says nothing about the client's connection.
type plainListener struct{ net.Listener }

func (l plainListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return plainConn{conn}, nil
}

type plainConn struct{ net.Conn }

// newPeerServer returns the server for the requests of other nodes. They have passed the other node's bounds.
func (f *Front) newPeerServer() *fasthttp.Server {
	return &fasthttp.Server{
		Handler: f.servePeer, StreamRequestBody: true, MaxRequestBodySize: 1, ReadBufferSize: 2 * headerLimit, ReadTimeout: readTimeout,
		WriteTimeout: web.WriteTimeout, IdleTimeout: 2 * peerIdle, NoDefaultServerHeader: true, NoDefaultDate: false, CloseOnShutdown: true,
		DisablePreParseMultipartForm: true, SecureErrorLogMessage: true, Logger: silentLogger{},
	}
}

// silentLogger drops what fasthttp says about broken connections; the node that has sent the request says it.
type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}

// servePeer answers a request that another node has sent.
func (f *Front) servePeer(ctx *fasthttp.RequestCtx) {
	h := &ctx.Request.Header
	shard, err := strconv.Atoi(string(h.PeekBytes(assertedShard)))
	if err != nil || shard < 0 || shard >= f.cfg.Shards.Count() {
		f.serveNode(ctx)
		body.SkipRest(ctx)
		return
	}
	org := auth.Organization(h.PeekBytes(assertedOrg))
	lead, ok := f.cfg.Shards.Enter(shard)
	if ok {
		if location := locate(lead, shard, org); location.IsMoving || location.Shard != shard {
			lead.Leave()
			ok = false
			if !location.IsMoving {
				ctx.Response.Header.SetCanonical(headerElsewhere, strconv.AppendInt(nil, int64(location.Shard), 10))
			}
		}
	}
	if !ok {
		defer body.SkipRest(ctx) // otherwise the body, which a client has chosen, would be parsed as another node's next request
		ctx.Response.Header.SetCanonical(headerNotLeader, valueYes)
		ctx.SetStatusCode(fiber.StatusMisdirectedRequest)
		return
	}
	if source, err := netip.ParseAddrPort(string(h.PeekBytes(assertedSource))); err == nil {
		ctx.SetRemoteAddr(net.TCPAddrFromAddrPort(source))
	}
	if len(h.PeekBytes(assertedSecure)) > 0 {
		web.AssertSecure(ctx)
	}
	if len(h.PeekBytes(assertedOperator)) > 0 {
		web.AssertOperator(ctx)
	}
	ctx.Response.Header.SetCanonical(web.HeaderRequestID, append([]byte(nil), h.PeekBytes(assertedRequestID)...))
	setPolicy(ctx)
	removeAssertions(h)
	started := time.Now()
	defer f.finish(ctx, started, f.beginHop(ctx, started))
	f.serveHere(ctx, shard, org, lead)
	markWhole(&ctx.Response)
}

// serveNode answers what another node asks about this node, and not about a shard.
func (f *Front) serveNode(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case peerOperatorPath:
		f.answerOperator(ctx)
	case peerStatusPath:
		writeValue(ctx, f.cfg.NodeStatus())
	case peerChangePath:
		f.answerChange(ctx)
	case peerMovePath:
		f.answerMove(ctx)
	default:
		ctx.SetStatusCode(fiber.StatusNotFound)
	}
}

func (f *Front) answerOperator(ctx *fasthttp.RequestCtx) {
	lead, ok := f.cfg.Shards.Enter(platformShard)
	if !ok {
		ctx.SetStatusCode(fiber.StatusMisdirectedRequest)
		return
	}
	defer lead.Leave()
	isAdmin := lead.Server().cfg.Directory.AdminToken(web.Bearer(ctx.Request.Header.Peek(fiber.HeaderAuthorization)))
	switch {
	case lead.Verify() != nil:
		ctx.SetStatusCode(fiber.StatusMisdirectedRequest)
	case !isAdmin:
		ctx.SetStatusCode(fiber.StatusForbidden)
	}
}

// askOperator asks the node that leads the platform's shard whether a token is an administration token.
func (f *Front) askOperator(node string, token []byte) (bool, error) {
	status, _, err := f.askNode(node, fiber.MethodGet, peerOperatorPath, token, nil, nodeWait)
	switch {
	case err != nil:
		return false, err
	case status == fiber.StatusMisdirectedRequest:
		return false, noLeader(platformShard)
	}
	if status != fiber.StatusOK && status != fiber.StatusForbidden {
		return false, ledger.Refuse("api.front", ledger.Unavailable, "node %s answers %d", node, status)
	}
	return status == fiber.StatusOK, nil
}

// nodeWait is how long another node may take to answer what it is asked about itself.
const nodeWait = 2 * time.Second

// askNode sends a request to another node that concerns the node itself. token is a bearer token; nil: none.
func (f *Front) askNode(node, method, path string, token, body []byte, wait time.Duration) (status int, answer []byte, err error) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.Header.SetMethod(method)
	req.SetRequestURI(path)
	req.Header.SetHost(node)
	if token != nil {
		req.Header.Set(fiber.HeaderAuthorization, "Bearer "+string(token))
	}
	if body != nil {
		req.SetBodyRaw(body)
	}
	if err := f.questions(node).DoTimeout(req, resp, wait); err != nil {
		return 0, nil, err
	}
	return resp.StatusCode(), append([]byte(nil), resp.Body()...), nil
}

// statusOf asks another node how far its replicas are.
func (f *Front) statusOf(node string) (s NodeStatus, err error) {
	status, answer, err := f.askNode(node, fiber.MethodGet, peerStatusPath, nil, nil, nodeWait)
	if err == nil && status != fiber.StatusOK {
		err = ledger.Refuse("api.front", ledger.Unavailable, "node %s answers %d", node, status)
	}
	if err != nil {
		return NodeStatus{}, err
	}
	return s, json.Unmarshal(answer, &s)
}

// people finds who is signed in to the console of a node's shard. The administration tokens are known only to the platform's
// shard.
type people struct {
	Directory
	front *Front
}

// AdminToken implements visit.People. While no node serves the platform's shard, no token is valid.
func (p people) AdminToken(token []byte) bool {
	isAdmin, err := p.front.isAdminToken(token)
	return err == nil && isAdmin
}

// people returns who may be signed in to the console.
func (s *Server) people() visit.People {
	if s.cfg.Front == nil {
		return s.cfg.Directory
	}
	return people{s.cfg.Directory, s.cfg.Front}
}
