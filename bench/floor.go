package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"mizan/api/echo"
	"mizan/bench/floor"
	"mizan/bench/generator"
	"mizan/bench/server"
)

// Bounds of the rounds of --against-floor, which compares payments with two operations that do less than a payment: a bare echo
// of an HTTP request, and a lone durable write. The rounds are short, so that other work of the machine affects all three
// operations alike.
const (
	roundDuration = time.Second / 2 // length of a round, but there are at least minRounds and at most maxRounds
	minRounds     = 4
	maxRounds     = 1000
)

// Floor is the report of --against-floor: the results of echoes and lone writes, and the ratios.
type Floor struct {
	Rounds       []floor.Round     `json:"rounds"`
	RoundSeconds float64           `json:"round_seconds"` // length of a round of each of the three kinds
	RequestBytes int               `json:"request_bytes"` // size of a payment's request, and also of an echoed request
	Echo         generator.Outcome `json:"echo"`
	EchoServer   Costs             `json:"echo_server"`
	Sync         generator.Outcome `json:"sync"` // lone writes of SyncBytes, each with an fdatasync
	SyncBytes    int               `json:"sync_bytes"`
	Ratios       floor.Ratios      `json:"ratios"`
}

// Echo prints a URL. Until ctx ends, it answers each POST to this URL with the request's own body.
func Echo(ctx context.Context, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("bench: echo: %w", err)
	}
	printLine(out, "%shttp://%v", server.EchoReadyPrefix, l.Addr())
	s := echo.New()
	defer context.AfterFunc(ctx, func() { _, _ = s.Stop(), l.Close() })()
	if err := s.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("bench: echo: %w", err)
	}
	return nil
}

// echoJob makes the same requests as a paymentJob, but sends them to the echo server, which creates no payments.
type echoJob struct{ *paymentJob }

// Check implements generator.Job. The response must be the body of the request.
func (e *echoJob) Check(_ uint64, a *generator.Response) string {
	switch {
	case a.Status != 200:
		return "HTTP " + strconv.Itoa(a.Status)
	case !bytes.HasSuffix(e.requestBytes, a.Body) || len(a.Body) != e.bodySize:
		return "another body"
	}
	return ""
}

// OnLost implements generator.Job. A lost echo needs no follow-up, because the echo server stores nothing.
func (*echoJob) OnLost(uint64) {}

// floorRun runs rounds of payments, rounds of echoes and rounds of lone writes in turn.
type floorRun struct {
	*serverRun
	report      *Floor
	roundLength time.Duration // duration of a round
	echo        *server.Echo
	echoDialer  *generator.Dialer
	echoJobs    *payments
	disk        *floor.Disk

	openPayments, openEchoes *generator.Connections
	nextPayment, nextEcho    uint64

	payments, echoes, writes *generator.Figures // of all rounds
	generatorCPU             time.Duration      // CPU time of this process during rounds of payments
	round                    floor.Round        // the round under way
}

