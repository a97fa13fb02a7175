package config

import (
	"net"
	"strconv"
	"strings"

	"mizan/internal/peer"
	"mizan/ledger/directory"
)

// Bounds of a cluster; MaxShards is without the shard of the platform.
const (
	MaxNodes  = 9
	MaxShards = 64
)

// Cluster says how the server belongs to a cluster. If Node is empty, it belongs to none.
type Cluster struct {
	Node   string // the name of this node
	Listen string
	Peers  []Peer // all nodes, this one included, in the order of --cluster-peers
	Shards int    // number of shards of organizations
	TLS    string // directory of the certificates
}

// Peer is a node of the cluster.
type Peer struct{ Name, Address string }

var clusterKeys = []string{"cluster-node", "cluster-listen", "cluster-peers", "cluster-shards", "cluster-tls"}

// cluster reads the settings of a cluster.
func (r *reader) cluster() (c Cluster) {
	if r.fileUnreadable {
		return c
	}
	count := 0
	for _, name := range clusterKeys {
		if r.settings[name].IsSet {
			count++
		}
	}
	if count == 0 {
		return c
	}
	for _, name := range clusterKeys {
		if !r.settings[name].IsSet {
			r.reportBad(name, "is required of a node of a cluster")
		}
	}
	c = Cluster{Node: r.text("cluster-node"), Listen: r.address("cluster-listen"), Peers: r.peers(), TLS: r.text("cluster-tls")}
	if !peer.NodeName.MatchString(c.Node) {
		r.reportBad("cluster-node", "%q is not a name of lower-case letters, digits and hyphens", c.Node)
	}
	var err error
	if c.Shards, err = strconv.Atoi(r.text("cluster-shards")); err != nil || c.Shards < 1 || c.Shards > MaxShards {
		r.reportBad("cluster-shards", "%q is not a number from 1 to %d", r.text("cluster-shards"), MaxShards)
	}
	return c
}

// peers reads the list of nodes.
func (r *reader) peers() (peers []Peer) {
	const key = "cluster-peers"
	seen := make(map[string]bool)
	for _, part := range strings.Split(r.text(key), ",") {
		name, address, _ := strings.Cut(strings.TrimSpace(part), "=")
		host, port, err := net.SplitHostPort(address)
		switch {
		case !peer.NodeName.MatchString(name):
			r.reportBad(key, "%q is not a name of lower-case letters, digits and hyphens", name)
		case err != nil || host == "" || port == "" || port == "0":
			r.reportBad(key, "the address of %s, %q, is not HOST:PORT", name, address)
		case seen[name] || seen[address]:
			r.reportBad(key, "%s=%s occurs twice", name, address)
		}
		seen[name], seen[address] = true, true
		peers = append(peers, Peer{name, address})
	}
	if len(peers) > MaxNodes {
		r.reportBad(key, "has %d nodes, and at most %d are possible", len(peers), MaxNodes)
	}
	return peers
}

// checkCluster checks that the settings of a cluster are compatible with each other and with other settings.
func (r *reader) checkCluster(cfg *Config) {
	isPeer := false
	for _, p := range cfg.Cluster.Peers {
		isPeer = isPeer || p.Name == cfg.Cluster.Node
	}
	if !isPeer && !r.reported["cluster-peers"] {
		r.reportBad("cluster-node", "%s is not among --cluster-peers", cfg.Cluster.Node)
	}
	if cfg.ManualClock {
		r.reportBad("clock", "a cluster has no manual clock")
	}
	if cfg.Keyring == "" && !r.reported["keyring"] {
		r.reportBad("keyring", "is required of a node of a cluster: all nodes share one keyring")
	}
	if cfg.AdminToken == "" && !r.reported["admin-token-file"] {
		r.reportBad("admin-token-file", "is required of a node of a cluster: all nodes have the same")
	}
	if strings.HasPrefix(cfg.AdminToken, directory.SessionPrefix) && !r.reported["admin-token-file"] {
		r.reportBad("admin-token-file", "the token begins with %s, as only the tokens of sessions do", directory.SessionPrefix)
	}
	if cfg.Sandbox && cfg.SimulatorURL == "" && !r.reported["simulator-url"] {
		r.reportBad("simulator-url", "is required of a sandbox of several nodes: they share one simulated provider")
	}
	if cfg.Check {
		r.reportBad("check", "does not go with a cluster")
	}
}
