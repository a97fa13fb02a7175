package api

import (
	"encoding/json"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
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
	// Locate tells where an organization is, as far as the shard knows.
	Locate(org ledger.ID) Location
	// IsMoving tells whether an organization of the shard belongs to neither this shard nor another one at present.
	IsMoving() bool
	// Mover moves organizations from and to the shard.
	Mover() Mover
	// Leave must be called when a request no longer uses the server.
	Leave()
}

// Location says where an organization is.
type Location struct {
	Shard    int  // the shard that has the organization, or knows which one has it
	IsMoving bool // no shard serves the organization now, but one will soon
}

// Shards finds the node that serves a shard. Shard 0 is the platform's: its directory has the administration tokens. Each
// organization belongs to one of the others.
type Shards interface {
	Count() int
	ShardOf(org ledger.ID) int    // the shard in which an organization is created, and which knows where it was moved
	Enter(shard int) (Lead, bool) // this node's lead of a shard, if it has one
	Leader(shard int) string      // the leading node's name, as far as this node knows; empty: none is known
}

// FrontConfig configures a Front.
type FrontConfig struct {
	// Config has the settings that do not concern one shard: Log, Status, Version, Env, Domain, TrustedProxies, BehindProxy,
	// Observe, AccessLog and Tracer. The others are ignored.
	Config

	Node    string          // this node's name
	Others  func() []string // the names of the other nodes, sorted
	Shards  Shards
	Schema  int    // number of the forms in which rows are stored
	Keyring string // fingerprint of the keyring

	// CreateWait is how long a request that creates a transaction may wait for the provider's first outcome.
	CreateWait time.Duration

	// MaxPeerConns is the maximum number of connections to each other node for forwarded requests.
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

	// OnForward, if set, is called after each attempt to forward a request to another node, with the time until the beginning of its answer.
	OnForward func(result ForwardResult, took time.Duration)

	// OnNoLeader, if set, is called for each request that gets 503 because a shard has no leader, or none is known.
	OnNoLeader func(shard int)
}

// Front is the HTTP server of a node in a cluster. It finds out which shard a request concerns. If this node leads the shard,
// the shard's server handles the request. Otherwise the Front forwards it to the node that leads the shard. A request is
// forwarded at most once, because a forwarded request is never forwarded again.
type Front struct {
	*Server
	cfg           FrontConfig
	peers         sync.Map         // *fasthttp.HostClient by the name of the node
	questionPeers sync.Map         // the same, for this node's own questions
	places        sync.Map         // the shard (int) of each organization that was found elsewhere than in Shards.ShardOf
	hasPlaces     atomic.Bool      // places has or had one; a lookup in places allocates memory
	server        *fasthttp.Server // for the requests of other nodes
}

// Headers of a node's answers.
var (
	headerNode  = []byte("X-Mizan-Node")
	headerShard = []byte("X-Mizan-Shard")
)

// forwardedKey is the key of a value in the context of a request that another node has answered, and reported.
type forwardedKey struct{}

// undoneKey is the key of a value in the context of a request that no shard's server was given.
type undoneKey struct{}

// NewFront returns a Front, which accepts connections once Serve is called.
func NewFront(cfg FrontConfig) *Front {
	if cfg.OnForward == nil {
		cfg.OnForward = func(ForwardResult, time.Duration) {}
	}
	if cfg.OnNoLeader == nil {
		cfg.OnNoLeader = func(int) {}
	}
	f := &Front{Server: newServer(cfg.Config), cfg: cfg}
	f.routes = healthRoutes(f.Server)
	for _, r := range f.clusterRoutes() {
		r.Access = web.Access{Callers: web.Anyone} // only requests of operators come to these routes (see route)
		f.routes = append(f.routes, r)
	}
	for i := range f.routes {
		f.register(&f.routes[i])
	}
	f.app.Server().Handler = f.guard(f.route)
	f.server = f.newPeerServer()
	return f
}

