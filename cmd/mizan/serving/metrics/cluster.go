package metrics

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mizan/api"
	"mizan/posting/cluster"
)

// Cluster has the metrics of a node of a cluster that are counted as something happens.
type Cluster struct {
	forwards  map[api.ForwardResult]prometheus.Observer
	noLeader  []prometheus.Counter  // by the number of the shard
	commits   []prometheus.Observer // by the number of the shard
	reachable atomic.Pointer[map[string]bool]
}

// RegisterCluster registers the metrics about what a node of a cluster with the given number of shards does. Each series exists
// from the start, so that its first event changes an existing series.
func (m *Metrics) RegisterCluster(shards int) *Cluster {
	c := &Cluster{forwards: make(map[api.ForwardResult]prometheus.Observer)}
	forwards := m.newHistograms("mizan_forwarded_request_seconds", "Attempts to forward a request to the node that leads a shard, by result.", latencyBuckets, "result")
	for _, result := range api.ForwardResults {
		c.forwards[result] = forwards.WithLabelValues(string(result))
	}
	noLeader := m.newCounters("mizan_no_leader_responses_total", "Requests that were answered 503 because a shard had no leader, or none was known.", "shard")
	commits := m.newHistograms("mizan_proposal_commit_seconds", "Time from the proposal of a group until a majority has stored it, on the node that leads the shard.", latencyBuckets, "shard")
	for shard := range shards {
		c.noLeader = append(c.noLeader, noLeader.WithLabelValues(strconv.Itoa(shard)))
		c.commits = append(c.commits, commits.WithLabelValues(strconv.Itoa(shard)))
	}
	m.register.MustRegister(&reachableCollector{
		description: prometheus.NewDesc("mizan_cluster_node_reachable", "1 if the node has answered this one when it was last asked, else 0; 1 for this node itself.", []string{"node"}, nil),
		cluster:     c,
	})
	return c
}

// OnForward counts an attempt to forward a request.
func (c *Cluster) OnForward(result api.ForwardResult, took time.Duration) {
	c.forwards[result].Observe(took.Seconds())
}

// OnNoLeader counts a request that gets 503 because a shard has no leader.
func (c *Cluster) OnNoLeader(shard int) { c.noLeader[shard].Inc() }

// OnCommit counts a group that a majority has stored.
func (c *Cluster) OnCommit(shard int, took time.Duration) { c.commits[shard].Observe(took.Seconds()) }

// OnReachable sets which nodes have answered. The map must not be changed afterwards.
func (c *Cluster) OnReachable(nodes map[string]bool) { c.reachable.Store(&nodes) }

// reachableCollector provides the metric about nodes that answer.
type reachableCollector struct {
	description *prometheus.Desc
	cluster     *Cluster
}

// Describe implements prometheus.Collector.
func (c *reachableCollector) Describe(to chan<- *prometheus.Desc) { to <- c.description }

// Collect implements prometheus.Collector. It sends nothing until the other nodes were asked once.
func (c *reachableCollector) Collect(to chan<- prometheus.Metric) {
	nodes := c.cluster.reachable.Load()
	if nodes == nil {
		return
	}
	for name, answers := range *nodes {
		to <- prometheus.MustNewConstMetric(c.description, prometheus.GaugeValue, oneIf(answers), name)
	}
}

// replicaMetric is a metric of each replica of the node.
type replicaMetric struct {
	description *prometheus.Desc
	kind        prometheus.ValueType
	value       func(*cluster.ReplicaStatus) float64
}

// replicaCollector provides the metrics about the node's replicas.
type replicaCollector struct {
	status  func() []cluster.ReplicaStatus
	silence *prometheus.Desc
	metrics []replicaMetric
}

