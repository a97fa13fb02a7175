package api

import (
	"bytes"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/api/web/body"
	"mizan/internal/peer"
	"mizan/ledger"
)

// clusterPath is the path of the routes about the cluster.
const clusterPath = "/api/v1/cluster"

func isOfCluster(path string) bool {
	return path == clusterPath || strings.HasPrefix(path, clusterPath+"/")
}

// clusterRoutes returns the routes about the cluster. The operator's token is checked by the handlers, because only the
// platform's shard knows it.
func (f *Front) clusterRoutes() []web.Route {
	anyone := web.Access{Callers: web.Anyone}
	return []web.Route{
		{Method: fiber.MethodGet, Path: clusterPath, Access: anyone, Handle: f.showCluster},
		{Method: fiber.MethodPost, Path: clusterPath + "/transfer", Access: anyone, JSON: true, Handle: f.transfer},
		{Method: fiber.MethodPost, Path: clusterPath + "/nodes", Access: anyone, JSON: true, Handle: f.addNode},
		{Method: fiber.MethodDelete, Path: clusterPath + "/nodes/:name", Access: anyone, Handle: f.removeNode},
	}
}

// NodeStatus says how far a node's replicas are.
type NodeStatus struct {
	Name    string          `json:"name"`
	BaseURL string          `json:"base_url"`
	State   string          `json:"state"` // as health checks report it
	Shards  []ReplicaStatus `json:"shards"`
}

// ReplicaStatus says how far a node's replica of a shard is.
type ReplicaStatus struct {
	Leader        string `json:"leader"`  // the leading node as this node knows it; empty: none
	Term          uint64 `json:"term"`    // Raft's term
	Applied       uint64 `json:"applied"` // number of the store's last group
	Serves        bool   `json:"serves"`  // the node leads the shard and serves it
	Organizations int    `json:"organizations"`
}

// stateUnreachable is the state of a node that does not answer.
const stateUnreachable = "unreachable"

// clusterBody is the answer to GET /cluster.
type clusterBody struct {
	Nodes  []nodeBody  `json:"nodes"`
	Shards []shardBody `json:"shards"`
}

type nodeBody struct {
	Name    string  `json:"name"`
	BaseURL *string `json:"base_url"` // null: the node does not answer
	State   string  `json:"state"`
}

type shardBody struct {
	Shard         int           `json:"shard"`
	Leader        *string       `json:"leader"` // null: none serves
	Replicas      []replicaBody `json:"replicas"`
	Organizations int           `json:"organizations"`
}

type replicaBody struct {
	Node    string `json:"node"`
	Applied uint64 `json:"applied"`
	Lag     uint64 `json:"lag"` // groups that the leader has and this replica has not
}

// admitOperator refuses callers without an administration token.
func (f *Front) admitOperator(ctx *fasthttp.RequestCtx) error {
	isOperator, err := f.isOperator(ctx)
	if err == nil && !isOperator {
		err = ledger.Refuse("api.front", ledger.Unauthorized, "unauthorized")
	}
	return err
}

// Nodes returns the status of every node that answers, and the names of the others.
func (f *Front) Nodes() (statuses []NodeStatus, unreachable []string) {
	statuses, unreachable = f.askOthers()
	statuses = append(statuses, f.cfg.NodeStatus())
	slices.SortFunc(statuses, func(a, b NodeStatus) int { return strings.Compare(a.Name, b.Name) })
	return statuses, unreachable
}

// AskOthers returns the status of every other node that answers.
func (f *Front) AskOthers() []NodeStatus {
	statuses, _ := f.askOthers()
	return statuses
}

func (f *Front) askOthers() (statuses []NodeStatus, unreachable []string) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, node := range f.cfg.Others() {
		asking.Go(func() {
			s, err := f.statusOf(node)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				unreachable = append(unreachable, node)
				return
			}
			statuses = append(statuses, s)
		})
	}
	asking.Wait()
	slices.Sort(unreachable)
	return statuses, unreachable
}