// route handles a client's request.
func (f *Front) route(ctx *fasthttp.RequestCtx) {
	defer func() {
		if len(ctx.Response.Header.PeekBytes(headerNode)) == 0 { // no shard has answered
			ctx.Response.Header.SetCanonical(headerNode, []byte(f.cfg.Node))
		}
	}()
	if uri := ctx.Request.Header.RequestURI(); len(uri) == 0 || uri[0] != '/' {
		web.WriteError(ctx, ledger.Refuse("api.front", web.BadRequest, "the request's target must be a path"))
		return
	}
	removeAssertions(&ctx.Request.Header)
	path := string(ctx.Path())
	if isCheck(path) {
		f.inner(ctx)
		return
	}
	isOperator, err := f.isOperator(ctx)
	if err != nil {
		web.WriteError(ctx, err)
		return
	}
	if isOperator && isOfCluster(path) { // other callers are refused by the server of a shard
		f.inner(ctx)
		return
	}
	if path == organizationsPath {
		f.routeOrganizations(ctx, isOperator)
		return
	}
	t, err := f.target(ctx, path, isOperator)
	switch {
	case err != nil:
		web.WriteError(ctx, err)
	case t.org != (ledger.ID{}):
		f.serveOrganization(ctx, t.org, isOperator)
	default:
		f.serveAny(ctx, t, isOperator)
	}
}

// shardOf returns the shard in which an organization was found last.
func (f *Front) shardOf(org ledger.ID) int {
	if f.hasPlaces.Load() {
		if found, ok := f.places.Load(org); ok {
			return found.(int)
		}
	}
	return f.cfg.Shards.ShardOf(org)
}

// serveOrganization lets the shard answer that has the organization. Usually it is the one in which it was created. If it was
// moved, each shard that has had it knows to which one it has gone.
func (f *Front) serveOrganization(ctx *fasthttp.RequestCtx, org ledger.ID, isOperator bool) {
	shard := f.shardOf(org)
	for range 2 * f.cfg.Shards.Count() {
		next := f.serveAt(ctx, shard, org, isOperator)
		if next == shard {
			return
		}
		if shard = next; shard == f.cfg.Shards.ShardOf(org) {
			f.places.Delete(org)
		} else {
			f.places.Store(org, shard)
			f.hasPlaces.Store(true)
		}
	}
	f.places.Delete(org)
	web.WriteError(ctx, ledger.Refuse("api.front", ledger.Unavailable, "the organization is being moved: nothing was done"))
}

// serveAny lets the first of the shards answer that knows what the request is about. The next one is asked only if a shard answers
// 404 or t.unknown, has no leader or, for a read, answers 503. While organizations are being moved, the shards are asked twice, and if none knows,
// the answer is 503.
func (f *Front) serveAny(ctx *fasthttp.RequestCtx, t target, isOperator bool) {
	shards := t.shards
	if len(shards) > 1 {
		if err := f.take(ctx, maxOpen); err != nil {
			web.WriteError(ctx, err)
			return
		}
	}
	isAnswered := false
	silent := 0 // a shard that has no leader, or may not know everything at present
	for range 2 {
		mustRepeat := false
		for _, shard := range shards {
			if isAnswered {
				f.clearAnswer(ctx)
			}
			isAnswered = true
			f.serve(ctx, shard, isOperator)
			moves := takeMoves(ctx)
			switch status := ctx.Response.StatusCode(); {
			case status == fiber.StatusServiceUnavailable && (isBodyless(ctx) || ctx.UserValue(undoneKey{}) != nil) && len(shards) > 1:
				silent = shard
			case status != fiber.StatusNotFound && status != t.unknown:
				return // for a command that got 503, it may be unknown whether it happened
			case moves == string(movesNow):
				silent = shard
			case moves == string(movesToHere):
				mustRepeat = true
			}
		}
		if !mustRepeat {
			break
		}
	}
	if silent != 0 {
		f.clearAnswer(ctx)
		web.WriteError(ctx, noLeader(silent))
	}
}

