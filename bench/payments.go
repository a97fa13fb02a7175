package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"time"

	"mizan/bench/clicks"
	"mizan/bench/generator"
	"mizan/bench/server"
)

const (
	startTimeout = 15 * time.Minute // the server may have to read a large store when it starts
	stopTimeout  = 30 * time.Second

	// samplePeriod is how often the server's memory is measured.
	samplePeriod = 100 * time.Millisecond
)

// PaymentsReport is the JSON report of `mizan bench payments`.
type PaymentsReport struct {
	Header
	Workload    string            `json:"workload"`
	Connections int               `json:"connections"`
	Rate        float64           `json:"rate"` // requests a second; 0 if each connection sends as soon as it can
	Preload     generator.Outcome `json:"preload,omitzero"`
	Outcome     generator.Outcome `json:"outcome"`
	Overload    []OfferedLoad     `json:"overload,omitempty"` // with --overload; Outcome is then the capacity
	Floor       *Floor            `json:"floor,omitempty"`    // with --against-floor
	Server      *Costs            `json:"server,omitempty"`   // nil with --target
	Generator   Costs             `json:"generator"`
	Ledger      string            `json:"ledger"`         // "ok", or a description of the fault
	Charged     uint64            `json:"charged"`        // number of charged payments
	Fees        string            `json:"fees,omitempty"` // fees of all charged payments in minor units, computed from the terminals' fee rules
	Resolved    int               `json:"resolved"`       // number of payments whose outcome had to be looked up after the run
	Partners    int               `json:"partners"`       // number of partners that made payments
	Keys        int               `json:"keys"`           // number of API keys of all these partners
	Limits      int               `json:"limits"`         // number of limits of each partner

	Notices *NotificationCounts `json:"notices,omitempty"` // with --notify
	Console *clicks.Report      `json:"console,omitempty"` // with --console
}

// Costs are the resources that a process used while it was measured. The fields that begin with Ready describe the start of the
// process: the seconds until it accepted requests, and its memory at that time.
type Costs struct {
	CPUSeconds    float64 `json:"cpu_seconds"`
	PeakAnon      int64   `json:"peak_anonymous_bytes"`
	ReadyAfter    float64 `json:"ready_after_seconds,omitempty"`
	ReadyAnon     int64   `json:"ready_anonymous_bytes,omitempty"`
	ReadyResident int64   `json:"ready_resident_bytes,omitempty"` // including mapped pages of files
}