// RegisterReplicas registers the metrics about the node's replicas of the shards.
func (m *Metrics) RegisterReplicas(status func() []cluster.ReplicaStatus) {
	label := []string{"shard"}
	c := &replicaCollector{
		status:  status,
		silence: prometheus.NewDesc("mizan_replica_leader_silence_seconds", "Time since the leader's last message; 0 on the leader, and absent if there was no message since the start.", label, nil),
	}
	add := func(kind prometheus.ValueType, name, help string, value func(*cluster.ReplicaStatus) float64) {
		c.metrics = append(c.metrics, replicaMetric{prometheus.NewDesc(name, help, label, nil), kind, value})
	}
	add(prometheus.GaugeValue, "mizan_replica_leads", "1 if this node leads the shard's Raft group, as it believes.", func(r *cluster.ReplicaStatus) float64 { return oneIf(r.Raft.Leads) })
	add(prometheus.GaugeValue, "mizan_replica_serves", "1 if this node leads the shard and serves its organizations.", func(r *cluster.ReplicaStatus) float64 { return oneIf(r.Serves) })
	add(prometheus.GaugeValue, "mizan_replica_term", "Raft's term.", func(r *cluster.ReplicaStatus) float64 { return float64(r.Raft.Term) })
	add(prometheus.GaugeValue, "mizan_replica_last_index", "Index of the last entry in this node's Raft log.", func(r *cluster.ReplicaStatus) float64 { return float64(r.Raft.Last) })
	add(prometheus.GaugeValue, "mizan_replica_committed_index", "Index of the last entry that this node knows to be committed.", func(r *cluster.ReplicaStatus) float64 { return float64(r.Raft.Committed) })
	add(prometheus.GaugeValue, "mizan_replica_applied_index", "Index of the last entry that was applied to this node's store.", func(r *cluster.ReplicaStatus) float64 { return float64(r.Raft.Applied) })
	add(prometheus.GaugeValue, "mizan_replica_last_group", "Number of the last group in this node's store.", func(r *cluster.ReplicaStatus) float64 { return float64(r.LastGroup) })
	add(prometheus.CounterValue, "mizan_replica_leaders_total", "How often this node has learned of a new leader of the shard.", func(r *cluster.ReplicaStatus) float64 { return float64(r.Raft.Leaders) })
	add(prometheus.GaugeValue, "mizan_replica_members", "Members of the shard's Raft group.", func(r *cluster.ReplicaStatus) float64 { return float64(r.Raft.Members) })
	add(prometheus.GaugeValue, "mizan_replica_voters", "Members of the shard's Raft group whose confirmations count.", func(r *cluster.ReplicaStatus) float64 { return float64(r.Raft.Voters) })
	add(prometheus.CounterValue, "mizan_replica_log_syncs_total", "How often entries were added to this node's Raft log, which is synced each time.", func(r *cluster.ReplicaStatus) float64 { return float64(r.Raft.LogSyncs) })
	add(prometheus.CounterValue, "mizan_replica_copies_sent_total", "Copies of the store that were made for other nodes.", func(r *cluster.ReplicaStatus) float64 { return float64(r.Raft.CopiesSent) })
	add(prometheus.CounterValue, "mizan_replica_copies_received_total", "Copies of another node's store that have replaced this node's.", func(r *cluster.ReplicaStatus) float64 { return float64(r.Raft.CopiesReceived) })
	m.register.MustRegister(c)
}

// Describe implements prometheus.Collector.
func (c *replicaCollector) Describe(to chan<- *prometheus.Desc) {
	to <- c.silence
	for i := range c.metrics {
		to <- c.metrics[i].description
	}
}

// Collect implements prometheus.Collector.
func (c *replicaCollector) Collect(to chan<- prometheus.Metric) {
	for _, r := range c.status() {
		shard := strconv.Itoa(r.Shard)
		for i := range c.metrics {
			metric := &c.metrics[i]
			to <- prometheus.MustNewConstMetric(metric.description, metric.kind, metric.value(&r), shard)
		}
		if silence := r.Raft.SinceLeaderSpoke; silence >= 0 {
			to <- prometheus.MustNewConstMetric(c.silence, prometheus.GaugeValue, silence.Seconds(), shard)
		}
	}
}