// showCluster is GET /cluster.
func (f *Front) showCluster(req *web.Request) error {
	if err := f.admitOperator(req.RequestCtx); err != nil {
		return err
	}
	statuses, unreachable := f.Nodes()
	body := clusterBody{Nodes: []nodeBody{}, Shards: []shardBody{}}
	for i := range statuses {
		body.Nodes = append(body.Nodes, nodeBody{statuses[i].Name, &statuses[i].BaseURL, statuses[i].State})
	}
	for _, node := range unreachable {
		body.Nodes = append(body.Nodes, nodeBody{node, nil, stateUnreachable})
	}
	slices.SortFunc(body.Nodes, func(a, b nodeBody) int { return strings.Compare(a.Name, b.Name) })
	for shard := range f.cfg.Shards.Count() {
		body.Shards = append(body.Shards, describeShard(shard, statuses))
	}
	writeValue(req.RequestCtx, map[string]any{"data": body})
	return nil
}

// describeShard returns what the nodes say about a shard.
func describeShard(shard int, statuses []NodeStatus) shardBody {
	b := shardBody{Shard: shard, Replicas: []replicaBody{}}
	var head uint64
	for i := range statuses {
		if shard >= len(statuses[i].Shards) {
			continue
		}
		r := statuses[i].Shards[shard]
		if r.Serves {
			b.Leader, b.Organizations, head = &statuses[i].Name, r.Organizations, max(head, r.Applied)
		}
		b.Replicas = append(b.Replicas, replicaBody{Node: statuses[i].Name, Applied: r.Applied})
	}
	for i := range b.Replicas {
		if r := &b.Replicas[i]; r.Applied < head {
			r.Lag = head - r.Applied
		}
	}
	return b
}

// shardChange is what the leader of a shard is asked to do about the shard's lead or its members.
type shardChange struct {
	Shard    int    `json:"shard"`
	Transfer string `json:"transfer,omitempty"` // the node that is to lead the shard
	Resign   bool   `json:"resign,omitempty"`   // some other node is to lead the shard
	Remove   string `json:"remove,omitempty"`   // the node that is to leave
	Add      string `json:"add,omitempty"`      // the node that is to join, or to become a voter
	Address  string `json:"address,omitempty"`  // its address for other nodes
	IsVoter  bool   `json:"is_voter,omitempty"`
}

// changeTime is how long the leader of a shard may take for a change.
const changeTime = 30 * time.Second

// change lets the leader of a shard carry out a change.
func (f *Front) change(c shardChange) error {
	leader := f.cfg.Shards.Leader(c.Shard)
	switch leader {
	case "":
		return noLeader(c.Shard)
	case f.cfg.Node:
		return f.changeHere(c)
	}
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	status, answer, err := f.askNode(leader, fiber.MethodPost, peerChangePath, nil, body, changeTime)
	switch {
	case err != nil:
		return ledger.Refuse("api.front", ledger.Unavailable, "node %s has not answered: it is unknown whether shard %d was changed", leader, c.Shard)
	case status != fiber.StatusOK:
		return ledger.Refuse("api.front", ledger.Unavailable, "shard %d was not changed: %s", c.Shard, answer)
	}
	return nil
}

// changeHere carries out a change of a shard that this node leads.
func (f *Front) changeHere(c shardChange) error {
	switch {
	case c.Transfer == f.cfg.Node:
		return nil
	case c.Transfer != "" || c.Resign:
		return f.cfg.Transfer(c.Shard, c.Transfer)
	case c.Remove != "":
		return f.cfg.RemoveNode(c.Shard, c.Remove)
	}
	return f.cfg.AddNode(c.Shard, c.Add, c.Address, c.IsVoter)
}

// answerChange carries out a change for another node.
func (f *Front) answerChange(ctx *fasthttp.RequestCtx) {
	defer body.Wipe(ctx)
	var c shardChange
	if f.take(ctx, maxOpen) != nil || json.Unmarshal(ctx.Request.Body(), &c) != nil || c.Shard < 0 || c.Shard >= f.cfg.Shards.Count() {
		ctx.SetStatusCode(fiber.StatusBadRequest)
		return
	}
	if err := f.changeHere(c); err != nil {
		ctx.SetStatusCode(fiber.StatusServiceUnavailable)
		ctx.SetBodyString(err.Error())
	}
}