// againstFloor measures payments, echoed requests and lone writes in turn. All rounds of one kind together take the run's
// duration. The payments are numbered from firstNumber on. againstFloor returns the results of the payments.
func (r *serverRun) againstFloor(ctx context.Context, firstNumber uint64) (o generator.Outcome, err error) {
	f := &floorRun{
		serverRun: r, report: &Floor{SyncBytes: floor.BlockSize}, nextPayment: firstNumber,
		payments: generator.NewFigures(), echoes: generator.NewFigures(), writes: generator.NewFigures(),
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := f.open(ctx); err != nil {
		return o, err
	}
	before, err := server.UsageOf(f.echo.PID())
	if err != nil {
		return o, err
	}
	if err := f.alternate(ctx, roundsIn(r.cfg.Duration)); err != nil {
		return o, err
	}
	after, err := server.UsageOf(f.echo.PID())
	if err != nil {
		return o, err
	}
	f.report.Echo, f.report.Sync = f.echoes.Outcome(), f.writes.Outcome()
	f.report.EchoServer = Costs{CPUSeconds: (after.CPU - before.CPU).Seconds(), PeakAnon: after.Anon}
	r.floor, r.generatorCPU = f.report, f.generatorCPU
	return f.payments.Outcome(), nil
}

// roundsIn returns the number of rounds of each kind. All rounds of one kind together take the time d. The number is even,
// because every second round has the reverse order of kinds (see kindOrder), and both orders must be equally frequent.
func roundsIn(d time.Duration) int {
	n := int(min(max((d+roundDuration-1)/roundDuration, minRounds), maxRounds))
	return n + n%2
}

// open starts the echo server, opens the connections, and opens the file for the lone writes.
func (f *floorRun) open(ctx context.Context) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	if f.disk, err = floor.OpenDisk(f.dir); err != nil {
		return err
	}
	startCtx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if f.echo, err = server.StartEcho(startCtx, binary); err != nil {
		return err
	}
	if f.echoDialer, err = generator.NewDialer(f.echo.BaseURL, nil); err != nil {
		return err
	}
	f.echoJobs = newPayments(f.echoDialer.Host(), "0123456789abcdef", &f.sandbox, false)
	f.report.RequestBytes = len(f.serverRun.payments.template)
	if f.openPayments, err = generator.OpenConnections(ctx, f.dialer, f.cfg.Connections); err != nil {
		return err
	}
	f.openEchoes, err = generator.OpenConnections(ctx, f.echoDialer, f.cfg.Connections)
	return err
}

// close stops what open has started.
func (f *floorRun) close() (err error) {
	for _, open := range []*generator.Connections{f.openPayments, f.openEchoes} {
		if open != nil {
			open.Close()
		}
	}
	if f.echo != nil {
		err = f.echo.Stop(stopTimeout)
	}
	if f.disk != nil {
		err = errors.Join(err, f.disk.Close())
	}
	return err
}

// alternate runs the rounds.
func (f *floorRun) alternate(ctx context.Context, rounds int) error {
	f.roundLength = f.cfg.Duration / time.Duration(rounds)
	f.report.RoundSeconds = f.roundLength.Seconds()
	kinds := []func(context.Context) error{f.pay, f.echoRequests, f.write}
	for n := range rounds {
		for _, i := range kindOrder(n, len(kinds)) {
			if err := kinds[i](ctx); err != nil {
				return err
			}
		}
		r := &f.round
		f.report.Rounds = append(f.report.Rounds, *r)
		printLine(f.out, "round %3d of %d: %6.0f payments/s, p50 %.2f ms; %7.0f echoes/s; %6.0f fdatasyncs/s, p50 %.3f ms",
			n+1, rounds, r.Payments.PerSecond, r.Payments.P50, r.Echo.PerSecond, r.Sync.PerSecond, r.Sync.P50)
	}
	return nil
}

