package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"time"

	"mizan/bench/generator"
	"mizan/bench/lifecycles"
	"mizan/bench/server"
)

// ContractsConfig is the command line of `mizan bench contracts`, which measures contracts from their creation to
// their end. A reading is the secular or the religious form of a contract product.
type ContractsConfig struct {
	Reading     string        `name:"reading" enum:"secular,religious,both" default:"secular" help:"Reading of the contracts: secular, religious or both."`
	Product     string        `name:"product" default:"" help:"Only this product, by its secular name. Default: all products of the reading."`
	Connections int           `name:"connections" default:"200" help:"Connections, each with one request at a time."`
	Duration    time.Duration `name:"duration" default:"30s" help:"How long to measure."`
	Rate        float64       `name:"rate" default:"0" help:"Actions a second over all connections; a latency counts from the time at which the action was due. 0: each connection sends the next action after a response."`
	Preload     int           `name:"preload" default:"0" help:"Contracts to make before measuring."`
	Data        string        `name:"data" placeholder:"DIR" help:"Data directory; kept. Default: a new one, removed at the end."`
	Timeout     time.Duration `name:"timeout" default:"30s" help:"Time after which a response counts as lost."`
	Report      string        `name:"report" placeholder:"FILE" help:"File for the report as JSON."`
}

// Validate returns an error for flags that are out of bounds or contradict each other. kong, which parses the
// command line, calls it.
func (c *ContractsConfig) Validate() error {
	switch {
	case c.Connections < 1 || c.Connections > maxConnections:
		return fmt.Errorf("--connections has to be 1 to %d", maxConnections)
	case c.Duration <= 0, c.Timeout <= 0:
		return fmt.Errorf("--duration and --timeout have to be positive")
	case c.Rate < 0:
		return fmt.Errorf("--rate has to be 0 or more")
	case c.Preload < 0 || c.Preload > maxPreload:
		return fmt.Errorf("--preload has to be 0 to %d", maxPreload)
	case len(c.lifecycles()) == 0:
		return fmt.Errorf("--product %q has no variant in the reading", c.Product)
	}
	return nil
}

// lifecycles returns the lifecycles (the requests of a contract from its creation to its end) that the flags select.
func (c *ContractsConfig) lifecycles() (chosen []*lifecycles.Lifecycle) {
	for i := range lifecycles.All {
		l := &lifecycles.All[i]
		if (c.Reading == "both" || c.Reading == l.Reading) && (c.Product == "" || c.Product == l.Product) {
			chosen = append(chosen, l)
		}
	}
	return chosen
}

// ContractsReport is the JSON report of `mizan bench contracts`.
type ContractsReport struct {
	Header
	Reading     string            `json:"reading"`
	Connections int               `json:"connections"`
	Rate        float64           `json:"rate"` // actions a second; 0 if each connection sends as soon as it can
	Preload     generator.Outcome `json:"preload,omitzero"`
	Outcome     generator.Outcome `json:"outcome"`
	Server      *Costs            `json:"server,omitempty"`
	Generator   Costs             `json:"generator"`
	Ledger      string            `json:"ledger"` // "ok", or a description of the fault
}

