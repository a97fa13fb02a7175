package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"mizan/bench/generator"
	"mizan/bench/server"
)

const (
	// maxEqualT is a bound of |t|, the statistic of Welch's test. Two cases (kinds of refused API key) with a smaller |t| count as
	// equally fast.
	maxEqualT = 4.5

	// comparedFraction is the fraction of samples that are compared. The slowest samples are dropped,
	// because other work of the machine has delayed them.
	comparedFraction = 0.95

	// warmUpRequests is how many requests are made before samples are recorded.
	warmUpRequests = 2_000

	maxSamples = 10_000_000
)

// AccessConfig is the command line of `mizan bench access`. This command measures whether the response time of a refused request
// reveals why its API key was refused.
type AccessConfig struct {
	Samples   int    `name:"samples" default:"10000" help:"Number of requests for each case."`
	Partners  int    `name:"partners" default:"0" help:"Further partners of the organization, which are created before measuring."`
	Terminals int    `name:"terminals" default:"3" help:"Terminals of each of --partners."`
	Keys      int    `name:"keys" default:"0" help:"Number of API keys of all --partners together. 0: one for each partner."`
	Data      string `name:"data" placeholder:"DIR" help:"Data directory; kept. Default: a new one, removed at the end."`
	Seed      uint64 `name:"seed" default:"0" help:"Seed of the order of the cases; 0: a random one."`
	Report    string `name:"report" placeholder:"FILE" help:"File for the report as JSON."`
}

// Validate returns an error for flags that are out of bounds or contradict each other. kong, which parses the
// command line, calls it.
func (c *AccessConfig) Validate() error {
	if c.Samples < 2 || c.Samples > maxSamples {
		return fmt.Errorf("--samples has to be 2 to %d", maxSamples)
	}
	return c.serverConfig().Validate()
}

// serverConfig returns the configuration of the server under test.
func (c *AccessConfig) serverConfig() *PaymentsConfig {
	return &PaymentsConfig{
		Workload: workloadPayments, Connections: 1, Duration: time.Second, Timeout: generator.DialTimeout, TLS: "off",
		Data: c.Data, Partners: c.Partners, Terminals: c.Terminals, Keys: c.Keys,
	}
}

// AccessReport is the JSON report of `mizan bench access`.
type AccessReport struct {
	Header
	Samples  int         `json:"samples"` // requests of each case
	Seed     uint64      `json:"seed"`
	Cases    []Timing    `json:"cases"`
	T        [][]float64 `json:"t"`         // Welch's t of each pair of cases, by their indexes in Cases
	LargestT float64     `json:"largest_t"` // largest absolute value in T
	Pair     [2]string   `json:"pair"`      // the two cases whose t is LargestT
}

// Timing describes the distribution of a case's response times in µs. The slowest response times are left out.
type Timing struct {
	Case      string  `json:"case"`
	Compared  int     `json:"kept"`
	Mean      float64 `json:"mean_us"`
	Deviation float64 `json:"standard_deviation_us"`
}

