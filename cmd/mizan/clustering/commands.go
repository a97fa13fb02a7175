package clustering

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client"
	"mizan/cmd/mizan/config"
	"mizan/internal/peer"
)

// Commands are the subcommands of `mizan cluster`.
type Commands struct {
	Certificates certificatesCommand `cmd:"" help:"Create an authority, and a certificate for each node."`
	Sandbox      sandboxCommand      `cmd:"" help:"Run a sandbox of several nodes on this machine."`
	Start        startCommand        `cmd:"" help:"Start a node of a cluster sandbox again."`
	Status       statusCommand       `cmd:"" help:"Show the nodes, and which of them leads each shard."`
	Transfer     transferCommand     `cmd:"" help:"Make another node the leader of a shard."`
}

// certificatesCommand is the command `mizan cluster certificates`.
type certificatesCommand struct {
	Nodes string `name:"nodes" required:"" placeholder:"NAME,..." help:"The names of all nodes."`
	Out   string `name:"out" required:"" placeholder:"DIR" help:"New directory for the certificates. Each node needs authority.pem, its own certificate and its own key; nothing else may have the keys."`
}

// Run implements the command.
func (c *certificatesCommand) Run(*cli.Streams) error {
	names := strings.Split(c.Nodes, ",")
	seen := make(map[string]bool)
	for _, name := range names {
		if !config.NodeName.MatchString(name) || seen[name] {
			return cli.BadConfiguration(fmt.Sprintf("nodes: %q is not a name of lower-case letters, digits and hyphens, or occurs twice", name))
		}
		seen[name] = true
	}
	if err := refuseExisting(c.Out); err != nil {
		return err
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
	if err := json.Unmarshal(reply.Body, &answer); err != nil || reply.Status != http.StatusOK {
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
	nodes := client.NewTable(s.Out, client.TerminalWidth(s.Out), []client.Column{{Name: "node"}, {Name: "state"}, {Name: "base_url"}})
	for i := range st.Nodes {
		nodes.Add(st.Nodes[i].Name, st.Nodes[i].State, st.Nodes[i].BaseURL)
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
