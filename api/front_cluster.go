package api

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/api/web/body"
	"mizan/api/web/records"
	"mizan/internal/peer"
	"mizan/ledger"
)

// clusterPath is the path of the routes about the cluster.
const clusterPath = "/api/v1/cluster"

func isOfCluster(path string) bool {
	return path == clusterPath || strings.HasPrefix(path, clusterPath+"/")
}

// clusterRoutes returns the routes about the cluster. The Front serves them for clients. The servers of the shards have them too:
// they refuse callers who are no operators, describe the routes, and serve the pages of the console.
func (f *Front) clusterRoutes() []web.Route {
	operator := web.Access{Callers: web.AdminToken}
	return []web.Route{
		{Method: fiber.MethodGet, Path: clusterPath, Access: operator, Handle: f.showCluster},
		{Method: fiber.MethodPost, Path: clusterPath + "/transfer", Access: operator, JSON: true, Handle: f.transfer},
		{Method: fiber.MethodPost, Path: clusterPath + "/move", Access: operator, JSON: true, Handle: f.moveOrganization},
		{Method: fiber.MethodPost, Path: clusterPath + "/nodes", Access: operator, JSON: true, Handle: f.addNode},
		{Method: fiber.MethodDelete, Path: clusterPath + "/nodes/:name", Access: operator, Handle: f.removeNode},
	}
}

// NodeStatus says how far a node's replicas are.
type NodeStatus struct {
	Name    string          `json:"name"`
	BaseURL string          `json:"base_url"`
	State   string          `json:"state"`   // as health checks report it
	Version string          `json:"version"` // version of the program
	Shards  []ReplicaStatus `json:"shards"`
	Moves   []MoveStatus    `json:"moves"` // of organizations from the shards that the node leads
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
	Nodes   []nodeBody   `json:"nodes"`
	Shards  []shardBody  `json:"shards"`
	Moves   []MoveStatus `json:"moves"`   // those under way, and the last ones that have ended
	Schema  int          `json:"schema"`  // number of the forms in which rows are stored, the same on all nodes
	Keyring string       `json:"keyring"` // fingerprint of the keyring that all nodes share
}

type nodeBody struct {
	Name    string  `json:"name"`
	BaseURL *string `json:"base_url"` // null: the node does not answer
	State   string  `json:"state"`
	Version *string `json:"version"` // version of the program; null: the node does not answer
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

// Nodes returns the status of every node that answers, and the names of the others.
func (f *Front) Nodes() (statuses []NodeStatus, unreachable []string) {
	statuses, unreachable = f.askOthers()
	statuses = append(statuses, f.cfg.NodeStatus())
	slices.SortFunc(statuses, func(a, b NodeStatus) int { return strings.Compare(a.Name, b.Name) })
	return statuses, unreachable
}

// OtherNodes returns the status of every other node that answers.
func (f *Front) OtherNodes() []NodeStatus {
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
	if err := web.QueryOf(req.RequestCtx).Problems.Err(); err != nil {
		return err
	}
	statuses, unreachable := f.Nodes()
	body := clusterBody{Nodes: []nodeBody{}, Shards: []shardBody{}, Moves: []MoveStatus{}, Schema: f.cfg.Schema, Keyring: f.cfg.Keyring}
	for i := range statuses {
		body.Moves = append(body.Moves, statuses[i].Moves...)
		body.Nodes = append(body.Nodes, nodeBody{statuses[i].Name, &statuses[i].BaseURL, statuses[i].State, &statuses[i].Version})
	}
	for _, node := range unreachable {
		body.Nodes = append(body.Nodes, nodeBody{node, nil, stateUnreachable, nil})
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
		if err := f.changeHere(c); err != nil {
			return ledger.Refuse("api.front", ledger.Unavailable, "the change of shard %d failed: %v", c.Shard, err)
		}
		return nil
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
		return ledger.Refuse("api.front", ledger.Unavailable, "the change of shard %d failed: %s", c.Shard, answer)
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
	form, err := parseCommand(req, "shard", "node")
	if err != nil {
		return err
	}
	shard, node := form.Number("shard"), form.TextOrEmpty("node")
	if web.Member(form.Object, "shard") == nil || shard < 0 || shard >= int64(f.cfg.Shards.Count()) {
		form.Problems.Add("shard", fmt.Sprintf("shard must be an integer from 0 to %d", f.cfg.Shards.Count()-1))
	}
	if node != f.cfg.Node && !slices.Contains(f.cfg.Others(), node) {
		form.Problems.Add("node", "node must be the name of a node")
	}
	if err := form.Problems.Err(); err != nil {
		return err
	}
	if err := f.handOver(req, shardChange{Shard: int(shard), Transfer: node}); err != nil {
		return err
	}
	writeValue(req.RequestCtx, map[string]any{"data": map[string]any{"shard": shard, "leader": node}})
	return nil
}

// handOver hands the lead of a shard to a node. A request of the console is served by its own shard, whose lead is handed over only
// when the request has ended. So then the change goes on after the answer.
func (f *Front) handOver(req *web.Request, c shardChange) error {
	if f.cfg.Shards.Leader(c.Shard) == c.Transfer {
		return nil
	}
	if req.IsInternal() && f.shardOf(req.Grant.Org) == c.Shard {
		go func() {
			if err := f.change(c); err != nil {
				f.cfg.Log.Warn("a node has not taken over a shard", "node", c.Transfer, "shard", c.Shard, "error", err)
			}
		}()
		return nil
	}
	if err := f.change(c); err != nil {
		return ledger.Refuse("api.front", ledger.Unavailable, "node %s has not taken over shard %d: %v", c.Transfer, c.Shard, err)
	}
	return nil
}

// addNode is POST /cluster/nodes: it adds a node to all shards. At first the node only gets what the others have; with voter
// true its confirmations count. Repeating the request does no harm.
func (f *Front) addNode(req *web.Request) error {
	form, err := parseCommand(req, "name", "address", "voter")
	if err != nil {
		return err
	}
	name, address := form.TextOrEmpty("name"), form.TextOrEmpty("address")
	if !peer.NodeName.MatchString(name) {
		form.Problems.Add("name", "name must consist of lower-case letters, digits and hyphens")
	}
	if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
		form.Problems.Add("address", "address must be HOST:PORT")
	}
	isVoter := false
	switch string(web.Member(form.Object, "voter")) {
	case "true":
		isVoter = true
	case "", "null", "false":
	default:
		form.Problems.Add("voter", "voter must be true or false")
	}
	if err := form.Problems.Err(); err != nil {
		return err
	}
	if isVoter {
		if err := f.requireMajority(append(f.nodesWithout(name), name)); err != nil {
			return err
		}
	}
	return f.changeAll(req, shardChange{Add: name, Address: address, IsVoter: isVoter})
}

// nodesWithout returns the names of all nodes except one.
func (f *Front) nodesWithout(name string) []string {
	return slices.DeleteFunc(append(slices.Clone(f.cfg.Others()), f.cfg.Node), func(n string) bool { return n == name })
}

// requireMajority refuses a change after which these nodes are to decide, unless a majority of them answers. Otherwise the change
// itself could not be confirmed, and the shards would have no leader until more of the nodes run.
func (f *Front) requireMajority(nodes []string) error {
	answering := []string{f.cfg.Node}
	for _, s := range f.OtherNodes() {
		answering = append(answering, s.Name)
	}
	missing := slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return slices.Contains(answering, n) })
	if len(nodes) == 0 || 2*len(missing) < len(nodes) {
		return nil
	}
	return ledger.Refuse("api.front", ledger.Conflict, "of the nodes that would decide then (%s), these do not answer: %s. Without a majority the shards would have no leader; start them first",
		strings.Join(nodes, ", "), strings.Join(missing, ", "))
}

