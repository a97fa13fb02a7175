package serving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"time"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	"mizan/api"
	"mizan/cmd/mizan/cli"
	"mizan/internal/clock"
	"mizan/internal/durable"
	"mizan/internal/peer"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/cluster"
	"mizan/posting/log/raft"
	"mizan/posting/store"
	"mizan/snapshots/check/calls"
)

// balanceInterval is how often a node checks whether it leads more shards than others.
const balanceInterval = 3 * time.Second

// clusterNode serves a node of a cluster: it has a server for each shard that the node leads.
type clusterNode struct {
	*process
	link  *peer.Link
	node  *cluster.Node
	front *api.Front
}

// run starts the node, and serves until ctx ends.
func (n *clusterNode) run(ctx context.Context) (err error) {
	defer context.AfterFunc(ctx, n.logOutput.stop)()
	defer func() {
		n.logOutput.stop()
		err = errors.Join(err, n.close())
	}()
	n.clock = clock.Real{}
	for _, phase := range []func(context.Context) error{
		n.openObservation, n.shareOpenFiles, n.openSharedKeyring, n.openTransport, n.listen, n.openNode,
	} {
		if ctx.Err() != nil {
			return nil // a stop was requested before the node was ready
		}
		if err := phase(ctx); err != nil {
			return err
		}
	}
	balancing, stop := context.WithCancel(ctx)
	defer stop()
	go n.balance(balancing)
	return n.serveUntil(ctx, n.front, n.announce, n.node.HandOver)
}

// openSharedKeyring loads the keyring that all nodes share.
func (p *process) openSharedKeyring(context.Context) (err error) {
	if p.keyring, err = secret.LoadSealingKeyring(p.cfg.Keyring); err != nil {
		return cli.BadConfiguration("keyring: " + err.Error())
	}
	return nil
}

// openNode connects to the other nodes, and opens the node's replicas.
func (n *clusterNode) openNode(context.Context) error {
	c := &n.cfg.Cluster
	id, err := peer.ReadIdentity(c.TLS, c.Node)
	if err != nil {
		return cli.BadConfiguration("cluster-tls: " + err.Error())
	}
	if n.link, err = peer.Listen(c.Listen, id, raft.Protocol, api.PeerProtocol); err != nil {
		return cli.BadConfiguration("cluster-listen: " + err.Error())
	}
	n.onClose(n.link.Close)
	var members []raft.Member
	own := ""
	for _, p := range c.Peers {
		members = append(members, raft.Member(p))
		if p.Name == c.Node {
			own = p.Address
		}
	}
	n.front = api.NewFront(api.FrontConfig{
		Config: n.frontConfig(), Node: c.Node, Others: n.others, Shards: shardsOf{n}, Dial: n.dial, NodeStatus: n.status, CreateWait: n.cfg.CreateWait, MaxPeerConns: maxPeerConns,
		Transfer: n.transfer,
		AddNode: func(shard int, name, address string, isVoter bool) error {
			return n.node.Add(shard, raft.Member{Name: name, Address: address}, isVoter)
		},
		RemoveNode: func(shard int, name string) error { return n.node.Remove(shard, name) },
	})
	n.node, err = cluster.Open(cluster.Options{
		Dir: n.cfg.Dir, Name: c.Node, Address: own, Members: members, Joins: n.clusterExists(), Shards: c.Shards + 1, Link: n.link,
		Store:   store.Options{MinFree: n.cfg.MinFree, Log: n.log, OtherFiles: []string{sandboxFile, calls.RemoteName}},
		Opened:  n.rememberSimulator,
		Keyring: n.keyring.Identity(), Journal: posting.Options{Clock: n.clock, Log: n.log}, Log: n.log, Start: n.startShard, Fatal: n.exitAfterStorageFault,
	})
	if err != nil {
		return cli.OpenFault(err)
	}
	n.lowSpace = n.node.LowSpace
	n.onClose(n.node.Close)
	peers := n.link.Protocol(api.PeerProtocol)
	go func() { _ = n.front.ServePeers(peers) }() // ends when the link is closed
	return nil
}

// rememberSimulator writes into the data directory of a store where the simulated provider's log is, if there is one. Checks of
// the store need it.
func (p *process) rememberSimulator(dataDir string) error {
	if p.cfg.SimulatorURL == "" {
		return nil
	}
	return durable.Replace(filepath.Join(dataDir, calls.RemoteName), 0o600, []byte(p.cfg.SimulatorURL+"\n"))
}