// transfer is POST /cluster/transfer: it hands the lead of a shard to a node.
func (f *Front) transfer(req *web.Request) error {
	var body struct {
		Shard *int   `json:"shard"`
		Node  string `json:"node"`
	}
	if err := f.readCommand(req, &body); err != nil {
		return err
	}
	switch {
	case body.Shard == nil || *body.Shard < 0 || *body.Shard >= f.cfg.Shards.Count():
		return ledger.RefuseField("api.front", "shard", "shard must be from 0 to %d", f.cfg.Shards.Count()-1)
	case body.Node != f.cfg.Node && !slices.Contains(f.cfg.Others(), body.Node):
		return ledger.RefuseField("api.front", "node", "node must be the name of a node")
	}
	if f.cfg.Shards.Leader(*body.Shard) != body.Node {
		if err := f.change(shardChange{Shard: *body.Shard, Transfer: body.Node}); err != nil {
			return ledger.Refuse("api.front", ledger.Unavailable, "node %s has not taken over shard %d: %v", body.Node, *body.Shard, err)
		}
	}
	writeValue(req.RequestCtx, map[string]any{"data": map[string]any{"shard": *body.Shard, "leader": body.Node}})
	return nil
}

// addNode is POST /cluster/nodes: it adds a node to all shards. At first the node only gets what the others have; with voter
// true its confirmations count. Repeating the request does no harm.
func (f *Front) addNode(req *web.Request) error {
	var body struct {
		Name    string `json:"name"`
		Address string `json:"address"`
		IsVoter bool   `json:"voter"`
	}
	if err := f.readCommand(req, &body); err != nil {
		return err
	}
	if !peer.NodeName.MatchString(body.Name) {
		return ledger.RefuseField("api.front", "name", "name must consist of lower-case letters, digits and hyphens")
	}
	if host, port, err := net.SplitHostPort(body.Address); err != nil || host == "" || port == "" {
		return ledger.RefuseField("api.front", "address", "address must be HOST:PORT")
	}
	return f.changeAll(req, shardChange{Add: body.Name, Address: body.Address, IsVoter: body.IsVoter})
}

// removeNode is DELETE /cluster/nodes/{name}: it removes a node from all shards. Shards that it leads get another leader first.
func (f *Front) removeNode(req *web.Request) error {
	if err := f.admitOperator(req.RequestCtx); err != nil {
		return err
	}
	name := req.Parameter("name")
	if name != f.cfg.Node && !slices.Contains(f.cfg.Others(), name) {
		return web.NotFound()
	}
	for shard := range f.cfg.Shards.Count() {
		if f.cfg.Shards.Leader(shard) != name {
			continue
		}
		if err := f.change(shardChange{Shard: shard, Resign: true}); err != nil {
			return ledger.Refuse("api.front", ledger.Unavailable, "shard %d has no other leader than %s: %v", shard, name, err)
		}
	}
	return f.changeAll(req, shardChange{Remove: name})
}

// changeAll carries out a change of every shard, and answers. If a shard fails, those before it are changed, and the operator
// repeats the request.
func (f *Front) changeAll(req *web.Request, c shardChange) error {
	for c.Shard = range f.cfg.Shards.Count() {
		var err error
		for deadline := time.Now().Add(changeTime); ; {
			if err = f.change(c); err == nil || time.Now().After(deadline) {
				break
			}
			time.Sleep(10 * leaderCheck) // the shard may be getting another leader
		}
		if err != nil {
			return err
		}
	}
	writeValue(req.RequestCtx, map[string]any{"data": map[string]any{"shards": f.cfg.Shards.Count()}})
	return nil
}

// readCommand admits an operator and reads the request's body.
func (f *Front) readCommand(req *web.Request, body any) error {
	if err := f.admitOperator(req.RequestCtx); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(req.Request.Body()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(body); err != nil {
		return ledger.Refuse("api.front", web.BadRequest, "the body is not the object that is expected here")
	}
	return nil
}
