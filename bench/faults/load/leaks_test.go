package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"mizan/bench/faults/trend"
	"mizan/bench/generator"
	"mizan/bench/server"
	"mizan/internal/testseed"
)

const (
	leakConnections = 64
	sampleInterval  = 250 * time.Millisecond

	// warmUpRequests is the number of requests before the samples count. They are sent as fast as the server responds. They are
	// needed because the server keeps the last records, claims and totals in caches of twice 65,536 entries, and its memory
	// grows until these caches are full.
	warmUpRequests = 400_000

	// leakShare is the rate of the even load, as a fraction of the rate that the warm-up reached.
	leakShare = 0.3

	// businessTime is how far the manual clock moves during the test. It is so long that the server also deletes data that is
	// kept for 30 days.
	businessTime = 60 * 24 * time.Hour

	// What each request may add in memory and on the disk, and for how many bytes on the disk the server may open one more file.
	// Memory may grow because the store keeps indexes and filters of its tables there. Files are open because each table and
	// each file of values, which have at least 2 MiB, takes a handle.
	memoryForEach  = 64    // bytes
	diskForEach    = 3_000 // bytes
	bytesForHandle = 2 << 20

	// allowedExtra is the number of goroutines or threads by which the end of a run may exceed its beginning.
	allowedExtra = 4
)

// quantities names the sampled quantities, in the order of the printed table.
var quantities = []string{"anonymous memory, bytes", "heap goal of the collector, bytes", "open files", "goroutines", "threads", "disk, bytes"}

// leakRun loads a server evenly and takes samples.
type leakRun struct {
	*testServer
	metricsURL string
	figures    *generator.Figures
	samples    map[string][]trend.Sample // by quantity; the position is the number of good responses
	warmUp     map[string]int            // number of samples that were taken in the warm-up
	advances   atomic.Int64

	mu   sync.Mutex
	errs []error // errors of the requests that are not part of the even load; guarded by mu, like samples and warmUp
}

// TestSampledQuantitiesAreThere runs the load of TestSoakLeaks for a moment, so that the code of TestSoakLeaks is tried in every
// run of the tests. The samples of such a short run can't show whether something grows.
func TestSampledQuantitiesAreThere(t *testing.T) {
	if testing.Short() {
		t.Skip("loads a server for some seconds")
	}
	r := newLeakRun(t)
	r.load(1500*time.Millisecond, 500)
	for _, q := range quantities {
		if len(r.samples[q]) < 2 || r.samples[q][0].Value <= 0 {
			t.Errorf("%s: %v", q, r.samples[q])
		}
	}
	r.stopAndVerify()
}

// TestSoakLeaks loads a server evenly for the time in MIZAN_SOAK, and fails if something grows.
func TestSoakLeaks(t *testing.T) {
	duration := testseed.SoakTime(t)
	r := newLeakRun(t)
	r.load(duration, warmUpRequests)
	r.judge()
	r.stopAndVerify()
}

