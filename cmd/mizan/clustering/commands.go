package clustering

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client"
	"mizan/cmd/mizan/maintenance"
	"mizan/internal/peer"
)

// Commands are the subcommands of `mizan cluster`.
type Commands struct {
	Certificates certificatesCommand `cmd:"" help:"Create certificates for nodes, and first the authority if there is none."`
	Sandbox      sandboxCommand      `cmd:"" help:"Run a sandbox of several nodes on this machine."`
	Start        startCommand        `cmd:"" help:"Start a node of a cluster sandbox again."`
	Status       statusCommand       `cmd:"" help:"Show the nodes, and which of them leads each shard."`
	Transfer     transferCommand     `cmd:"" help:"Make another node the leader of a shard."`
	Move         moveCommand         `cmd:"" help:"Move an organization to another shard, while it is in use."`
	AddNode      addNodeCommand      `cmd:"" name:"add-node" help:"Add a node that was started with its own address among --cluster-peers."`
	RemoveNode   removeNodeCommand   `cmd:"" name:"remove-node" help:"Remove a node, whether it runs or not."`

	Backup  maintenance.ClusterBackupCommand  `cmd:"" help:"Take a backup of every shard of a running cluster."`
	Restore maintenance.ClusterRestoreCommand `cmd:"" help:"Make a node's data directory from a backup of a cluster."`
}

// certificatesCommand is the command `mizan cluster certificates`.
type certificatesCommand struct {
	Nodes string `name:"nodes" required:"" placeholder:"NAME,..." help:"The names of the nodes."`
	Out   string `name:"out" required:"" placeholder:"DIR" help:"Directory of the authority and the certificates. Each node needs authority.pem, its own certificate and its own key. Keep authority-key.pem elsewhere."`
}

// Run implements the command.
func (c *certificatesCommand) Run(*cli.Streams) error {
	names := strings.Split(c.Nodes, ",")
	seen := make(map[string]bool)
	for _, name := range names {
		if !peer.NodeName.MatchString(name) || seen[name] {
			return cli.BadConfiguration(fmt.Sprintf("nodes: %q is not a name of lower-case letters, digits and hyphens, or occurs twice", name))
		}
		seen[name] = true
	}
	for _, name := range names {
		if err := refuseExisting(filepath.Join(c.Out, peer.KeyFile(name))); err != nil {
			return err
		}
	}
	if err := peer.MakeCertificates(c.Out, names, time.Now()); err != nil {
		return cli.StorageFault("%v", err)
	}
	return nil
}

// remote are the flags of commands that ask a running cluster.
type remote struct {
	client.AdminFlags
	JSON bool `name:"json" help:"Print the server's JSON instead of a table."`
}

// send sends a request about the cluster to a node, and returns the member data of the answer.
func (r *remote) send(method, path string, body any) (json.RawMessage, error) {
	none := ""
	r.Organization = &none
	c, err := r.Open()
	if err != nil {
		return nil, cli.BadConfiguration(err.Error())
	}
	request := client.Request{Method: method, Path: path}
	if body != nil {
		if request.Body, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	reply, err := c.Send(request)
	if err != nil {
		return nil, &cli.Fault{Code: cli.ExitStorage, Lines: []string{"mizan: cluster: no answer: " + err.Error()}}
	}
	var answer struct {
		Data    json.RawMessage
		Message string
		Error   string
		Errors  []struct{ Detail string }
	}
	if err := json.Unmarshal(reply.Body, &answer); err != nil || reply.Status != http.StatusOK && reply.Status != http.StatusAccepted {
		reason := answer.Message
		for _, e := range answer.Errors {
			reason = e.Detail
		}
		if reason == "" {
			reason = answer.Error
		}
		return nil, &cli.Fault{Code: cli.ExitStorage, Lines: []string{fmt.Sprintf("mizan: cluster: refused (%d): %s", reply.Status, reason)}}
	}
	return answer.Data, nil
}

// statusCommand is the command `mizan cluster status`.
type statusCommand struct{ remote }

// status is the answer to GET /cluster.
type status struct {
	Nodes []struct {
		Name    string
		BaseURL string `json:"base_url"`
		State   string
		Version string
	}
	Shards []struct {
		Shard         int
		Leader        string
		Organizations int
		Replicas      []struct {
			Node         string
			Applied, Lag uint64
		}
	}
	Moves []moveStatus
}

// moveStatus is a move of an organization in the answer to GET /cluster.
type moveStatus struct {
	Organization string
	From, To     int
	State, Error string
	Rows, Bytes  uint64
	PauseMillis  int64 `json:"pause_ms"`
}

// isReady tells whether each shard has a leader.
func (s *status) isReady() bool {
	for i := range s.Shards {
		if s.Shards[i].Leader == "" {
			return false
		}
	}
	return len(s.Shards) > 0
}

// Run implements the command.
func (c *statusCommand) Run(s *cli.Streams) error {
	data, err := c.send(http.MethodGet, "/cluster", nil)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err := fmt.Fprintf(s.Out, "%s\n", data)
		return err
	}
	var st status
	if err := json.Unmarshal(data, &st); err != nil {
		return err
	}
	nodes := client.NewTable(s.Out, client.TerminalWidth(s.Out), []client.Column{{Name: "node"}, {Name: "state"}, {Name: "version"}, {Name: "base_url"}})
	for i := range st.Nodes {
		nodes.Add(st.Nodes[i].Name, st.Nodes[i].State, st.Nodes[i].Version, st.Nodes[i].BaseURL)
	}
	shards := client.NewTable(s.Out, client.TerminalWidth(s.Out), []client.Column{{Name: "shard"}, {Name: "leader"}, {Name: "organizations"}, {Name: "applied"}})
	for i := range st.Shards {
		row := &st.Shards[i]
		var applied []string
		for _, r := range row.Replicas {
			applied = append(applied, r.Node+"="+strconv.FormatUint(r.Applied, 10))
		}
		leader := row.Leader
		if leader == "" {
			leader = "none"
		}
		shards.Add(strconv.Itoa(row.Shard), leader, strconv.Itoa(row.Organizations), strings.Join(applied, " "))
	}
	err = nodes.Flush()
	_, lineErr := fmt.Fprintln(s.Out)
	return errors.Join(err, lineErr, shards.Flush())
}

