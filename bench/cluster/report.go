package cluster

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// Report is the JSON report of `mizan bench cluster`.
type Report struct {
	Connections   int           `json:"connections"`
	Organizations int           `json:"organizations"`
	Seconds       float64       `json:"seconds"` // length of each measurement
	Measurements  []Measurement `json:"measurements"`
	Model         Model         `json:"model"`
	LimitSkipped  string        `json:"limit_skipped,omitempty"` // why nodes with few cores were not measured
}

// Measurement is what was measured in one arrangement.
type Measurement struct {
	Nodes     int               `json:"nodes"`
	Shards    int               `json:"shards"` // of organizations; 0: one server, without shards
	Forwarded bool              `json:"forwarded"`
	CPUs      float64           `json:"cpus,omitempty"` // cores that a node may use; 0: all
	Payments  uint64            `json:"payments"`
	PerSecond float64           `json:"per_second"`
	P50       float64           `json:"p50_ms"`
	P99       float64           `json:"p99_ms"`
	Errors    map[string]uint64 `json:"errors,omitempty"` // by kind
	Roles     []Role            `json:"roles"`
	Simulator float64           `json:"simulator_cpu_seconds"` // for each payment
	Generator float64           `json:"generator_cpu_seconds"`
	Predicted float64           `json:"predicted_per_second,omitempty"` // by the model, with CPUs

	leads []float64 // by node: share of the payments whose shard the node leads
}

// Role is what the processes with one role have used for each payment of the whole system. The figures are the mean of the processes.
type Role struct {
	Name      string  `json:"role"`
	Processes int     `json:"processes"`
	CPU       float64 `json:"cpu_seconds"`
	Written   float64 `json:"written_bytes"`
	Syncs     float64 `json:"syncs"`
}

// roles returns what the nodes have used, by role. If one node leads all organizations, the other nodes are followers, and the
// one after it forwards the requests that are not sent to the leader. Otherwise each node leads and follows.
func roles(used []usage, organizations []organization, isForwarded bool, payments float64) (list []Role) {
	leader := organizations[0].leader
	for i := range organizations {
		if organizations[i].leader != leader {
			leader = -1
			break
		}
	}
	name := func(i int) string {
		switch {
		case len(used) == 1:
			return "server"
		case leader < 0:
			return "node"
		case i == leader:
			return "leader"
		case isForwarded && i == (leader+1)%len(used):
			return "forwarder"
		}
		return "follower"
	}
	for _, role := range []string{"server", "node", "leader", "forwarder", "follower"} {
		r := Role{Name: role}
		for i := range used {
			if name(i) != role {
				continue
			}
			r.Processes++
			r.CPU += used[i].cpu.Seconds() / payments
			r.Written += float64(used[i].written) / payments
			r.Syncs += float64(used[i].syncs) / payments
		}
		if n := float64(r.Processes); n > 0 {
			r.CPU, r.Written, r.Syncs = r.CPU/n, r.Written/n, r.Syncs/n
			list = append(list, r)
		}
	}
	return list
}

// cpu returns the processor time of all nodes for a payment, in seconds.
func (m *Measurement) cpu() (sum float64) {
	for _, r := range m.Roles {
		sum += r.CPU * float64(r.Processes)
	}
	return sum
}

func (m *Measurement) role(name string) (r Role) {
	for _, r := range m.Roles {
		if r.Name == name {
			return r
		}
	}
	return r
}

// name describes the arrangement.
func (m *Measurement) name() string {
	if m.Shards == 0 {
		return "one server"
	}
	to, cores := "to leaders", ""
	if m.Forwarded {
		to = "to another node"
	}
	if m.CPUs > 0 {
		cores = fmt.Sprintf(", %g cores each", m.CPUs)
	}
	return fmt.Sprintf("%d nodes × %d shards, %s%s", m.Nodes, m.Shards, to, cores)
}

// model returns the costs of a payment that were measured with one shard, where each node has one role.
func (r *Report) model() (m Model) {
	for i := range r.Measurements {
		x := &r.Measurements[i]
		switch {
		case x.Shards != 1:
		case x.Forwarded:
			m.Forward = max(0, x.cpu()-m.Leader-float64(x.Nodes-1)*m.Follower)
		default:
			m.Leader, m.Follower = x.role("leader").CPU, x.role("follower").CPU
		}
	}
	return m
}

// Print prints the report for people.
func (r *Report) Print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "load       %d organizations, %d connections, %.0f s for each arrangement\n\n", r.Organizations, r.Connections, r.Seconds)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) {
		_, lineErr := fmt.Fprintf(t, format, args...)
		err = errors.Join(err, lineErr)
	}
	const micro = 1e6
	line("arrangement\tpayments/s\tp50 ms\tp99 ms\trole\tCPU µs\tKiB written\tsyncs\tof one server: rate\tCPU\n")
	for i := range r.Measurements {
		m, one := &r.Measurements[i], &r.Measurements[0]
		line("%s\t%.0f\t%.1f\t%.1f\t\t%.0f\t\t\t%.2f\t%.2f\n", m.name(), m.PerSecond, m.P50, m.P99, m.cpu()*micro, m.PerSecond/one.PerSecond, m.cpu()/one.cpu())
		for _, role := range m.Roles {
			line("\t\t\t\t%d × %s\t%.0f\t%.2f\t%.3f\t\t\n", role.Processes, role.Name, role.CPU*micro, role.Written/1024, role.Syncs)
		}
		line("\t\t\t\tsimulator\t%.0f\t\t\t\t\n\t\t\t\tgenerator\t%.0f\t\t\t\t\n", m.Simulator*micro, m.Generator*micro)
	}
	err = errors.Join(err, t.Flush())
	line("\nmodel: leader %.0f µs, follower %.0f µs, forwarding %.0f µs of CPU a payment; rate = cores ÷ (k·leader + (1−k)·follower)\n", r.Model.Leader*micro, r.Model.Follower*micro, r.Model.Forward*micro)
	line("nodes, each leading an equal share\tat 1 core each\tat 4\tat 16\n")
	for _, n := range []int{3, 5, 7, 9} {
		line("%d\t%.0f/s\t%.0f/s\t%.0f/s\n", n, r.Model.EvenRate(1, n), r.Model.EvenRate(4, n), r.Model.EvenRate(16, n))
	}
	for i := range r.Measurements {
		if m := &r.Measurements[i]; m.CPUs > 0 {
			line("%s\tpredicted %.0f/s\tmeasured %.0f/s\t%.2f\n", m.name(), m.Predicted, m.PerSecond, m.PerSecond/m.Predicted)
		}
	}
	if r.LimitSkipped != "" {
		line("nodes with few cores were not measured: %s\n", r.LimitSkipped)
	}
	return errors.Join(err, t.Flush())
}
