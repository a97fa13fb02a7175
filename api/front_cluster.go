package api

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/ledger"
)

// clusterPath is the path of the routes about the cluster.
const clusterPath = "/api/v1/cluster"

func isOfCluster(path string) bool {
	return path == clusterPath || strings.HasPrefix(path, clusterPath+"/")
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
	statuses = []NodeStatus{f.cfg.NodeStatus()}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, node := range f.cfg.Others {
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
	slices.SortFunc(statuses, func(a, b NodeStatus) int { return strings.Compare(a.Name, b.Name) })
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

// transferBody is the body of POST /cluster/transfer.
type transferBody struct {
	Shard *int   `json:"shard"`
	Node  string `json:"node"`
}

// transfer is POST /cluster/transfer: it hands the lead of a shard to a node.
func (f *Front) transfer(req *web.Request) error {
	if err := f.admitOperator(req.RequestCtx); err != nil {
		return err
	}
	var t transferBody
	if err := json.Unmarshal(req.Request.Body(), &t); err != nil {
		return ledger.Refuse("api.front", web.BadRequest, "the body must be an object with shard and node")
	}
	switch {
	case t.Shard == nil || *t.Shard < 0 || *t.Shard >= f.cfg.Shards.Count():
		return ledger.RefuseField("api.front", "shard", "shard must be from 0 to %d", f.cfg.Shards.Count()-1)
	case t.Node != f.cfg.Node && !slices.Contains(f.cfg.Others, t.Node):
		return ledger.RefuseField("api.front", "node", "node must be the name of a node")
	}
	leader := f.cfg.Shards.Leader(*t.Shard)
	switch leader {
	case t.Node:
	case "":
		return noLeader(*t.Shard)
	case f.cfg.Node:
		if err := f.cfg.Transfer(*t.Shard, t.Node); err != nil {
			return ledger.Refuse("api.front", ledger.Unavailable, "node %s has not taken over shard %d", t.Node, *t.Shard)
		}
	default:
		status, _, err := f.askNode(leader, fiber.MethodPost, peerTransferPath, nil, req.Request.Body())
		if err != nil || status != fiber.StatusOK {
			return ledger.Refuse("api.front", ledger.Unavailable, "node %s has not taken over shard %d", t.Node, *t.Shard)
		}
	}
	writeValue(req.RequestCtx, map[string]any{"data": map[string]any{"shard": *t.Shard, "leader": t.Node}})
	return nil
}

// answerTransfer hands the lead of a shard to the node that another node's operator has named.
func (f *Front) answerTransfer(ctx *fasthttp.RequestCtx) {
	sent, err := f.takeBody(ctx, true)
	if err != nil {
		ctx.SetStatusCode(fiber.StatusBadRequest)
		return
	}
	defer sent.release()
	var t transferBody
	if json.Unmarshal(sent.content, &t) != nil || t.Shard == nil || *t.Shard < 0 || *t.Shard >= f.cfg.Shards.Count() {
		ctx.SetStatusCode(fiber.StatusBadRequest)
		return
	}
	if err := f.cfg.Transfer(*t.Shard, t.Node); err != nil {
		ctx.SetStatusCode(fiber.StatusServiceUnavailable)
	}
}