// transferCommand is the command `mizan cluster transfer`.
type transferCommand struct {
	remote
	Shard int    `arg:"" help:"The number of the shard."`
	Node  string `arg:"" help:"The name of the node that is to lead it."`
}

// Run implements the command.
func (c *transferCommand) Run(s *cli.Streams) error {
	data, err := c.send(http.MethodPost, "/cluster/transfer", map[string]any{"shard": c.Shard, "node": c.Node})
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = fmt.Fprintf(s.Out, "%s\n", data)
		return err
	}
	_, err = fmt.Fprintf(s.Out, "node %s leads shard %d\n", c.Node, c.Shard)
	return err
}

// addNodeCommand is the command `mizan cluster add-node`.
type addNodeCommand struct {
	remote
	Node    string        `arg:"" help:"The name of the node."`
	Address string        `arg:"" help:"The address on which the other nodes reach it."`
	Wait    time.Duration `name:"wait" default:"30m" placeholder:"DURATION" help:"How long the node may take to get what the others have (default 30m)."`
}

// maxLag is how many groups of a shard a new node may lack before its confirmations count.
const maxLag = 100

// Run implements the command. The node's confirmations count only when it has what the others have.
func (c *addNodeCommand) Run(s *cli.Streams) error {
	add := func(isVoter bool) error {
		_, err := c.send(http.MethodPost, "/cluster/nodes", map[string]any{"name": c.Node, "address": c.Address, "voter": isVoter})
		return err
	}
	if err := add(false); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.Err, "mizan: node %s gets what the others have\n", c.Node); err != nil {
		return err
	}
	for deadline := time.Now().Add(c.Wait); ; <-time.After(pollInterval) {
		data, err := c.send(http.MethodGet, "/cluster", nil)
		if err != nil {
			return err
		}
		var st status
		if err := json.Unmarshal(data, &st); err != nil {
			return err
		}
		if st.hasCaughtUp(c.Node) {
			break
		}
		if time.Now().After(deadline) {
			return &cli.Fault{Code: cli.ExitStorage, Lines: []string{"mizan: cluster: node " + c.Node + " has not caught up; it gets what the others have, but its confirmations do not count. Repeat the command"}}
		}
	}
	if err := add(true); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "node %s has joined\n", c.Node)
	return err
}

// hasCaughtUp tells whether a node has nearly all groups of every shard.
func (s *status) hasCaughtUp(node string) bool {
	for i := range s.Shards {
		hasReplica := false
		for _, r := range s.Shards[i].Replicas {
			hasReplica = hasReplica || r.Node == node && r.Lag <= maxLag && r.Applied > 0
		}
		if !hasReplica || s.Shards[i].Leader == "" {
			return false
		}
	}
	return true
}

// removeNodeCommand is the command `mizan cluster remove-node`.
type removeNodeCommand struct {
	remote
	Node string `arg:"" help:"The name of the node."`
}

// Run implements the command.
func (c *removeNodeCommand) Run(s *cli.Streams) error {
	if _, err := c.send(http.MethodDelete, "/cluster/nodes/"+url.PathEscape(c.Node), nil); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "node %s has left\n", c.Node)
	return err
}