// removeNode is DELETE /cluster/nodes/{name}: it removes a node from all shards. Shards that it leads get another leader first.
func (f *Front) removeNode(req *web.Request) error {
	name := req.Parameter("name")
	if name != f.cfg.Node && !slices.Contains(f.cfg.Others(), name) {
		return web.NotFound()
	}
	if err := f.requireMajority(f.nodesWithout(name)); err != nil {
		return err
	}
	for shard := range f.cfg.Shards.Count() {
		if err := f.resign(shard, name); err != nil {
			return ledger.Refuse("api.front", ledger.Unavailable, "shard %d has no other leader than %s: %v", shard, name, err)
		}
	}
	return f.changeAll(req, shardChange{Remove: name})
}

// changeAll carries out a change of every shard, and answers. If a shard fails, those before it are changed, and the operator
// repeats the request.
func (f *Front) changeAll(req *web.Request, c shardChange) error {
	for c.Shard = range f.cfg.Shards.Count() {
		if err := f.changeUntilDone(c); err != nil {
			return err
		}
	}
	writeValue(req.RequestCtx, map[string]any{"data": map[string]any{"shards": f.cfg.Shards.Count()}})
	return nil
}

// resign gets another leader for a shard, if a node leads it. If the node does not run, the other nodes are about to elect one.
func (f *Front) resign(shard int, node string) error {
	for deadline := time.Now().Add(changeTime); f.cfg.Shards.Leader(shard) == node; time.Sleep(10 * leaderCheck) {
		if err := f.change(shardChange{Shard: shard, Resign: true}); err == nil || time.Now().After(deadline) {
			return err
		}
	}
	return nil
}

// changeUntilDone lets the leader of a shard carry out a change, and repeats that for changeTime if it fails, because the shard may be
// getting another leader.
func (f *Front) changeUntilDone(c shardChange) error {
	for deadline := time.Now().Add(changeTime); ; time.Sleep(10 * leaderCheck) {
		if err := f.change(c); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// parseCommand reads the body of a request, which may have only the given fields.
func parseCommand(req *web.Request, fields ...string) (*records.Form, error) {
	object, err := req.Object()
	if err != nil {
		return nil, err
	}
	form := &records.Form{Object: object, Order: fields}
	form.AllowOnly(fields...)
	return form, nil
}
