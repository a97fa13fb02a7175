package serving

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	"mizan/api"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/serving/metrics"
	"mizan/cmd/mizan/serving/moves"
	"mizan/internal/clock"
	"mizan/internal/durable"
	"mizan/internal/peer"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/cluster"
	"mizan/posting/log/raft"
	"mizan/posting/store"
	"mizan/snapshots/backup"
	"mizan/snapshots/check/calls"
)

const (
	balanceInterval = 3 * time.Second        // how often a node checks whether it leads more shards than others
	spaceInterval   = 500 * time.Millisecond // how often it checks whether its disk is nearly full
)

// clusterNode serves a node of a cluster: it has a server for each shard that the node leads.
type clusterNode struct {
	*process
	link    *peer.Link
	node    *cluster.Node
	front   *api.Front
	figures *metrics.Cluster
	opened  chan struct{} // closed when node is set; engines begin afterwards

	disagreement atomic.Pointer[peer.DisagreementError] // why another node does not work together with this one; nil: none
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
	id.Log = n.log
	id.Hello = peer.Hello{Version: n.version, Schema: store.Schema, Shards: c.Shards + 1, Keyring: n.keyringFingerprint()}
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
	n.figures = n.metrics.RegisterCluster(c.Shards + 1)
	n.front = api.NewFront(api.FrontConfig{
		Config: n.frontConfig(), Node: c.Node, Others: n.others, Shards: shardsOf{n}, Schema: store.Schema, Keyring: n.keyringFingerprint(),
		Dial: n.dial, NodeStatus: n.status, CreateWait: n.cfg.CreateWait, MaxPeerConns: maxPeerConns,
		Transfer: n.transfer,
		AddNode: func(shard int, name, address string, isVoter bool) error {
			return n.node.Add(shard, raft.Member{Name: name, Address: address}, isVoter)
		},
		RemoveNode: func(shard int, name string) error { return n.node.Remove(shard, name) },
		OnForward:  n.figures.OnForward, OnNoLeader: n.figures.OnNoLeader,
	})
	joins, err := n.clusterExists()
	if err != nil {
		return err
	}
	n.node, err = cluster.Open(cluster.Options{
		Dir: n.cfg.Dir, Name: c.Node, Address: own, Members: members, Joins: joins, Shards: c.Shards + 1,
		Transports: raft.NewStreams(n.link.Protocol(raft.Protocol), n.link.Dialer(raft.Protocol), n.log),
		Store:      store.Options{MinFree: n.cfg.MinFree, Log: n.log, OtherFiles: []string{sandboxFile, calls.RemoteName}},
		Opened:     n.rememberSimulator, OnCommit: n.figures.OnCommit,
		Keyring: n.keyring.Identity(), Journal: posting.Options{Clock: n.clock, Log: n.log}, Log: n.log, Start: n.startShard, Fatal: n.exitAfterStorageFault,
	})
	if err != nil {
		return cli.OpenFault(err)
	}
	close(n.opened)
	n.lowSpace, n.isCutOff = n.node.LowSpace, n.node.IsCutOff
	n.metrics.RegisterReplicas(n.node.Status)
	n.onClose(n.node.Close)
	peers := n.link.Protocol(api.PeerProtocol)
	go func() { _ = n.front.ServePeers(peers) }() // ends when the link is closed
	return nil
}