// Contracts measures a server while it carries out the actions of many contracts, from their creation to their end. It
// prints the figures and checks the ledger afterwards. Each action is durable when its response arrives.
func Contracts(ctx context.Context, cfg ContractsConfig, out io.Writer) (err error) {
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
	r := &serverRun{out: out, cfg: PaymentsConfig{
		Workload: workloadPayments, Connections: cfg.Connections, Duration: cfg.Duration, TLS: "off", Timeout: cfg.Timeout,
	}}
	if err := r.open(ctx, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	ctx, cancel := r.whileServed(ctx)
	defer cancel()
	report := ContractsReport{Header: newHeader(dir), Reading: cfg.Reading, Connections: cfg.Connections, Rate: cfg.Rate, Ledger: "ok"}
	work := &contractWorkload{host: r.dialer.Host(), sandbox: &r.sandbox, lifecycles: cfg.lifecycles()}
	if cfg.Preload > 0 {
		l := r.load(func() generator.Job {
			return &contractJob{contractWorkload: work, creationsOnly: true, random: newRandom()}
		})
		l.Limit = uint64(cfg.Preload)
		if report.Preload, err = r.runLoad(ctx, "preload", l, 0); err != nil {
			return err
		}
	}
	l := r.load(func() generator.Job { return &contractJob{contractWorkload: work, random: newRandom()} })
	l.Duration, l.Rate = cfg.Duration, cfg.Rate
	meter := startMeter(r.server)
	report.Outcome, err = r.runLoad(ctx, "contracts", l, uint64(cfg.Preload))
	report.Server, report.Generator = meter.stop()
	if err != nil {
		return err
	}
	_, balanceErr := r.auditor.checkTrialBalance(ctx)
	if balanceErr != nil {
		report.Ledger = balanceErr.Error()
	}
	report.print(out)
	return errors.Join(balanceErr, writeReport(cfg.Report, &report))
}

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

func (r *ContractsReport) print(out io.Writer) {
	o := &r.Outcome
	printLine(out, "machine    %v", r.Machine)
	if r.Preload.Good > 0 {
		printLine(out, "preload    %d contracts in %.1f s: %.0f/s", r.Preload.Good, r.Preload.Seconds, r.Preload.PerSecond)
	}
	pace := "closed loop"
	if r.Rate > 0 {
		pace = fmt.Sprintf("%g/s asked for, sent late p99 %.2f ms", r.Rate, o.LateP99)
	}
	printLine(out, "contracts  %d actions in %.1f s: %.0f/s, %d connections, %s, %s reading", o.Good, o.Seconds, o.PerSecond, r.Connections, pace, r.Reading)
	printLine(out, "latency    %v", o.Latency)
	printLine(out, "errors     %s", o.ErrorText())
	if s := r.Server; s != nil {
		printLine(out, "server     %.2f CPU s (%.0f µs each), peak anonymous memory %d MiB", s.CPUSeconds, s.CPUSeconds*1e6/float64(max(o.Good, 1)), s.PeakAnon>>20)
	}
	printLine(out, "generator  %.2f CPU s", r.Generator.CPUSeconds)
	printLine(out, "ledger     %s", r.Ledger)
}

// contractWorkload has the data that all connections of a run share.
type contractWorkload struct {
	host       string
	sandbox    *server.Sandbox
	lifecycles []*lifecycles.Lifecycle
}

// contractJob takes one contract at a time through its lifecycle, on one connection.
type contractJob struct {
	*contractWorkload
	random        *rand.Rand
	creationsOnly bool
	current       *lifecycles.Lifecycle
	nextStep      int    // number of the next step, counted from 1; 0 if the contract must be created first
	id            string // id of the contract
	requestBytes  []byte // buffer of the next request
}

// Request implements generator.Job. It returns the request for the contract's next step or, after the last step, a
// request that creates another contract.
func (c *contractJob) Request(uint64) []byte {
	if c.current == nil || c.nextStep > len(c.current.Steps) || c.creationsOnly {
		c.current, c.nextStep, c.id = c.lifecycles[c.random.IntN(len(c.lifecycles))], 0, ""
	}
	path, body := c.current.Path, c.current.CreateBody
	if c.nextStep > 0 {
		s := &c.current.Steps[c.nextStep-1]
		path, body = path+"/"+c.id+"/"+s.Action, s.Body
	}
	body = lifecycles.Fill(body, time.Now())
	b := c.requestBytes[:0]
	b = append(append(b, "POST "...), path...)
	b = append(append(b, " HTTP/1.1\r\nHost: "...), c.host...)
	b = append(append(b, "\r\nauthorization: Bearer "...), c.sandbox.SessionToken...)
	b = append(append(b, "\r\nx-organization-id: "...), c.sandbox.OrganizationID...)
	b = append(b, "\r\nContent-Type: application/json\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	c.requestBytes = append(append(b, "\r\n\r\n"...), body...)
	return c.requestBytes
}

// Check implements generator.Job. After any response other than success the connection begins another contract.
func (c *contractJob) Check(_ uint64, a *generator.Response) string {
	want := 200
	if c.nextStep == 0 {
		want = 201
	}
	if a.Status != want {
		kind := "HTTP " + strconv.Itoa(a.Status) + " of " + c.current.Product
		if c.nextStep > 0 {
			kind += " " + c.current.Steps[c.nextStep-1].Action
		}
		c.current = nil
		return kind
	}
	if c.nextStep == 0 {
		c.id = string(generator.MemberValue(a.Body, `"id":`))
	}
	c.nextStep++
	return ""
}

// OnLost implements generator.Job.
func (c *contractJob) OnLost(uint64) { c.current = nil }
