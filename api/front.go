package api

import (
	"encoding/json"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/ledger"
)

// Lead is this node's server of a shard that the node leads.
type Lead interface {
	// Server returns the shard's server.
	Server() *Server
	// Verify returns an error unless the node led the shard at some time after the call.
	Verify() error
	// Leave must be called when a request no longer uses the server.
	Leave()
}

// Shards finds the node that serves a shard. Shard 0 is the platform's: its directory has the administration tokens. Each
// organization belongs to one of the others.
type Shards interface {
	Count() int
	ShardOf(org ledger.ID) int
	Enter(shard int) (Lead, bool) // this node's lead of a shard, if it has one
	Leader(shard int) string      // the leading node's name, as far as this node knows; empty: none is known
}

// FrontConfig configures a Front.
type FrontConfig struct {
	// Config has the settings that do not concern one shard: Log, Status, Version, Env, Domain, TrustedProxies, BehindProxy,
	// Observe, AccessLog and Tracer. The others are ignored.
	Config

	Node   string          // this node's name
	Others func() []string // the names of the other nodes, sorted
	Shards Shards

	// CreateWait is how long a request that creates a transaction may wait for the provider's first outcome.
	CreateWait time.Duration

	// MaxPeerConns is the maximum number of connections to each other node.
	MaxPeerConns int

	// Dial connects to another node's peer listener (see Front.ServePeers).
	Dial func(node string) (net.Conn, error)

	// NodeStatus returns what GET /cluster says about this node's replicas.
	NodeStatus func() NodeStatus

	// Transfer hands the lead of a shard that this node has to another node.
	Transfer func(shard int, to string) error

	// AddNode adds a node to a shard that this node leads, or promotes it to a voter. RemoveNode removes one.
	AddNode    func(shard int, name, address string, isVoter bool) error
	RemoveNode func(shard int, name string) error
}

// Front is the HTTP server of a node in a cluster. It finds out which shard a request concerns. If this node leads the shard,
// the shard's server handles the request. Otherwise the Front forwards it to the node that leads the shard. A request is
// forwarded at most once, because a forwarded request is never forwarded again.
type Front struct {
	*Server
	cfg    FrontConfig
	peers  sync.Map         // *fasthttp.HostClient by the name of the node
	server *fasthttp.Server // for the requests of other nodes
}

// Headers of a node's answers.
var (
	headerNode  = []byte("X-Mizan-Node")
	headerShard = []byte("X-Mizan-Shard")
)

// forwardedKey is the key of a value in the context of a request that another node has answered, and reported.
type forwardedKey struct{}

// NewFront returns a Front, which accepts connections once Serve is called.
func NewFront(cfg FrontConfig) *Front {
	f := &Front{Server: newServer(cfg.Config), cfg: cfg}
	f.routes = append(healthRoutes(f.Server), f.clusterRoutes()...)
	for i := range f.routes {
		f.register(&f.routes[i])
	}
	f.app.Server().Handler = f.guard(f.route)
	f.server = f.newPeerServer()
	return f
}

// route handles a client's request.
func (f *Front) route(ctx *fasthttp.RequestCtx) {
	if uri := ctx.Request.Header.RequestURI(); len(uri) == 0 || uri[0] != '/' {
		web.WriteError(ctx, ledger.Refuse("api.front", web.BadRequest, "the request's target must be a path"))
		return
	}
	removeAssertions(&ctx.Request.Header)
	path := string(ctx.Path())
	if isCheck(path) || isOfCluster(path) {
		f.inner(ctx)
		return
	}
	isOperator, err := f.isOperator(ctx)
	if err != nil {
		web.WriteError(ctx, err)
		return
	}
	if path == organizationsPath {
		f.routeOrganizations(ctx, isOperator)
		return
	}
	shards, err := f.target(ctx, path, isOperator)
	if err != nil {
		web.WriteError(ctx, err)
		return
	}
	f.serveAny(ctx, shards, isOperator)
}

// serveAny lets the first of the shards answer that knows what the request is about. All but the last are asked again only if
// they answer 404.
func (f *Front) serveAny(ctx *fasthttp.RequestCtx, shards []int, isOperator bool) {
	if len(shards) > 1 {
		if err := f.take(ctx, maxOpen); err != nil {
			web.WriteError(ctx, err)
			return
		}
	}
	silent := 0 // a shard that has no leader
	for i, shard := range shards {
		f.serve(ctx, shard, isOperator)
		isLast, status := i == len(shards)-1, ctx.Response.StatusCode()
		switch {
		case status == fiber.StatusNotFound && isLast && silent != 0:
			f.clearAnswer(ctx)
			web.WriteError(ctx, noLeader(silent))
			return
		case isLast || status != fiber.StatusNotFound && status != fiber.StatusServiceUnavailable:
			return
		case status == fiber.StatusServiceUnavailable:
			if !isBodyless(ctx) {
				return // it may be unknown whether a command happened
			}
			silent = shard
		}
		f.clearAnswer(ctx)
	}
}

