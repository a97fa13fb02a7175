package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"mizan/bench/generator"
	"mizan/bench/soak"
)

// Bounds of the flags of `mizan bench soak`.
const (
	minInterval = 100 * time.Millisecond
	maxInterval = 24 * time.Hour
)

// SoakConfig is the command line of `mizan bench soak`, a long run of payments that reports figures at regular intervals.
type SoakConfig struct {
	Payments    int           `name:"payments" default:"1000000" help:"Payments to make, each with a txid of its own."`
	Connections int           `name:"connections" default:"256" help:"Connections, each with one request at a time."`
	Interval    time.Duration `name:"interval" default:"1m" help:"How often a row of figures is printed and written into the report."`
	Recovery    bool          `name:"recovery" help:"At the end, kill the server under load and measure how long it takes until it is ready again, with the real and with a manual clock."`
	Target      string        `name:"target" placeholder:"URL" help:"A running sandbox server to load; --data names its directory. Its CPU, memory and writes are not measured. Default: start one."`
	Data        string        `name:"data" placeholder:"DIR" help:"Data directory; kept. Default: a new one, removed at the end."`
	Timeout     time.Duration `name:"timeout" default:"30s" help:"Time after which a response counts as lost."`
	Report      string        `name:"report" placeholder:"FILE" help:"File for the report as JSON."`
	SVG         string        `name:"svg" placeholder:"FILE" help:"File for a picture (SVG) of the figures over time."`
}

// Validate returns an error for flags that are out of bounds or contradict each other. kong, which parses the
// command line, calls it.
func (c *SoakConfig) Validate() error {
	switch {
	case c.Payments < 1 || c.Payments > maxPreload:
		return fmt.Errorf("--payments has to be 1 to %d", maxPreload)
	case c.Interval < minInterval || c.Interval > maxInterval:
		return fmt.Errorf("--interval has to be %v to %v", minInterval, maxInterval)
	case c.Recovery && c.Target != "":
		return fmt.Errorf("--recovery goes without --target: only a server that the bench has started is killed")
	}
	return c.serverConfig().Validate()
}

// serverConfig returns the configuration of the run's server and requests.
func (c *SoakConfig) serverConfig() *PaymentsConfig {
	return &PaymentsConfig{
		Workload: workloadPayments, Connections: c.Connections, Duration: time.Second, Timeout: c.Timeout, TLS: "off",
		Target: c.Target, Data: c.Data,
	}
}

// SoakReport is the JSON report of `mizan bench soak`.
type SoakReport struct {
	Header
	Payments    int               `json:"payments"` // number of payments that --payments asks for
	Connections int               `json:"connections"`
	Outcome     generator.Outcome `json:"outcome"` // of these payments
	Rows        []soak.Row        `json:"intervals"`
	Windows     *soak.Windows     `json:"ten_seconds,omitempty"` // first and most CPU-intensive ten seconds; nil if unknown
	Server      *Costs            `json:"server,omitempty"`      // nil with --target
	Generator   Costs             `json:"generator"`
	Recovery    []Recovery        `json:"recovery,omitempty"`
	Ledger      string            `json:"ledger"`   // "ok", or a description of the fault
	Charged     uint64            `json:"charged"`  // including the payments of --recovery
	Resolved    int               `json:"resolved"` // number of payments whose outcome had to be looked up after the run
	Fees        string            `json:"fees,omitempty"`
}

// soakRun is one call of Soak.
type soakRun struct {
	*serverRun
	cfg    SoakConfig
	report SoakReport
	next   uint64 // number of the next payment
}

// Soak fills a server's store with payments and prints a row of figures in each interval (a minute by default). Then it checks
// the ledger. An error means that the figures can't be trusted; if the run has begun, its report is written nevertheless.
func Soak(ctx context.Context, cfg SoakConfig, out io.Writer) (err error) {
	if err := cfg.Validate(); err != nil {
		return err
	}
	dir, remove, err := dataDirectory(cfg.Data)
	if err != nil {
		return err
	}
	defer remove()
	warnIfInMemory(out, dir)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(1, runtime.NumCPU()/4)))
	s := &soakRun{
		serverRun: &serverRun{cfg: *cfg.serverConfig(), dir: dir, out: out}, cfg: cfg,
		report: SoakReport{Header: newHeader(dir), Payments: cfg.Payments, Connections: cfg.Connections},
	}
	if err := s.open(ctx, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.readLedger(ctx); err != nil {
		return err
	}
	err = s.fill(ctx)
	if err == nil && cfg.Recovery {
		err = s.recover(ctx)
	}
	if err == nil {
		err = s.check(ctx)
	}
	// The report is written even if a later step failed, because it contains the rows of a run that may have taken hours.
	if err != nil {
		s.report.Ledger = "not checked: " + err.Error()
	}
	s.print()
	return errors.Join(err, s.ledgerErr, writeReport(cfg.Report, &s.report), s.draw())
}