// clearAnswer removes an answer, but not the headers that every answer has.
func (f *Front) clearAnswer(ctx *fasthttp.RequestCtx) {
	id := string(ctx.Response.Header.PeekBytes(web.HeaderRequestID))
	isSecure := len(ctx.Response.Header.PeekBytes(web.HeaderTLSOnly)) > 0
	ctx.Response.Reset()
	ctx.RemoveUserValue(forwardedKey{})
	ctx.RemoveUserValue(undoneKey{})
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

// serve answers a request that is about no organization.
func (f *Front) serve(ctx *fasthttp.RequestCtx, shard int, isOperator bool) {
	f.serveAt(ctx, shard, ledger.ID{}, isOperator)
}

// serveAt answers a request with the shard's server, on this node or on the node that leads the shard. While no leader is known,
// or while the organization is being moved, it waits for leaderWait. If the organization is elsewhere, serveAt does not answer,
// and returns another shard to ask. Otherwise it returns the same shard.
func (f *Front) serveAt(ctx *fasthttp.RequestCtx, shard int, org ledger.ID, isOperator bool) (next int) {
	deadline := time.Now().Add(leaderWait)
	for {
		if lead, ok := f.cfg.Shards.Enter(shard); ok {
			location := locate(lead, shard, org)
			switch {
			case location.IsMoving:
				lead.Leave()
			case location.Shard != shard:
				lead.Leave()
				return location.Shard
			default:
				if isOperator {
					web.AssertOperator(ctx)
				}
				if f.serveHere(ctx, shard, org, lead) || !isBodyless(ctx) || time.Now().After(deadline) {
					return shard
				}
				f.clearAnswer(ctx)
				continue // a read is repeated by the next leader
			}
		} else if node := f.cfg.Shards.Leader(shard); node != "" && node != f.cfg.Node {
			elsewhere, isAnswered, err := f.forward(ctx, node, shard, org, isOperator)
			switch {
			case err != nil:
				web.WriteError(ctx, err)
				return shard
			case isAnswered:
				return shard
			case elsewhere != shard:
				return elsewhere
			}
		}
		if time.Now().After(deadline) {
			f.cfg.OnNoLeader(shard)
			web.WriteError(ctx, noLeader(shard))
			f.name(ctx, shard)
			ctx.SetUserValue(undoneKey{}, true)
			return shard
		}
		time.Sleep(leaderCheck)
	}
}

// locate tells where an organization is. A request about no organization stays in the shard.
func locate(lead Lead, shard int, org ledger.ID) Location {
	if org == (ledger.ID{}) {
		return Location{Shard: shard}
	}
	return lead.Locate(org)
}

func noLeader(shard int) error {
	return ledger.Refuse("api.front", ledger.Unavailable, "no node serves shard %d now: nothing was done", shard)
}

// serveHere answers a request with this node's server of a shard. If the node may have ceased to lead, the answer is 503, and
// isValid is false.
func (f *Front) serveHere(ctx *fasthttp.RequestCtx, shard int, org ledger.ID, lead Lead) (isValid bool) {
	defer lead.Leave()
	lead.Server().inner(ctx)
	isValid = !mayBeStale(ctx) || lead.Verify() == nil
	if org == (ledger.ID{}) {
		f.markMoves(ctx, lead)
	} else if ctx.Response.StatusCode() >= fiber.StatusBadRequest {
		if at := lead.Locate(org); at.IsMoving || at.Shard != shard {
			isValid = false // the organization has left while the request was under way, and may seem not to exist
		}
	}
	if !isValid {
		f.clearAnswer(ctx)
		web.WriteError(ctx, ledger.Refuse("api.front", ledger.Unavailable, "another node takes over: it is unknown whether this happened"))
	}
	f.name(ctx, shard)
	return isValid
}

// headerMoves is in the answers of shards to requests that name no organization, while organizations are being moved. If the shard
// knows nothing of what the request is about, an organization that does may be on its way.
var headerMoves = []byte("X-Mizan-Moves")

// Values of headerMoves.
var (
	movesToHere = []byte("receiving") // an organization is being copied to the shard, and another one still serves it
	movesNow    = []byte("moving")    // no shard serves an organization
)

func (f *Front) markMoves(ctx *fasthttp.RequestCtx, lead Lead) {
	switch {
	case lead.IsMoving():
		ctx.Response.Header.SetCanonical(headerMoves, movesNow)
	case lead.Mover() != nil && lead.Mover().IsReceiving():
		ctx.Response.Header.SetCanonical(headerMoves, movesToHere)
	}
}

// takeMoves removes headerMoves from an answer, and returns its value.
func takeMoves(ctx *fasthttp.RequestCtx) string {
	value := string(ctx.Response.Header.PeekBytes(headerMoves))
	ctx.Response.Header.DelBytes(headerMoves)
	return value
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

// isOperator tells whether the request has a valid administration token.
func (f *Front) isOperator(ctx *fasthttp.RequestCtx) (bool, error) {
	return f.isAdminToken(web.Bearer(ctx.Request.Header.Peek(fiber.HeaderAuthorization)))
}

// isAdminToken tells whether a token is a valid administration token. Only the platform's shard knows the tokens.
func (f *Front) isAdminToken(token []byte) (bool, error) {
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
			f.cfg.OnNoLeader(platformShard)
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
