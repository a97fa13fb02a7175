package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// Bounds that the cluster must keep.
const (
	// maxOutage is the longest time for which a fault may keep a shard from accepting payments. The time usually is about a
	// second; the bound leaves room for a busy machine.
	maxOutage = 15 * time.Second

	// maxTakeover is the 99th percentile of the times until another node accepts the first payment after a leader was killed.
	maxTakeover = 2 * time.Second

	// judgedKills is how many kills of leaders are enough to judge their 99th percentile.
	judgedKills = 100
)

// report has the results of campaigns.
type report struct {
	mu      sync.Mutex
	outages map[string][]time.Duration // times until shards accepted payments again, by kind of fault; guarded by mu, like all below
	failed  map[string]int             // number of faults after which no payment was accepted within maxOutage
	totals  map[string]int             // answers by kind of request and outcome

	campaigns, acknowledged, lost, doubled int
	histories, operations, undecided       int // undecided is the number of histories whose search did not end
}

func newReport() *report {
	return &report{outages: make(map[string][]time.Duration), failed: make(map[string]int), totals: make(map[string]int)}
}

// update changes the report.
func (r *report) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func (r *report) add(kind string, outage time.Duration, isAccepted bool) {
	r.update(func() {
		r.outages[kind] = append(r.outages[kind], outage)
		if !isAccepted {
			r.failed[kind]++
		}
	})
}

// faults returns the number of faults that were injected.
func (r *report) faults() (n int) {
	for _, list := range r.outages {
		n += len(list)
	}
	return n
}

// quantile returns a quantile of the outages after a kind of fault.
func (r *report) quantile(kind string, q float64) time.Duration {
	list := slices.Sorted(slices.Values(r.outages[kind]))
	return list[int(q*float64(len(list)-1)+0.5)].Round(time.Millisecond)
}

// print logs the table of all faults, the numbers of answers, and whether the cluster has kept its bounds.
func (r *report) print(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "fault\ttried\tfirst accepted write: p50\tp99\tmax\tnot within "+maxOutage.String())
	for i := range kinds {
		if name := kinds[i].name; len(r.outages[name]) > 0 {
			fmt.Fprintf(columns, "%s\t%d\t%v\t%v\t%v\t%d\n", name, len(r.outages[name]), r.quantile(name, 0.5), r.quantile(name, 0.99), r.quantile(name, 1), r.failed[name])
		}
	}
	_ = columns.Flush() // a strings.Builder returns no error
	for _, name := range slices.Sorted(maps.Keys(r.totals)) {
		fmt.Fprintf(&text, "%s %d\n", name, r.totals[name])
	}
	fmt.Fprintf(&text, "%d campaigns, %d faults, %d payments acknowledged: %d lost, %d doubled\n", r.campaigns, r.faults(), r.acknowledged, r.lost, r.doubled)
	fmt.Fprintf(&text, "%d histories with %d operations, %d of them undecided\n", r.histories, r.operations, r.undecided)
	if kills := len(r.outages[killLeader]); kills > 0 {
		took := r.quantile(killLeader, 0.99)
		fmt.Fprintf(&text, "%s: first accepted write elsewhere within %v at p99 of %d kills; the bound is %v\n", killLeader, took, kills, maxTakeover)
		if kills >= judgedKills && took > maxTakeover {
			t.Errorf("%s: p99 of %v", killLeader, took)
		}
	}
	t.Logf("\n%s", text.String())
}

// lose reports that something acknowledged is missing or wrong.
func (c *campaign) lose(format string, values ...any) {
	c.t.Helper()
	c.report.update(func() { c.report.lost++ })
	c.t.Errorf("lost: "+format, values...)
}

// double reports that something has happened twice.
func (c *campaign) double(format string, values ...any) {
	c.t.Helper()
	c.report.update(func() { c.report.doubled++ })
	c.t.Errorf("doubled: "+format, values...)
}