// fill makes the payments and collects the rows of figures.
func (s *soakRun) fill(ctx context.Context) error {
	ctx, cancel := s.whileServed(ctx)
	defer cancel()
	l := s.load(s.payments.job)
	l.Limit = uint64(s.cfg.Payments)
	watch := newSoakWatch(s.serverRun, l.Figures, s.cfg.Interval)
	meter := startMeter(s.server)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		watch.run(stop)
	}()
	err := l.Run(ctx, 0)
	close(stop)
	<-stopped
	s.report.Server, s.report.Generator = meter.stop()
	s.report.Outcome, s.report.Rows, s.report.Windows = l.Figures.Outcome(), watch.rows, watch.windows()
	s.next = l.NextNumber()
	if err != nil {
		return fmt.Errorf("bench: soak: %w", err)
	}
	return nil
}

// check looks up unknown outcomes and compares the ledger with the charged payments.
func (s *soakRun) check(ctx context.Context) (err error) {
	ctx, cancel := s.whileServed(ctx)
	defer cancel()
	if s.report.Resolved, err = s.payments.resolveUnknown(ctx, s.dialer); err != nil {
		return err
	}
	r := &s.serverRun.report
	r.Charged = s.payments.chargedCount
	s.ledgerErr = s.checkLedger(ctx)
	if r.Ledger = "ok"; s.ledgerErr != nil {
		r.Ledger = s.ledgerErr.Error()
	}
	s.report.Ledger, s.report.Charged, s.report.Fees = r.Ledger, r.Charged, r.Fees
	return nil
}

// print prints the report for people.
func (s *soakRun) print() {
	p, o := &s.report, &s.report.Outcome
	printLine(s.out, "machine    %v", p.Machine)
	printLine(s.out, "payments   %d in %.1f s: %.0f/s, %d connections", o.Good, o.Seconds, o.PerSecond, p.Connections)
	printLine(s.out, "latency    %v", o.Latency)
	printLine(s.out, "errors     %s", o.ErrorText())
	if c := p.Server; c != nil {
		printLine(s.out, "server     %.2f CPU s (%.0f µs each), peak anonymous memory %d MiB", c.CPUSeconds, c.CPUSeconds*1e6/float64(max(o.Good, 1)), c.PeakAnon>>20)
	}
	if w := p.Windows; w != nil {
		printLine(s.out, "worst      %.0f µs a payment in the %.0f s from %.0f s on, %.2f times the %.0f µs of the first %.0f s",
			w.Worst.CPU, w.Worst.Seconds, w.Worst.Start, w.Ratio, w.First.CPU, w.First.Seconds)
	}
	for _, r := range p.Recovery {
		printLine(s.out, "recovery   ready %.2f s after SIGKILL and a start with a %s clock, with %d MiB of anonymous memory", r.ReadyAfter, r.Clock, r.ReadyAnon>>20)
	}
	printLine(s.out, "generator  %.2f CPU s (%.0f µs each), peak anonymous memory %d MiB", p.Generator.CPUSeconds, p.Generator.CPUSeconds*1e6/float64(max(o.Good, 1)), p.Generator.PeakAnon>>20)
	printLedger(s.out, p.Ledger, p.Charged, p.Resolved, p.Fees)
}

// draw writes a picture of the rows into the file of --svg, if the flag is given.
func (s *soakRun) draw() error {
	if s.cfg.SVG == "" {
		return nil
	}
	p := &s.report
	title := fmt.Sprintf("%s payments over %d connections", soak.Number(float64(p.Outcome.Good)), p.Connections)
	svg, err := soak.Draw(title, p.Machine.String(), p.Rows).SVG()
	if err == nil {
		err = os.WriteFile(s.cfg.SVG, svg, 0o644)
	}
	if err != nil {
		return fmt.Errorf("bench: picture: %w", err)
	}
	return nil
}