// Payments measures a server under a load of payments, or of reads of payments. It prints the figures and checks
// the ledger afterwards. An error means that there are no figures, or that they can't be
// trusted.
func Payments(ctx context.Context, cfg PaymentsConfig, out io.Writer) (err error) {
	if err := cfg.Validate(); err != nil {
		return err
	}
	dir, remove, err := dataDirectory(cfg.Data)
	if err != nil {
		return err
	}
	defer remove()
	if cfg.Target == "" || cfg.AgainstFloor {
		warnIfInMemory(out, dir)
	}
	// Most cores are left to the server. One core is enough for a hundred thousand exchanges a
	// second, and idle threads that look for work cost CPU too.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(1, runtime.NumCPU()/4)))

	r := &serverRun{cfg: cfg, dir: dir, out: out, report: PaymentsReport{
		Header: newHeader(dir), Workload: cfg.Workload, Connections: cfg.Connections, Rate: cfg.Rate,
	}}
	if err := r.open(ctx, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	ctx, cancel := r.whileServed(ctx)
	defer cancel()
	if err := r.measure(ctx); err != nil {
		return err
	}
	r.print()
	return errors.Join(r.ledgerErr, writeReport(cfg.Report, &r.report))
}

// serverRun is one run against a server: a call of Payments, Contracts, Access or Soak.
type serverRun struct {
	cfg      PaymentsConfig
	dir      string // the data directory
	out      io.Writer
	report   PaymentsReport
	server   *server.Server // nil with --target
	sandbox  server.Sandbox
	dialer   *generator.Dialer
	auditor  *ledgerReader
	payments *payments

	feeRules    feeRules // rules of the terminals that take a fee, read before the run
	booksBefore *ledgerTotals

	floor        *Floor        // with --against-floor
	generatorCPU time.Duration // with --against-floor: CPU time of the generator during rounds of payments

	sink         *notificationSink // receiver of notifications; nil without --notify
	merchants    *merchants        // nil if the sandbox's own partner makes the payments
	usageAtReady server.Usage      // usage of the server at the time when it was ready
	ledgerErr    error             // error of awaitNotifications or checkLedger
}

// open starts the server, unless the flags name a target, and reads the server's sandbox.json. It also creates what the flags
// ask for: merchants, limits and a receiver of notifications.
func (r *serverRun) open(ctx context.Context, dir string) (err error) {
	if r.cfg.Target == "" {
		if err := r.start(ctx, dir); err != nil {
			return err
		}
		r.sandbox = r.server.Sandbox
	} else if r.sandbox, err = server.ReadSandbox(dir); err != nil {
		return err
	} else {
		r.sandbox.BaseURL = r.cfg.Target
	}
	if r.cfg.Partners > 0 {
		err = r.ensureMerchants(ctx, dir)
	}
	if err == nil {
		err = r.connect()
	}
	if err == nil && r.cfg.Limits {
		err = r.createLimits(ctx)
	}
	if err == nil && r.cfg.Notify {
		err = r.setNotificationAddress(ctx)
	}
	if err != nil {
		err = errors.Join(err, r.close())
	}
	return err
}

// start starts the server, with further arguments, and waits until the server is ready.
func (r *serverRun) start(ctx context.Context, dir string, args ...string) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	s, err := server.Start(server.Options{Binary: binary, Dir: dir, TLS: r.cfg.TLS, Args: append([]string{"--log-level", "warn"}, args...)})
	if err != nil {
		return err
	}
	startCtx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.WaitReady(startCtx); err != nil {
		select {
		case <-s.Exited():
			return err
		default:
			return errors.Join(err, s.Kill())
		}
	}
	r.server = s
	r.usageAtReady, err = server.UsageOf(s.PID())
	return err
}

// connect makes the clients for the server's address and credentials: the dialer of the load, the auditor and the requests that
// create payments.
func (r *serverRun) connect() error {
	config, err := r.sandbox.TLS()
	if err != nil {
		return err
	}
	if r.dialer, err = generator.NewDialer(r.sandbox.BaseURL, config); err != nil {
		return err
	}
	client, err := r.sandbox.Client()
	if err != nil {
		return err
	}
	r.auditor = &ledgerReader{client: client, baseURL: r.sandbox.BaseURL, sandbox: &r.sandbox}
	runID := strconv.FormatUint(rand.Uint64()|1<<63, 16) // different runs have different txids
	r.payments = newPayments(r.dialer.Host(), runID, &r.sandbox, r.cfg.Workload == workloadRead)
	r.report.Partners, r.report.Keys = 1, 1
	if r.merchants == nil {
		return nil
	}
	r.auditor.allPartners = true
	counts := r.merchants.counts()
	r.report.Partners, r.report.Keys = counts.partners, counts.keys
	if err := r.payments.useKeys(r.merchants.keys(), &r.sandbox); err != nil {
		return err
	}
	for i := range r.merchants.Partners {
		r.merchants.Partners[i].Keys = nil // frees the keys, so that the generator's garbage collector need not scan them
	}
	return nil
}

// close stops what open has started: the server and the receiver of notifications.
func (r *serverRun) close() error {
	if r.auditor != nil {
		r.auditor.client.CloseIdleConnections()
	}
	var err error
	if r.server != nil {
		err = r.server.Stop(stopTimeout)
	}
	if r.sink != nil {
		r.sink.close()
	}
	return err
}

