package cluster

// Model predicts the payments a second of a cluster from the processor time that a payment costs its nodes. Every node has a
// replica of every shard, so for a payment the leader of the shard spends Leader seconds, and each of the other nodes Follower
// seconds. A payment that comes to another node than the leader costs Forward seconds more in all.
//
// A node that leads the share k of all payments spends k·Leader + (1−k)·Follower for each payment of the cluster. So the busiest
// node bounds the rate: cores ÷ (k·Leader + (1−k)·Follower). If n nodes lead equal shares, that is
// n·cores ÷ (Leader + (n−1)·Follower), which approaches cores ÷ Follower for many nodes.
//
// The model leaves out what else may bound the rate: disks, the network, the one writer of a shard, and the provider.
type Model struct {
	Leader   float64 `json:"leader_cpu_seconds"`
	Follower float64 `json:"follower_cpu_seconds"`
	Forward  float64 `json:"forward_cpu_seconds"`
}

// Rate returns the predicted payments a second of nodes that have the given number of cores each and lead the given shares of the
// payments. The sum of the shares is 1. Requests are sent to the leaders.
func (m *Model) Rate(cores float64, shares []float64) float64 {
	busiest := 0.0
	for _, k := range shares {
		busiest = max(busiest, k*m.Leader+(1-k)*m.Follower)
	}
	if busiest == 0 {
		return 0
	}
	return cores / busiest
}

// EvenRate returns the predicted rate of n nodes that lead equal shares.
func (m *Model) EvenRate(cores float64, n int) float64 {
	shares := make([]float64, n)
	for i := range shares {
		shares[i] = 1 / float64(n)
	}
	return m.Rate(cores, shares)
}