func newLeakRun(t *testing.T) *leakRun {
	t.Helper()
	raiseHandles(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r := &leakRun{metricsURL: "http://" + address + "/metrics", figures: generator.NewFigures(), samples: make(map[string][]trend.Sample)}
	r.testServer = startServer(t, filepath.Join(t.TempDir(), "data"), "--clock", "manual", "--metrics-listen", address)
	r.admin(http.MethodPatch, "/api/v1/partners/"+strconv.FormatInt(r.Sandbox.PartnerID, 10), map[string]any{"notify_url": newForgetfulReceiver(t), "secret": "s"}, nil)
	return r
}

// load makes requests to warm the server up, and then loads it evenly for a time. It takes samples in both phases.
func (r *leakRun) load(duration time.Duration, warmUp uint64) {
	r.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(1, runtime.NumCPU()/4)))
	dialer, err := generator.NewDialer(r.Sandbox.BaseURL, nil)
	if err != nil {
		r.Fatal(err)
	}
	work := &mix{host: dialer.Host(), sandbox: &r.Sandbox}
	l := &generator.Load{Dialer: dialer, NewJob: work.job, Connections: leakConnections, Limit: warmUp, Timeout: answerTimeout, Figures: r.figures}
	ctx, cancel := context.WithCancel(r.Context())
	var companions sync.WaitGroup
	every := func(interval time.Duration, do func() error) {
		companions.Go(func() {
			tick := time.NewTicker(interval)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				if err := do(); err != nil && ctx.Err() == nil {
					r.addError(err)
				}
			}
		})
	}
	every(sampleInterval, func() error { return r.sample(ctx) })
	began := time.Now()
	err = l.Run(ctx, 0)
	rate := leakShare * float64(warmUp) / time.Since(began).Seconds()
	r.mu.Lock()
	r.warmUp = make(map[string]int)
	for q, samples := range r.samples {
		r.warmUp[q] = len(samples)
	}
	r.mu.Unlock()
	r.Logf("warmed up with %d requests in %.0f s, then %.0f a second", warmUp, time.Since(began).Seconds(), rate)

	step := int(businessTime / max(duration, time.Second) * time.Second / time.Second)
	every(time.Second, func() error { return r.advance(ctx, step) })
	every(100*time.Millisecond, func() error { return r.visit(ctx) })
	every(2*time.Second, func() error { return r.failToLogIn(ctx) })
	every(3*time.Second, func() error { return r.export(ctx) })
	if err == nil {
		even := &generator.Load{
			Dialer: dialer, NewJob: work.job, Connections: leakConnections, Duration: duration, Rate: rate, Timeout: answerTimeout, Figures: r.figures,
		}
		err = even.Run(ctx, l.NextNumber())
	}
	cancel()
	companions.Wait()
	if err != nil {
		r.Fatal(err)
	}
	outcome := r.figures.Outcome()
	r.Logf("%d requests in %.0f s, p99 %.0f ms, not good: %s; the clock was moved %d times by %v; errors beside the load: %d %v",
		outcome.Good, outcome.Seconds, outcome.Latency.P99, outcome.ErrorText(), r.advances.Load(), time.Duration(step)*time.Second, len(r.errs), errors.Join(r.errs[:min(3, len(r.errs))]...))
}

func (r *leakRun) addError(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

// advance moves the manual clock.
func (r *leakRun) advance(ctx context.Context, seconds int) error {
	status, text, err := r.do(ctx, http.MethodPut, "/api/v1/sandbox/clock", "authorization", "Bearer "+r.Sandbox.AdminToken, map[string]int{"advance_seconds": seconds})
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the clock: %d %s", status, text)
	}
	r.advances.Add(1)
	return err
}

// visit opens a connection, makes one request and closes the connection. A third of these requests have no valid key.
func (r *leakRun) visit(ctx context.Context) error {
	conn, err := r.dialFrom(ctx, 3)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	key := r.Sandbox.APIKey
	if r.advances.Load()%3 == 0 {
		key = "mzk_unknown"
	}
	_, err = fmt.Fprintf(conn, "GET /api/v1/balances HTTP/1.1\r\nHost: h\r\nx-api-key: %s\r\nx-organization-id: %s\r\n\r\n", key, r.Sandbox.OrganizationID)
	if err == nil {
		_, err = bufio.NewReader(conn).ReadString('\n')
	}
	return err
}

// failToLogIn tries to log in with a login that does not exist.
func (r *leakRun) failToLogIn(ctx context.Context) error {
	status, text, err := r.do(ctx, http.MethodPost, "/api/v1/sessions", "x-none", "-", map[string]string{"login": "nobody", "pass": "-"})
	if err == nil && status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
		err = fmt.Errorf("a login: %d %s", status, text)
	}
	return err
}

