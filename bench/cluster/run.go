package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"mizan/bench/generator"
	"mizan/bench/server"
)

// Sizes of the clusters that are measured.
const (
	nodesOfCluster = 3
	shardsOfMany   = 4
	maxAttempts    = 3 // measurements that are repeated because a lead has moved
)

// NewJob returns a function that makes the job of a connection: payments of the sandbox's organization, with txids that contain
// runID, which are sent to host.
type NewJob func(host, runID string, s *server.Sandbox) func() generator.Job

// bench is one run of the benchmark.
type bench struct {
	cfg      *Config
	dir      string
	newJob   NewJob
	progress io.Writer
	report   Report
}

// Run measures all arrangements, and writes its progress to progress. dir is a directory for the data.
func Run(ctx context.Context, cfg *Config, dir string, newJob NewJob, progress io.Writer) (*Report, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	b := &bench{cfg: cfg, dir: dir, newJob: newJob, progress: progress, report: Report{Connections: cfg.Connections, Organizations: cfg.Organizations, Seconds: cfg.Duration.Seconds()}}
	err := b.measureSystem(ctx, "server", func(dir string) (*system, error) { return startServer(ctx, dir) }, 0, 0, false)
	for _, shards := range []int{1, shardsOfMany} {
		if err == nil {
			err = b.measureCluster(ctx, shards, 0, true)
		}
	}
	if err != nil {
		return nil, err
	}
	b.report.Model = b.report.model()
	if cfg.CPUs > 0 {
		err = b.checkModel(ctx)
	}
	return &b.report, err
}