// whileServed returns a context that also ends when the started server ends, so that the run does not
// continue and count refused connections.
func (r *serverRun) whileServed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if r.server != nil {
		exited := r.server.Exited()
		go func() {
			select {
			case <-exited:
				cancel(errors.New("the server has ended"))
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// measure runs the preload and the measured load, and checks the ledger.
func (r *serverRun) measure(ctx context.Context) (err error) {
	if err := r.readLedger(ctx); err != nil {
		return err
	}
	preload := r.cfg.Preload
	if preload == 0 && r.cfg.Workload == workloadRead {
		preload = defaultPreload
	}
	if preload > 0 {
		l := r.load(r.payments.job)
		l.Limit = uint64(preload)
		if r.report.Preload, err = r.runLoad(ctx, "preload", l, 0); err != nil {
			return err
		}
	}
	newJob, err := r.measuredJob(ctx)
	if err != nil {
		return err
	}
	stopClicking, err := r.click(ctx)
	if err != nil {
		return err
	}
	meter := startMeter(r.server)
	switch {
	case r.cfg.Overload:
		r.report.Outcome, err = r.overload(ctx, uint64(preload))
	case r.cfg.AgainstFloor:
		r.report.Outcome, err = r.againstFloor(ctx, uint64(preload))
	default:
		l := r.load(newJob)
		l.Duration, l.Rate = r.cfg.Duration, r.cfg.Rate
		r.report.Outcome, err = r.runLoad(ctx, r.cfg.Workload, l, uint64(preload))
	}
	r.report.Server, r.report.Generator = meter.stop()
	stopClicking()
	notifiedDuringRun := 0
	if r.sink != nil {
		notifiedDuringRun = r.sink.counts().Unique
	}
	if c := r.report.Server; c != nil {
		c.ReadyAnon, c.ReadyResident = r.usageAtReady.Anon, r.usageAtReady.Resident
	}
	if err != nil {
		return err
	}
	r.compareWithFloor()
	if r.report.Resolved, err = r.payments.resolveUnknown(ctx, r.dialer); err != nil {
		return err
	}
	r.report.Charged = r.payments.chargedCount
	r.ledgerErr = errors.Join(r.awaitNotifications(ctx, notifiedDuringRun), r.checkLedger(ctx))
	if r.report.Ledger = "ok"; r.ledgerErr != nil {
		r.report.Ledger = r.ledgerErr.Error()
	}
	return nil
}

// measuredJob returns the function that makes a job for each connection of the measured load.
func (r *serverRun) measuredJob(ctx context.Context) (newJob func() generator.Job, err error) {
	switch r.cfg.Workload {
	case workloadRead:
		if len(r.payments.ids) == 0 {
			return nil, fmt.Errorf("bench: there is nothing to read: no payment was charged (%s)", r.report.Preload.ErrorText())
		}
		return newReadWorkload(r.dialer.Host(), &r.sandbox, r.payments.ids).job, nil
	case workloadList:
		return newListWorkload(r.dialer.Host(), r.cfg.Query, &r.sandbox).job, nil
	case workloadLink:
		link, err := r.newLinkWorkload(ctx)
		if err != nil {
			return nil, err
		}
		return link.job, nil
	}
	return r.payments.job, nil
}

// load returns a load with the settings of the run's flags. The caller adds the duration or the limit of the load.
func (r *serverRun) load(newJob func() generator.Job) *generator.Load {
	return &generator.Load{
		Dialer: r.dialer, NewJob: newJob, Connections: r.cfg.Connections,
		Timeout: r.cfg.Timeout, Figures: generator.NewFigures(),
	}
}

// runLoad runs a load, whose requests are numbered from firstNumber on, and prints its progress every second.
func (r *serverRun) runLoad(ctx context.Context, name string, l *generator.Load, firstNumber uint64) (generator.Outcome, error) {
	stop := make(chan struct{})
	stopped := make(chan struct{})
	limit := l.Limit // copied, because Run changes l.Limit
	go func() {
		defer close(stopped)
		printProgress(r.out, name, l.Figures, limit, stop)
	}()
	err := l.Run(ctx, firstNumber)
	close(stop)
	<-stopped
	if err != nil {
		err = fmt.Errorf("bench: %s: %w", name, err)
	}
	return l.Figures.Outcome(), err
}

// printProgress prints one line each second until stop is closed. If the number of requests is limited, the line ends with the
// number of requests that are done and the time that the remaining requests will take.
func printProgress(out io.Writer, name string, f *generator.Figures, limit uint64, stop <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var previousGood uint64
	for second := 1; ; second++ {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		o := f.Outcome()
		printLine(out, "%-8s %4ds  %8d/s  p50 %.2f ms  p99 %.2f ms  errors %d%s", name, second, o.Good-previousGood, o.Latency.P50, o.Latency.P99, o.FailedRequests(), remaining(o.Good, limit, second))
		previousGood = o.Good
	}
}

// remaining returns a text with the number of requests that are done and the time that the remaining requests will take. The
// text is empty if limit is 0.
func remaining(done, limit uint64, seconds int) string {
	if limit == 0 || done == 0 || done > limit {
		return ""
	}
	return fmt.Sprintf("  %d of %d, %d s left", done, limit, (limit-done)*uint64(seconds)/done)
}

// readLedger reads, before the run, what checkLedger needs: the terminals' fee rules and the ledger's totals.
func (r *serverRun) readLedger(ctx context.Context) (err error) {
	if r.feeRules, err = r.auditor.readFeeRules(ctx); err != nil {
		return err
	}
	r.booksBefore, err = r.auditor.readBooks(ctx, r.feeRules)
	return err
}

// checkLedger compares the ledger with the charged payments.
func (r *serverRun) checkLedger(ctx context.Context) error {
	after, err := r.auditor.readBooks(ctx, r.feeRules)
	if err != nil {
		return err
	}
	if r.cfg.Workload != workloadLink { // with the link workload, another load may make payments meanwhile
		var fees *big.Int
		if fees, err = after.checkCharged(r.booksBefore, r.report.Charged, r.feeRules); err == nil {
			r.report.Fees = fees.String()
		}
	}
	_, trialErr := r.auditor.checkTrialBalance(ctx)
	return errors.Join(err, trialErr)
}

// print prints the report for people.
func (r *serverRun) print() {
	p, o := &r.report, &r.report.Outcome
	pace := "closed loop"
	if p.Rate > 0 {
		pace = fmt.Sprintf("%g/s asked for, sent late p99 %.2f ms", p.Rate, o.LateP99)
	}
	printLine(r.out, "machine    %v", p.Machine)
	printLine(r.out, "spread     over %d partners and %d keys, %d limits on each partner", p.Partners, p.Keys, p.Limits)
	if p.Preload.Good > 0 {
		printLine(r.out, "preload    %d in %.1f s: %.0f/s", p.Preload.Good, p.Preload.Seconds, p.Preload.PerSecond)
	}
	printLine(r.out, "%-10s %d in %.1f s: %.0f/s, %d connections, %s", p.Workload, o.Good, o.Seconds, o.PerSecond, p.Connections, pace)
	printLine(r.out, "latency    %v", o.Latency)
	printLine(r.out, "errors     %s", o.ErrorText())
	r.printOverload(r.out)
	if s := p.Server; s != nil {
		printLine(r.out, "server     %.2f CPU s (%.0f µs each), peak anonymous memory %d MiB", s.CPUSeconds, s.CPUSeconds*1e6/float64(max(o.Good, 1)), s.PeakAnon>>20)
		printLine(r.out, "start      ready after %.2f s with %d MiB of anonymous memory, %d MiB resident", s.ReadyAfter, s.ReadyAnon>>20, s.ReadyResident>>20)
	}
	r.printNotices(r.out)
	r.printConsole(r.out)
	r.printFloor(r.out)
	printLine(r.out, "generator  %.2f CPU s (%.0f µs each)", p.Generator.CPUSeconds, p.Generator.CPUSeconds*1e6/float64(max(o.Good, 1)))
	printLedger(r.out, p.Ledger, p.Charged, p.Resolved, p.Fees)
}

// printLedger prints the result of the check of the ledger.
func printLedger(out io.Writer, result string, charged uint64, resolved int, fees string) {
	printLine(out, "ledger     %s: %d payments of %d charged, %d of them asked for again, fees of %s", result, charged, paymentAmount, resolved, cmp.Or(fees, "0"))
}