// export reads a trial balance and the last entries as an auditor does.
func (r *leakRun) export(ctx context.Context) error {
	for _, path := range []string{"/api/v1/ledger/trial-balance?limit=100", "/api/v1/ledger/entries?limit=100", "/api/v1/ledger/head"} {
		status, text, err := r.do(ctx, http.MethodGet, path, "authorization", "Bearer "+r.Sandbox.AuditorToken, nil)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s: %d %s", path, status, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sample takes one sample of each quantity.
func (r *leakRun) sample(ctx context.Context) error {
	usage, err := server.UsageOf(r.PID())
	if err != nil {
		return err
	}
	metrics, err := r.metrics(ctx)
	if err != nil {
		return err
	}
	process := "/proc/" + strconv.Itoa(r.PID())
	files, err := os.ReadDir(process + "/fd")
	if err != nil {
		return fmt.Errorf("only root sees the server's open files: %w", err)
	}
	threads, err := os.ReadDir(process + "/task")
	if err != nil {
		return err
	}
	at := float64(r.figures.Good())
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, value := range []float64{
		float64(usage.Anon), metrics["go_memstats_next_gc_bytes"], float64(len(files)), metrics["go_goroutines"], float64(len(threads)), float64(diskUsage(r.dir)),
	} {
		r.samples[quantities[i]] = append(r.samples[quantities[i]], trend.Sample{At: at, Value: value})
	}
	return nil
}

// metrics returns the server's metrics without labels.
func (r *leakRun) metrics(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.metricsURL, nil)
	if err != nil {
		return nil, err
	}
	response, err := r.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	values := make(map[string]float64)
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			values[name] = value
		}
	}
	return values, lines.Err()
}

// diskUsage returns the space that the files below a directory occupy, in bytes.
func diskUsage(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		var stat syscall.Stat_t
		if err == nil && entry.Type().IsRegular() && syscall.Stat(path, &stat) == nil {
			bytes += stat.Blocks * 512
		}
		return nil
	})
	return bytes
}

// judge prints the slopes, and fails the test if something grows by more than it may.
func (r *leakRun) judge() {
	r.Helper()
	lines := make(map[string]trend.Line)
	for _, q := range quantities {
		line, err := trend.Fit(r.samples[q][r.warmUp[q]:])
		if err != nil {
			r.Fatalf("%s: %v", q, err)
		}
		lines[q] = line
	}
	requests := lines[quantities[0]].Length
	allowed := map[string]float64{
		quantities[0]: memoryForEach, quantities[1]: memoryForEach, quantities[2]: lines["disk, bytes"].High/bytesForHandle + allowedExtra/requests,
		quantities[3]: allowedExtra / requests, quantities[4]: allowedExtra / requests, quantities[5]: diskForEach,
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "quantity\tmean\tfor each request\tlower bound\tupper bound\tallowed\tverdict")
	for _, q := range quantities {
		line, verdict := lines[q], "does not grow"
		if !line.Resolves(allowed[q]) {
			verdict = "bounds too wide for what is allowed"
		}
		if line.Grows(allowed[q]) {
			verdict = "GROWS"
			r.Errorf("%s: at least %.3g for each request, allowed %.3g", q, line.Low, allowed[q])
		}
		_, _ = fmt.Fprintf(w, "%s\t%.4g\t%.3g\t%.3g\t%.3g\t%.3g\t%s\n", q, line.Mean, line.Slope, line.Low, line.High, allowed[q], verdict)
	}
	_ = w.Flush()
	r.Logf("%d samples after the warm-up, %.0f requests\n%s", len(r.samples[quantities[0]])-r.warmUp[quantities[0]], requests, &text)
	for _, q := range quantities {
		r.Logf("%s, from the first request to the last: %.3g", q, tenths(r.samples[q]))
	}
}

// tenths returns the means of each tenth of the samples.
func tenths(samples []trend.Sample) (means [10]float64) {
	for i := range means {
		part := samples[i*len(samples)/10 : (i+1)*len(samples)/10]
		for _, s := range part {
			means[i] += s.Value / float64(len(part))
		}
	}
	return means
}