// checkModel measures clusters whose nodes have few cores. If such limits are not permitted, the report says why.
func (b *bench) checkModel(ctx context.Context) error {
	for _, shards := range []int{1, shardsOfMany} {
		var refused *limitError
		err := b.measureCluster(ctx, shards, b.cfg.CPUs, false)
		if errors.As(err, &refused) {
			b.report.LimitSkipped = refused.Error()
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// limitError says that the processor time of processes cannot be limited here.
type limitError struct{ cause error }

func (e *limitError) Error() string { return "cgroups are not permitted: " + e.cause.Error() }

func (b *bench) measureCluster(ctx context.Context, shards int, cpus float64, forwards bool) error {
	start := func(dir string) (*system, error) { return startCluster(ctx, dir, nodesOfCluster, shards) }
	return b.measureSystem(ctx, fmt.Sprintf("cluster-%d-%g", shards, cpus), start, shards, cpus, forwards)
}

// measureSystem starts a system, measures it, and stops it. With forwards it also measures requests that are sent to another node
// than the leader.
func (b *bench) measureSystem(ctx context.Context, name string, start func(dir string) (*system, error), shards int, cpus float64, forwards bool) (err error) {
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	s, err := start(dir)
	if err != nil {
		return err
	}
	limits := new(limit)
	defer func() { err = errors.Join(err, s.stop(), limits.remove()) }()
	organizations, err := s.createOrganizations(ctx, b.cfg.Organizations)
	if err != nil {
		return err
	}
	if cpus > 0 {
		var pids []int
		for i := range s.Nodes {
			pids = append(pids, s.Nodes[i].PID)
		}
		if limits, err = limitTo(cpus, pids); err != nil {
			return &limitError{err}
		}
	}
	for _, isForwarded := range []bool{false, true} {
		if isForwarded && !forwards {
			break
		}
		m, err := b.measure(ctx, s, organizations, isForwarded)
		if err != nil {
			return err
		}
		m.Nodes, m.Shards, m.Forwarded, m.CPUs = len(s.Nodes), shards, isForwarded, cpus
		if cpus > 0 {
			m.Predicted = b.report.Model.Rate(cpus, m.leads)
		}
		b.report.Measurements = append(b.report.Measurements, *m)
		_, _ = fmt.Fprintf(b.progress, "%s: %.0f payments/s\n", m.name(), m.PerSecond)
	}
	return nil
}

// measure measures until no lead has moved meanwhile.
func (b *bench) measure(ctx context.Context, s *system, organizations []organization, isForwarded bool) (*Measurement, error) {
	for range maxAttempts {
		if err := s.awaitBalance(ctx); err != nil {
			return nil, err
		}
		if err := s.findLeaders(ctx, organizations); err != nil {
			return nil, err
		}
		if _, err := b.load(ctx, s, organizations, isForwarded, b.cfg.Duration/5); err != nil { // the first payments cost more
			return nil, err
		}
		m, hasMoved, err := b.measureOnce(ctx, s, organizations, isForwarded)
		if err != nil || !hasMoved {
			return m, err
		}
		_, _ = fmt.Fprintln(b.progress, "a lead has moved; the measurement is repeated")
	}
	return nil, fmt.Errorf("bench: a lead has moved during each of %d measurements", maxAttempts)
}

func (b *bench) measureOnce(ctx context.Context, s *system, organizations []organization, isForwarded bool) (m *Measurement, hasMoved bool, err error) {
	chargedBefore, err := s.allCharged(ctx, organizations)
	if err != nil {
		return nil, false, err
	}
	before, err := s.allUsages(ctx)
	if err != nil {
		return nil, false, err
	}
	goods, err := b.load(ctx, s, organizations, isForwarded, b.cfg.Duration)
	if err != nil {
		return nil, false, err
	}
	after, err := s.allUsages(ctx)
	if err != nil {
		return nil, false, err
	}
	chargedAfter, err := s.allCharged(ctx, organizations)
	if err != nil {
		return nil, false, err
	}
	o := goods.all.Outcome()
	if charged := chargedAfter - chargedBefore; charged < o.Good || charged > o.Good+o.FailedRequests() {
		return nil, false, fmt.Errorf("bench: %d payments were charged, and %d responses say so (%s)", charged, o.Good, o.ErrorText())
	}
	if o.Good == 0 {
		return nil, false, fmt.Errorf("bench: no payment was charged (%s)", o.ErrorText())
	}
	m = &Measurement{Payments: o.Good, PerSecond: o.PerSecond, P50: o.Latency.P50, P99: o.Latency.P99, Errors: o.Errors}
	m.leads = make([]float64, len(s.Nodes))
	used := make([]usage, len(s.Nodes))
	for i := range used {
		used[i] = after.nodes[i].since(before.nodes[i])
		hasMoved = hasMoved || used[i].leaders > 0
	}
	for i := range organizations {
		m.leads[organizations[i].leader] += float64(goods.byOrganization[i].Outcome().Good) / float64(o.Good)
	}
	m.Roles = roles(used, organizations, isForwarded, float64(o.Good))
	m.Simulator = after.simulator.since(before.simulator).cpu.Seconds() / float64(o.Good)
	m.Generator = after.generator.since(before.generator).cpu.Seconds() / float64(o.Good)
	return m, hasMoved, nil
}

// usages are what all processes have used.
type usages struct {
	nodes                []usage
	simulator, generator usage
}

func (s *system) allUsages(ctx context.Context) (u usages, err error) {
	u.nodes = make([]usage, len(s.Nodes))
	for i := range s.Nodes {
		if u.nodes[i], err = s.usageOf(ctx, &s.Nodes[i]); err != nil {
			return u, err
		}
	}
	if u.simulator, err = usageOfProcess(s.Simulator.PID); err == nil {
		u.generator, err = usageOfProcess(os.Getpid())
	}
	return u, err
}

func (s *system) allCharged(ctx context.Context, organizations []organization) (sum uint64, err error) {
	for i := range organizations {
		n, err := s.charged(ctx, &organizations[i])
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// loadFigures are the figures of a load: of all organizations, and of each.
type loadFigures struct {
	all            *generator.Figures
	byOrganization []*generator.Figures
}

// load lets all organizations pay at once.
func (b *bench) load(ctx context.Context, s *system, organizations []organization, isForwarded bool, duration time.Duration) (f loadFigures, err error) {
	f.all = generator.NewFigures()
	runID := strconv.FormatUint(rand.Uint64()|1<<63, 16)
	errs := make([]error, len(organizations))
	var running sync.WaitGroup
	for i := range organizations {
		o := &organizations[i]
		to := o.leader
		if isForwarded {
			to = (o.leader + 1) % len(s.Nodes)
		}
		dialer, err := generator.NewDialer(s.Nodes[to].BaseURL, nil)
		if err != nil {
			return f, err
		}
		connections := b.cfg.Connections / len(organizations)
		if i < b.cfg.Connections%len(organizations) {
			connections++
		}
		figures := generator.NewFigures()
		f.byOrganization = append(f.byOrganization, figures)
		l := &generator.Load{
			Dialer: dialer, NewJob: b.newJob(dialer.Host(), runID, o.of(s, to)), Connections: connections,
			Duration: duration, Timeout: b.cfg.Timeout, Figures: figures,
		}
		running.Go(func() { errs[i] = l.Run(ctx, 0) })
	}
	running.Wait()
	longest := 0.0
	for _, figures := range f.byOrganization {
		longest = max(longest, figures.Outcome().Seconds)
		f.all.Append(figures, 0)
	}
	f.all.Append(generator.NewFigures(), time.Duration(longest*float64(time.Second))) // they ran at the same time
	return f, errors.Join(errs...)
}