// keyringFingerprint identifies the keyring, and reveals nothing about its keys.
func (n *clusterNode) keyringFingerprint() string {
	identity := n.keyring.Identity()
	return hex.EncodeToString(identity[:])
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
	address, ok := n.addressOf(node)
	if !ok {
		return nil, fmt.Errorf("there is no node %s", node)
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	conn, err := n.link.Dial(ctx, node, address, api.PeerProtocol)
	var disagreement *peer.DisagreementError
	if errors.As(err, &disagreement) {
		n.disagreement.Store(disagreement)
	}
	return conn, err
}

// addressOf returns the address at which a node listens for the others.
func (n *clusterNode) addressOf(node string) (string, bool) {
	if n.node != nil {
		if address, ok := n.node.AddressOf(node); ok {
			return address, true
		}
	}
	for _, p := range n.cfg.Cluster.Peers {
		if p.Name == node {
			return p.Address, true
		}
	}
	return "", false
}

// clusterExists tells whether another node knows a leader of a shard. Then a new node waits for the others to add it, and forms
// no groups of its own. If the nodes that answer all refuse this node, because they have another schema, another keyring or
// another number of shards, the node must not start.
func (n *clusterNode) clusterExists() (bool, error) {
	statuses := n.front.OtherNodes()
	if reason := n.disagreement.Load(); reason != nil && len(statuses) == 0 {
		return false, cli.InUse("%v", reason)
	}
	for i := range statuses {
		for _, r := range statuses[i].Shards {
			if r.Leader != "" {
				return true, nil
			}
		}
	}
	return false, nil
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
	api   *api.Server
	mover *moves.Mover
}

// startShard begins to serve a shard whose lead the node has got.
func (n *clusterNode) startShard(l *cluster.Lead) (cluster.Engine, error) {
	<-n.opened
	shard := l.Shard()
	s := &shardServer{server: &server{
		process: n.process, closers: new(closers), dir: l.DataDir(), journal: l.Journal(), mayCall: mayCallFor(l),
		notFoundCounts: notFoundCountsFor(l, n.process.cfg.ProviderWait),
		providers:      make(map[string]actors.Provider),
	}}
	var endMetrics func()
	s.metrics, endMetrics = n.metrics.OfShard(shard)
	s.onClose(func() error { endMetrics(); return nil })
	ctx := context.Background()
	openDirectory := func(context.Context) error { return s.openDirectoryOf(shard, n) }
	for _, phase := range []func(context.Context) error{s.observeGroups, openDirectory, s.openProviders, s.startActors, s.seedShard(shard), s.openShardBackups(backup.Shard{Number: shard, Count: n.cfg.Cluster.Shards + 1})} {
		if err := phase(ctx); err != nil {
			s.stopUnusedRuntime()
			return nil, errors.Join(err, s.close())
		}
	}
	cfg := s.apiConfig()
	cfg.Front = n.front
	s.api = api.New(cfg)
	s.metrics.RegisterAPI(s.api)
	s.mover = moves.Start(moves.Options{
		Shard: shard, Term: l.Term(), Journal: s.journal, Directory: directoryOf{s.directory}, Payments: s.payments, Notifier: s.notifier, Log: s.log, Ask: n.front.AskMove, Restart: l.Restart,
	})
	return s, nil
}

// mayCallFor returns the function that is asked before each operation is sent to a provider.
func mayCallFor(l *cluster.Lead) func(org ledger.ID) error {
	return func(org ledger.ID) error {
		if l.Journal().IsElsewhere(org) {
			return posting.ErrElsewhere
		}
		return l.MayAct()
	}
}

// notFoundCountsFor returns the function that tells whether an operation that a provider does not know can't arrive any more, because
// the node has led the shard, and the organization has been in the shard, for longer than an operation takes.
func notFoundCountsFor(l *cluster.Lead, timeout time.Duration) func(org ledger.ID) bool {
	return func(org ledger.ID) bool {
		return l.EarlierCallsHaveEnded(timeout) && l.Journal().SinceAdmission(org) > timeout
	}
}

// directoryOf implements moves.Directory.
type directoryOf struct{ *directoryactor.Service }

func (d directoryOf) Organization(org ledger.ID) (found bool) {
	_, found = d.Service.Organization(org)
	return found
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
	s.mover.Cancel()
	s.api.HandOver()
	s.runtime.Quit()
	s.runtime.CancelCalls()
}

// Stop implements cluster.Engine.
func (s *shardServer) Stop() {
	s.mover.Stop()
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

func (l lead) Mover() api.Mover { return l.Engine.(*shardServer).mover }

func (l lead) Locate(org ledger.ID) api.Location { return l.Engine.(*shardServer).mover.Locate(org) }

func (l lead) IsMoving() bool { return l.Engine.(*shardServer).mover.IsMoving() }

// status returns what GET /cluster says about this node.
func (n *clusterNode) status() api.NodeStatus {
	s := api.NodeStatus{Name: n.cfg.Cluster.Node, BaseURL: n.baseURL, State: n.healthStatus().State(), Version: n.version}
	for _, r := range n.node.Status() {
		row := api.ReplicaStatus{Leader: r.Leader, Term: r.Raft.Term, Applied: r.LastGroup, Serves: r.Serves}
		if l, ok := n.node.Enter(r.Shard); ok {
			row.Organizations = l.Engine.(*shardServer).directory.Organizations()
			s.Moves = append(s.Moves, l.Engine.(*shardServer).mover.Moves()...)
			l.Leave()
		}
		s.Shards = append(s.Shards, row)
	}
	return s
}

// balance hands shards to other nodes while this node leads at least two more than another one, and while its disk is nearly full,
// because then it refuses commands.
func (n *clusterNode) balance(ctx context.Context) {
	tick, space := time.NewTicker(balanceInterval), time.NewTicker(spaceInterval)
	defer tick.Stop()
	defer space.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-space.C:
			if !n.lowSpace() {
				continue
			}
		}
		shard, to := n.shardToHandOver()
		if to == "" {
			continue
		}
		if err := n.transfer(shard, to); err != nil {
			n.log.Warn("a shard could not be handed to another node", "shard", shard, "node", to, "error", err)
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

// shardToHandOver returns a shard that this node leads, and a node that should lead it. That node is well, it has a vote and
// everything that the shard's leader has, and it leads at least two shards fewer, unless this node's disk is nearly full. If there
// is none, to is empty.
func (n *clusterNode) shardToHandOver() (shard int, to string) {
	statuses, unreachable := n.front.Nodes()
	n.noteReachable(statuses, unreachable)
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
		case statuses[i].State == api.StatusOK && n.node.MayTakeOver(statuses[i].Name) && (least < 0 || counts[i] < counts[least]):
			least = i
		}
	}
	if least < 0 || counts[mine] < counts[least]+2 && !n.lowSpace() {
		return 0, ""
	}
	for shard, r := range statuses[mine].Shards {
		if r.Serves && statuses[least].Shards[shard].Applied+maxLagOfNext >= r.Applied {
			return shard, statuses[least].Name
		}
	}
	return 0, ""
}

// noteReachable passes on which nodes have answered.
func (n *clusterNode) noteReachable(statuses []api.NodeStatus, unreachable []string) {
	nodes := make(map[string]bool)
	for i := range statuses {
		nodes[statuses[i].Name] = true
	}
	for _, name := range unreachable {
		nodes[name] = false
	}
	n.figures.OnReachable(nodes)
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
