package console

import (
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/view"
	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Paths of the pages about the cluster.
const (
	clusterPath  = view.Root + "admin/cluster"
	transferPath = clusterPath + "/transfer"
)

// clusterPages are the pages about the nodes of a cluster. A server that is no node has none of them.
func (h *Handlers) clusterPages() []visit.Page {
	if !h.cfg.IsNode {
		return nil
	}
	byAdmin := []directory.Role{directory.Admin}
	return []visit.Page{
		{Method: fiber.MethodGet, Path: clusterPath, Roles: byAdmin, Handle: showCluster},
		{Method: fiber.MethodGet, Path: transferPath, Roles: byAdmin, Handle: showTransfer},
		{Method: fiber.MethodPost, Path: transferPath, Roles: byAdmin, Handle: transfer},
	}
}

// clusterPage is the data for the page that shows the cluster: the answer to GET /cluster.
type clusterPage struct {
	Nodes []struct {
		Name    string `json:"name"`
		BaseURL string `json:"base_url"`
		State   string `json:"state"`
		Leads   int    `json:"-"` // number of shards that the node serves
	} `json:"nodes"`
	Shards []shardRow `json:"shards"`
	Moves  []struct {
		Organization string `json:"organization"`
		From         int    `json:"from"`
		To           int    `json:"to"`
		State        string `json:"state"`
		Rows         int    `json:"rows"`
		StartedAt    string `json:"started_at"`
		Error        string `json:"error"` // empty: none
	} `json:"moves"`
}

type shardRow struct {
	Shard         int          `json:"shard"`
	Leader        string       `json:"leader"` // empty: none
	Replicas      []replicaRow `json:"replicas"`
	Organizations int          `json:"organizations"`
}

type replicaRow struct {
	Node    string `json:"node"`
	Applied int    `json:"applied"`
	Lag     int    `json:"lag"`
}

// HandOver returns the address of the page on which the shard is handed to another node. It is empty if no other node can lead it.
func (r *shardRow) HandOver() string {
	if r.Leader == "" || len(r.others()) == 0 {
		return ""
	}
	return transferPath + "?" + url.Values{"shard": {strconv.Itoa(r.Shard)}}.Encode()
}

// others returns the nodes that could lead the shard next.
func (r *shardRow) others() (names []string) {
	for _, replica := range r.Replicas {
		if replica.Node != r.Leader {
			names = append(names, replica.Node)
		}
	}
	return names
}

// readCluster asks the nodes, with the rights of the operator.
func readCluster(operator *visit.Visit) (p clusterPage, err error) {
	var answer struct {
		Data *clusterPage `json:"data"`
	}
	answer.Data = &p
	if err := operator.Get("/api/v1/cluster", nil, &answer); err != nil {
		return p, err
	}
	for i := range p.Nodes {
		for k := range p.Shards {
			if p.Shards[k].Leader == p.Nodes[i].Name {
				p.Nodes[i].Leads++
			}
		}
	}
	return p, nil
}

// showCluster is GET /console/admin/cluster.
func showCluster(v *visit.Visit) error {
	operator, ok := v.AsOperator(ledger.ID{})
	if !ok {
		return v.AskForToken()
	}
	p, err := readCluster(operator)
	if err != nil {
		return err
	}
	content := visit.PageContent{Title: v.T.Menu["cluster"], Page: p}
	if v.IsDone() {
		content.Notice = v.T.Cluster.Begun
	}
	return v.Show(templates, "cluster", content)
}

// transferPage is the data for the page on which a person confirms that a shard is handed to another node.
type transferPage struct {
	Shard  int
	Leader string
	Others []string
	Chosen string // the node that the person has chosen; empty if none
}

// showTransfer is GET /console/admin/cluster/transfer?shard.
func showTransfer(v *visit.Visit) error {
	operator, ok := v.AsOperator(ledger.ID{})
	if !ok {
		return v.AskForToken()
	}
	return sendTransfer(operator, fiber.StatusOK, "", v.Query("shard"), "")
}

func sendTransfer(operator *visit.Visit, status int, problem, number, chosen string) error {
	p, err := readCluster(operator)
	if err != nil {
		return err
	}
	shard, err := strconv.Atoi(number)
	if err != nil || shard < 0 || shard >= len(p.Shards) {
		return web.NotFound()
	}
	t, row := operator.T, &p.Shards[shard]
	return operator.Show(templates, "transfer", visit.PageContent{
		Status: status, Title: t.Fill(t.Cluster.Transfer, "shard", t.Number(shard)), Problem: problem,
		Crumbs: []view.Crumb{{Title: t.Menu["cluster"], Path: clusterPath}},
		Page:   transferPage{shard, row.Leader, row.others(), chosen},
	})
}

// transfer is POST /console/admin/cluster/transfer.
func transfer(v *visit.Visit) error {
	operator, ok := v.AsOperator(ledger.ID{})
	if !ok {
		return v.AskForToken()
	}
	number, node := v.Form.Get("shard"), v.Form.Get("node")
	shard, err := strconv.Atoi(number)
	if err != nil {
		return web.NotFound()
	}
	body, err := json.Marshal(map[string]any{"shard": shard, "node": node})
	if err != nil {
		return err
	}
	if refused := operator.Do(fiber.MethodPost, "/api/v1/cluster/transfer", body).Refusal(); refused != nil {
		return sendTransfer(operator, refused.Status, refused.Text(), number, node)
	}
	return v.Redirect(clusterPath, true)
}