// clearAnswer removes an answer, but not the headers that every answer has.
func (f *Front) clearAnswer(ctx *fasthttp.RequestCtx) {
	id := string(ctx.Response.Header.PeekBytes(web.HeaderRequestID))
	isSecure := len(ctx.Response.Header.PeekBytes(web.HeaderTLSOnly)) > 0
	ctx.Response.Reset()
	ctx.RemoveUserValue(forwardedKey{})
	ctx.Response.Header.SetCanonical(web.HeaderRequestID, []byte(id))
	setPolicy(ctx)
	if isSecure {
		ctx.Response.Header.SetCanonical(web.HeaderTLSOnly, f.tlsOnly())
	}
}

// Bounds of waiting for a shard's leader.
const (
	leaderWait  = 2 * time.Second
	leaderCheck = 20 * time.Millisecond
)

// serve answers a request with the shard's server, on this node or on the node that leads the shard. While no leader is known,
// it waits for leaderWait.
func (f *Front) serve(ctx *fasthttp.RequestCtx, shard int, isOperator bool) {
	deadline := time.Now().Add(leaderWait)
	for {
		if lead, ok := f.cfg.Shards.Enter(shard); ok {
			if isOperator {
				web.AssertOperator(ctx)
			}
			if f.serveHere(ctx, shard, lead) || !isBodyless(ctx) || time.Now().After(deadline) {
				return
			}
			f.clearAnswer(ctx)
			continue // a read is repeated by the next leader
		}
		if node := f.cfg.Shards.Leader(shard); node != "" && node != f.cfg.Node {
			isAnswered, err := f.forward(ctx, node, shard, isOperator)
			if isAnswered {
				return
			}
			if err != nil {
				web.WriteError(ctx, err)
				return
			}
		}
		if time.Now().After(deadline) {
			web.WriteError(ctx, noLeader(shard))
			return
		}
		time.Sleep(leaderCheck)
	}
}

func noLeader(shard int) error {
	return ledger.Refuse("api.front", ledger.Unavailable, "no node serves shard %d now: nothing was done", shard)
}

// serveHere answers a request with this node's server of a shard. If the node may have ceased to lead, the answer is 503, and
// isValid is false.
func (f *Front) serveHere(ctx *fasthttp.RequestCtx, shard int, lead Lead) (isValid bool) {
	defer lead.Leave()
	lead.Server().inner(ctx)
	if isValid = !mayBeStale(ctx) || lead.Verify() == nil; !isValid {
		f.clearAnswer(ctx)
		web.WriteError(ctx, ledger.Refuse("api.front", ledger.Unavailable, "another node takes over: it is unknown whether this happened"))
	}
	f.name(ctx, shard)
	return isValid
}

// name tells which node and which shard have answered.
func (f *Front) name(ctx *fasthttp.RequestCtx, shard int) {
	ctx.Response.Header.SetCanonical(headerNode, []byte(f.cfg.Node))
	ctx.Response.Header.SetCanonical(headerShard, strconv.AppendInt(nil, int64(shard), 10))
}

// mayBeStale tells whether an answer may be stale if the node was no longer the leader. An answer 201 is not: what it tells was
// committed by a majority of the nodes. Other answers, such as those of commands that have changed nothing, may be.
func mayBeStale(ctx *fasthttp.RequestCtx) bool {
	return ctx.Response.StatusCode() != fiber.StatusCreated || len(ctx.Response.Header.PeekBytes(web.HeaderReplay)) > 0
}

// isOperator tells whether the request has a valid administration token. Only the platform's shard knows the tokens.
func (f *Front) isOperator(ctx *fasthttp.RequestCtx) (bool, error) {
	token := web.Bearer(ctx.Request.Header.Peek(fiber.HeaderAuthorization))
	if len(token) == 0 || isSessionToken(token) {
		return false, nil
	}
	deadline := time.Now().Add(leaderWait)
	for {
		if lead, ok := f.cfg.Shards.Enter(platformShard); ok {
			isAdmin := lead.Server().cfg.Directory.AdminToken(token)
			err := lead.Verify()
			lead.Leave()
			if err == nil {
				return isAdmin, nil
			}
		} else if node := f.cfg.Shards.Leader(platformShard); node != "" && node != f.cfg.Node {
			if isAdmin, err := f.askOperator(node, token); err == nil {
				return isAdmin, nil
			}
		}
		if time.Now().After(deadline) {
			return false, noLeader(platformShard)
		}
		time.Sleep(leaderCheck)
	}
}

// writeValue answers with a value as JSON.
func writeValue(ctx *fasthttp.RequestCtx, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		web.WriteError(ctx, err)
		return
	}
	web.WriteJSON(ctx, fiber.StatusOK, body)
}