// Access sends requests with every kind of refused API key, in random order on one connection, and
// prints Welch's t for the response times of each pair of kinds. An error means that the response times
// differ, or that nothing was measured.
func Access(ctx context.Context, cfg AccessConfig, out io.Writer) (err error) {
	if err := cfg.Validate(); err != nil {
		return err
	}
	dir, remove, err := dataDirectory(cfg.Data)
	if err != nil {
		return err
	}
	defer remove()
	if cfg.Seed == 0 {
		cfg.Seed = rand.Uint64()
	}
	r := &serverRun{cfg: *cfg.serverConfig(), out: out}
	if err := r.open(ctx, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	ctx, cancel := r.whileServed(ctx)
	defer cancel()
	cases, err := deniedCases(ctx, &r.sandbox, r.auditor.client)
	if err != nil {
		return err
	}
	report := &AccessReport{Header: newHeader(dir), Samples: cfg.Samples, Seed: cfg.Seed}
	names, samples, err := measureCases(ctx, r.dialer, cases, cfg.Samples, cfg.Seed)
	if err != nil {
		return err
	}
	report.compare(names, cropSlowest(samples, comparedFraction))
	report.print(out)
	return errors.Join(report.err(), writeReport(cfg.Report, report))
}

// measureCases sends perCase requests of each case, in random order, and returns the names of the cases and
// their response times in µs.
func measureCases(ctx context.Context, d *generator.Dialer, cases []deniedCase, perCase int, seed uint64) (names []string, samples [][]float64, err error) {
	connection, err := d.Dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Unix(1, 0)) })
	order := make([]int, len(cases)*perCase)
	for i := range order {
		order[i] = i % len(cases)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
	requests := make([][]byte, len(cases))
	samples = make([][]float64, len(cases))
	for i := range cases {
		credentials := server.Sandbox{APIKey: cases[i].key, OrganizationID: cases[i].organization}
		requests[i] = requestHead("GET", "/api/v1/balances", d.Host(), &credentials, 0)
		samples[i] = make([]float64, 0, perCase)
		names = append(names, cases[i].name)
	}
	for n := -warmUpRequests; n < len(order); n++ {
		i := order[max(n, 0)]
		if n < 0 {
			i = -n % len(cases)
		}
		began := time.Now()
		a, err := connection.Exchange(requests[i])
		duration := time.Since(began)
		if err != nil {
			return nil, nil, fmt.Errorf("bench: %s: %w", cases[i].name, err)
		}
		if a.Status != 401 || !bytes.Equal(a.Body, []byte(`{"error":"unauthorized"}`)) {
			return nil, nil, fmt.Errorf("bench: %s: HTTP %d: %s", cases[i].name, a.Status, a.Body)
		}
		if n >= 0 {
			samples[i] = append(samples[i], float64(duration)/float64(time.Microsecond))
		}
	}
	return names, samples, nil
}

// compare computes t for each pair of cases.
func (r *AccessReport) compare(names []string, samples [][]float64) {
	stats := make([]sampleMoments, len(samples))
	r.Cases, r.T, r.LargestT, r.Pair = nil, nil, 0, [2]string{}
	for i := range samples {
		stats[i] = sampleMomentsOf(samples[i])
		r.Cases = append(r.Cases, Timing{names[i], stats[i].n, stats[i].mean, math.Sqrt(stats[i].variance)})
	}
	for i := range stats {
		row := make([]float64, len(stats))
		for k := range stats {
			row[k] = welch(stats[i], stats[k])
			if t := math.Abs(row[k]); t > r.LargestT {
				r.LargestT, r.Pair = t, [2]string{names[min(i, k)], names[max(i, k)]}
			}
		}
		r.T = append(r.T, row)
	}
}

// err returns an error if the response times of any two cases differ.
func (r *AccessReport) err() error {
	if r.LargestT < maxEqualT {
		return nil
	}
	return fmt.Errorf("bench: %s and %s differ: t is %.2f, and has to be below %v", r.Pair[0], r.Pair[1], r.LargestT, maxEqualT)
}

func (r *AccessReport) print(out io.Writer) {
	printLine(out, "machine    %v", r.Machine)
	printLine(out, "samples    %d of each case, the slowest %.0f%% of all left out, seed %d", r.Samples, 100*(1-comparedFraction), r.Seed)
	printLine(out, "%-26s %7s %10s %10s   t against the case of each number", "", "kept", "mean µs", "deviation")
	for i, c := range r.Cases {
		row := ""
		for k := range r.Cases {
			if k == i {
				row += "       ."
				continue
			}
			row += fmt.Sprintf(" %7.2f", r.T[i][k])
		}
		printLine(out, "%s %-24s %7d %10.3f %10.3f  %s", strconv.Itoa(i+1), c.Case, c.Compared, c.Mean, c.Deviation, row)
	}
	printLine(out, "largest    t %.2f, between %s and %s; wanted: below %v", r.LargestT, r.Pair[0], r.Pair[1], maxEqualT)
}