// kindOrder returns the order in which a round measures the kinds. Every second round has the reverse order, because each
// measurement may leave work that slows the next one, so the same kind must not always come first.
func kindOrder(round, kinds int) []int {
	order := make([]int, kinds)
	for i := range order {
		order[i] = i
	}
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// pay runs a round of payments.
func (f *floorRun) pay(ctx context.Context) (err error) {
	l := f.load(f.serverRun.payments.job)
	l.Open, l.Duration = f.openPayments, f.roundLength
	before, err := server.UsageOf(os.Getpid())
	if err != nil {
		return err
	}
	f.round.Payments, err = f.runRound(ctx, "payments", l, f.nextPayment, f.payments)
	f.nextPayment = l.NextNumber()
	after, usageErr := server.UsageOf(os.Getpid())
	f.generatorCPU += after.CPU - before.CPU
	return errors.Join(err, usageErr)
}

// echoRequests runs a round of echoes.
func (f *floorRun) echoRequests(ctx context.Context) (err error) {
	l := f.load(func() generator.Job { return &echoJob{f.echoJobs.job().(*paymentJob)} })
	l.Dialer, l.Open, l.Duration = f.echoDialer, f.openEchoes, f.roundLength
	f.round.Echo, err = f.runRound(ctx, "echo", l, f.nextEcho, f.echoes)
	f.nextEcho = l.NextNumber()
	return err
}

// runRound runs a load and adds its figures to the total.
func (f *floorRun) runRound(ctx context.Context, name string, l *generator.Load, firstNumber uint64, total *generator.Figures) (floor.Measured, error) {
	if err := l.Run(ctx, firstNumber); err != nil {
		return floor.Measured{}, fmt.Errorf("bench: %s: %w", name, err)
	}
	return addRound(name, l.Figures, total, f.roundLength)
}

// write runs a round of lone writes.
func (f *floorRun) write(ctx context.Context) (err error) {
	figures, began, now := generator.NewFigures(), time.Now(), time.Duration(0)
	for now < f.roundLength && ctx.Err() == nil {
		if err := f.disk.Write(); err != nil {
			return err
		}
		written := time.Since(began)
		figures.CountGood(now, now, written)
		now = written
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f.round.Sync, err = addRound("fdatasync", figures, f.writes, now)
	return err
}

// addRound adds the figures of a round to the total, and returns the round's rate and median. A round without
// any result is an error, because it has no ratio.
func addRound(name string, figures, total *generator.Figures, length time.Duration) (floor.Measured, error) {
	total.Append(figures, length)
	o := figures.Outcome()
	if o.Good == 0 {
		return floor.Measured{}, fmt.Errorf("bench: a round of %s had no result (%s)", name, o.ErrorText())
	}
	return floor.Measured{PerSecond: float64(o.Good) / length.Seconds(), P50: o.Latency.P50}, nil
}

func measuredOf(o *generator.Outcome) floor.Measured {
	return floor.Measured{PerSecond: o.PerSecond, P50: o.Latency.P50}
}

// compareWithFloor computes the ratios. Before it is called, the report must have the outcome and the server's CPU.
func (r *serverRun) compareWithFloor() {
	f := r.floor
	if f == nil {
		return
	}
	total := floor.Total{
		Round:   floor.Round{Payments: measuredOf(&r.report.Outcome), Echo: measuredOf(&f.Echo), Sync: measuredOf(&f.Sync)},
		EchoCPU: f.EchoServer.CPUSeconds / float64(f.Echo.Good),
	}
	if s := r.report.Server; s != nil {
		total.PaymentCPU = s.CPUSeconds / float64(r.report.Outcome.Good)
	}
	f.Ratios = floor.Compare(total, f.Rounds)
	r.report.Floor = f
	r.report.Generator.CPUSeconds = r.generatorCPU.Seconds() // CPU time of the payments alone
}

// printFloor prints the results of echoes and lone writes, and the ratios.
func (r *serverRun) printFloor(out io.Writer) {
	f := r.report.Floor
	if f == nil {
		return
	}
	printLine(out, "echo       %d of %d bytes in %.1f s: %.0f/s, p50 %.2f ms, %.1f µs of CPU each; errors %s", f.Echo.Good, f.RequestBytes, f.Echo.Seconds,
		f.Echo.PerSecond, f.Echo.Latency.P50, f.EchoServer.CPUSeconds*1e6/float64(f.Echo.Good), f.Echo.ErrorText())
	printLine(out, "fdatasync  %d lone writes of %d bytes in %.1f s: %.0f/s, p50 %.3f ms, p99 %.3f ms", f.Sync.Good, f.SyncBytes, f.Sync.Seconds,
		f.Sync.PerSecond, f.Sync.Latency.P50, f.Sync.Latency.P99)
	a := &f.Ratios
	line := func(r floor.Ratio, text string) {
		printLine(out, "ratio      %7.3f (of the rounds: median %.3f, %.3f to %.3f)  %s", r.Value, r.Median, r.Lowest, r.Highest, text)
	}
	line(a.PaymentsPerSync, "payments/s to lone fdatasyncs/s")
	line(a.PaymentsPerEcho, "payments/s to echoes/s")
	line(a.P50PerSync, "p50 of a payment to p50 of a lone fdatasync")
	if a.CPUPerEcho != 0 {
		printLine(out, "ratio      %7.3f  the server's CPU for a payment to the echo's for a request", a.CPUPerEcho)
	}
}