// others returns the names of the other nodes.
func (n *clusterNode) others() (names []string) {
	if n.node == nil { // the node is being opened
		for _, p := range n.cfg.Cluster.Peers {
			names = append(names, p.Name)
		}
	} else {
		for _, m := range n.node.Members() {
			names = append(names, m.Name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == n.cfg.Cluster.Node })
}

// dial connects to another node.
func (n *clusterNode) dial(node string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	if n.node != nil {
		if address, ok := n.node.AddressOf(node); ok {
			return n.link.Dial(ctx, node, address, api.PeerProtocol)
		}
	}
	for _, p := range n.cfg.Cluster.Peers {
		if p.Name == node {
			return n.link.Dial(ctx, node, p.Address, api.PeerProtocol)
		}
	}
	return nil, fmt.Errorf("there is no node %s", node)
}

// clusterExists tells whether another node knows a leader of a shard. Then a new node waits for the others to add it, and forms
// no groups of its own.
func (n *clusterNode) clusterExists() bool {
	statuses := n.front.AskOthers()
	for i := range statuses {
		for _, r := range statuses[i].Shards {
			if r.Leader != "" {
				return true
			}
		}
	}
	return false
}

// maxPeerConns is the maximum number of connections to each other node for forwarded requests.
const maxPeerConns = 1024

// dialTime is how long connecting to another node may take.
const dialTime = 2 * time.Second

// frontConfig returns the settings that concern no single shard.
func (n *clusterNode) frontConfig() api.Config {
	cfg := n.baseAPIConfig()
	cfg.Log, cfg.Clock, cfg.Tracer = n.log, n.clock, n.tracer
	cfg.TrustedProxies, cfg.BehindProxy = n.cfg.Proxies, n.cfg.TLS == "off" && len(n.cfg.Proxies) > 0
	return cfg
}

// shardServer serves a shard that the node leads. It implements cluster.Engine.
type shardServer struct {
	*server
	api *api.Server
}

// startShard begins to serve a shard whose lead the node has got.
func (n *clusterNode) startShard(l *cluster.Lead) (cluster.Engine, error) {
	shard := l.Shard()
	s := &shardServer{server: &server{
		process: n.process, closers: new(closers), dir: l.DataDir(), journal: l.Journal(), mayCall: l.MayAct,
		providers: make(map[string]actors.Provider),
	}}
	var endMetrics func()
	s.metrics, endMetrics = n.metrics.OfShard(shard)
	s.onClose(func() error { endMetrics(); return nil })
	ctx := context.Background()
	openDirectory := func(context.Context) error { return s.openDirectoryOf(shard, n) }
	for _, phase := range []func(context.Context) error{s.observeGroups, openDirectory, s.openProviders, s.startActors, s.seedShard(shard), s.openBackups} {
		if err := phase(ctx); err != nil {
			s.stopUnusedRuntime()
			return nil, errors.Join(err, s.close())
		}
	}
	s.api = api.New(s.apiConfig())
	s.metrics.RegisterAPI(s.api)
	return s, nil
}

// openDirectoryOf loads the organizations of a shard.
func (s *server) openDirectoryOf(shard int, n *clusterNode) (err error) {
	s.runtime = actors.New(actors.Options{Clock: s.clock, Journal: s.journal, Log: s.log, Sealer: s.keyring})
	s.metrics.RegisterRuntime(s.runtime)
	s.directory, err = directoryactor.StartAt(s.runtime, s.keyring, directoryactor.Placement{
		NewOrganization: func() ledger.ID { return cluster.NewOrganizationID(shard, n.cfg.Cluster.Shards+1) },
		FirstPartner:    int64(max(shard, 1)), PartnerStep: int64(n.cfg.Cluster.Shards),
	})
	if err != nil {
		return err
	}
	s.directory.AllowPrivateAddresses(s.cfg.PrivateHooks)
	return nil
}

// stopUnusedRuntime ends the runtime if startActors has not registered that.
func (s *server) stopUnusedRuntime() {
	if s.runtime != nil && s.notifier == nil {
		s.runtime.Stop()
	}
}

// seedShard returns the phase that creates a shard's first data: the administration token of the platform's shard and, in a
// sandbox, the organizations of the first shard.
func (s *server) seedShard(shard int) func(context.Context) error {
	return func(context.Context) error {
		ctx, cancel := context.WithTimeout(context.Background(), seedTimeout)
		defer cancel()
		switch {
		case shard == cluster.Platform && s.directory.AdminTokens() == 0: // later the token may have been rotated
			return s.directory.AdmitAdminToken(ctx, []byte(s.cfg.AdminToken))
		case shard == 1 && s.cfg.Sandbox && s.directory.Empty():
			return s.seedSandbox(ctx)
		}
		return nil
	}
}

// Quit implements cluster.Engine.
func (s *shardServer) Quit() {
	s.api.Quit()
	s.runtime.Quit()
}

// Stop implements cluster.Engine.
func (s *shardServer) Stop() {
	if err := s.close(); err != nil {
		s.log.Warn("a part of a shard's server has not ended well", "error", err)
	}
}

// shardsOf implements api.Shards.
type shardsOf struct{ n *clusterNode }

func (s shardsOf) Count() int                { return s.n.cfg.Cluster.Shards + 1 }
func (s shardsOf) ShardOf(org ledger.ID) int { return cluster.ShardOf(org, s.Count()) }
func (s shardsOf) Leader(shard int) string   { return s.n.node.Leader(shard) }

func (s shardsOf) Enter(shard int) (api.Lead, bool) {
	l, ok := s.n.node.Enter(shard)
	return lead{l}, ok
}

// lead implements api.Lead.
type lead struct{ *cluster.Lead }

func (l lead) Server() *api.Server { return l.Engine.(*shardServer).api }

// status returns what GET /cluster says about this node.
func (n *clusterNode) status() api.NodeStatus {
	s := api.NodeStatus{Name: n.cfg.Cluster.Node, BaseURL: n.baseURL, State: n.healthStatus().State()}
	for _, r := range n.node.Status() {
		row := api.ReplicaStatus{Leader: r.Leader, Term: r.Term, Applied: r.Applied, Serves: r.Serves}
		if l, ok := n.node.Enter(r.Shard); ok {
			row.Organizations = l.Engine.(*shardServer).directory.Organizations()
			l.Leave()
		}
		s.Shards = append(s.Shards, row)
	}
	return s
}

// balance hands shards to other nodes while this node leads at least two more than another one.
func (n *clusterNode) balance(ctx context.Context) {
	tick := time.NewTicker(balanceInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		shard, to := n.shardToHandOver()
		if to == "" {
			continue
		}
		if err := n.transfer(shard, to); err != nil {
			n.log.Warn("a shard could not be handed to a node that leads fewer", "shard", shard, "node", to, "error", err)
		}
	}
}

// handOverTime is how long requests may take to end before a shard is handed over. Meanwhile the shard accepts no others.
const handOverTime = time.Second

// transfer hands the lead of a shard to another node.
func (n *clusterNode) transfer(shard int, to string) error {
	ctx, cancel := context.WithTimeout(context.Background(), handOverTime)
	defer cancel()
	return n.node.Transfer(ctx, shard, to)
}

// shardToHandOver returns a shard that this node leads, and a node that leads at least two shards fewer and has everything that
// the shard's leader has. If there is none, to is empty.
func (n *clusterNode) shardToHandOver() (shard int, to string) {
	statuses, _ := n.front.Nodes()
	mine, least := 0, -1
	counts := make([]int, len(statuses))
	for i := range statuses {
		for _, r := range statuses[i].Shards {
			if r.Serves {
				counts[i]++
			}
		}
		switch {
		case statuses[i].Name == n.cfg.Cluster.Node:
			mine = i
		case statuses[i].State == api.StatusOK && (least < 0 || counts[i] < counts[least]):
			least = i
		}
	}
	if least < 0 || counts[mine] < counts[least]+2 {
		return 0, ""
	}
	for shard, r := range statuses[mine].Shards {
		if r.Serves && statuses[least].Shards[shard].Applied+maxLagOfNext >= r.Applied {
			return shard, statuses[least].Name
		}
	}
	return 0, ""
}

// maxLagOfNext is how many groups a node may lack if it is to become the leader.
const maxLagOfNext = 100

// announce prints that the node is ready.
func (n *clusterNode) announce() {
	if _, err := fmt.Fprintf(n.streams.Out, "%s%s\n", readyPrefix, n.address); err != nil {
		n.log.Warn("the ready line can't be printed", "error", err)
	}
	n.log.Info("ready", "address", n.address, "node", n.cfg.Cluster.Node, "version", n.version)
}
