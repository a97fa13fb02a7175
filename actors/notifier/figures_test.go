package notifier

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// skipUnlessMeasuring skips a test that only measures; docs/benchmarks.md has the commands that run it.
func skipUnlessMeasuring(t *testing.T) {
	t.Helper()
	if os.Getenv("MIZAN_FIGURES") == "" || os.Getenv(testkit.BinaryVariable) == "" {
		t.Skip("MIZAN_FIGURES=1 and " + testkit.BinaryVariable + "=bin/mizan measure")
	}
}

// apiClient is an API client that prepares the server; a failed request fails the test.
type apiClient struct {
	*testkit.Client
	t *testing.T
}

// send sends a body and decodes the response into a value, unless that is nil.
func (c apiClient) send(method, path, body string, into any) {
	c.t.Helper()
	response, err := c.Do(method, path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if response.Status/100 != 2 {
		c.t.Fatalf("%s %s: %d %s", method, path, response.Status, response.Body)
	}
	if into == nil {
		return
	}
	if err := response.JSON(into); err != nil {
		c.t.Fatal(err)
	}
}

const createForm = `{"params":{"type":"payment","amount":"%d","currency":"USD","env":"test","txid":"%s",` +
	`"returnUrl":"https://shop.example/paid","failUrl":"https://shop.example/failed",` +
	`"money_storage":{"type":"bank_card","cardnumber":"4242424242424242","cardholder":"A B","exp_month":"12","exp_year":"2040","cvv":"123"}}}`

// quantile returns the q-quantile of sorted durations; q is from 0 to 1.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Round(10 * time.Microsecond)
}

// deliveryTimes records, by txid, when the requests that created transactions got their responses and when the
// transactions' notifications arrived.
type deliveryTimes struct {
	mu              sync.Mutex
	respondedAt     map[string]time.Time // guarded by mu
	arrivedAt       map[string]time.Time // guarded by mu
	hangingAttempts int                  // guarded by mu
}

// sink returns a server that never responds at its first hangingCount addresses, and acknowledges at all others.
func (c *deliveryTimes) sink(t *testing.T, hangingCount int) *httptest.Server {
	testOver := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if n, err := strconv.Atoi(r.URL.Path[1:]); err != nil || n < hangingCount {
			c.mu.Lock()
			c.hangingAttempts++
			c.mu.Unlock()
			select {
			case <-r.Context().Done():
			case <-testOver:
			}
			panic(http.ErrAbortHandler)
		}
		_, rest, _ := strings.Cut(string(body), `"txid":"`)
		txid, _, _ := strings.Cut(rest, `"`)
		c.mu.Lock()
		if _, alreadyArrived := c.arrivedAt[txid]; !alreadyArrived {
			c.arrivedAt[txid] = time.Now()
		}
		c.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(func() { close(testOver); s.CloseClientConnections(); s.Close() })
	return s
}

// TestFigureHangingDestinations measures how long the notifications of 900 destinations take while 100 other destinations
// hang. A notification's time counts from the response to the request that created its transaction.
func TestFigureHangingDestinations(t *testing.T) {
	skipUnlessMeasuring(t)
	const destinationCount, hangingCount, ratePerSecond, duration = 1_000, 100, 300, time.Minute
	times := &deliveryTimes{respondedAt: make(map[string]time.Time), arrivedAt: make(map[string]time.Time)}
	sink := times.sink(t, hangingCount)
	server := testkit.Start(t, testkit.Options{Flags: []string{"--tls", "off", "--log-level", "warn"}})
	admin := apiClient{server.Admin(), t}
	var partner struct{ ID int64 }
	admin.send("POST", "/api/v1/partners", `{"name":"many","login":"many","pass":"a temporary one"}`, &partner)
	var apiKey struct{ Key string }
	admin.send("POST", "/api/v1/api_keys", fmt.Sprintf(`{"name":"k","partner_id":%d}`, partner.ID), &apiKey)
	for n := range destinationCount { // each terminal accepts one amount only, so the amount selects the terminal
		admin.send("POST", "/api/v1/terminal", fmt.Sprintf(`{"name":"T%d","partner_id":%d,"provider":"simulator","type":"payment","env":"test",`+
			`"provider_params":{"min_amount":"%[3]d","max_amount":"%[3]d"},"merchant_params":{"notify_url":"%[4]s/%[1]d","secret":"s"}}`,
			n, partner.ID, 1000+n, sink.URL), nil)
	}
	client := server.Anyone().With("x-api-key", apiKey.Key, "x-organization-id", server.Sandbox.OrganizationID)
	times.sendCreates(t, client, destinationCount, ratePerSecond, duration)
	times.report(t, hangingCount)
}

// sendCreates sends requests that create a transaction, each at its scheduled time, even if earlier requests are still
// in progress.
func (c *deliveryTimes) sendCreates(t *testing.T, client *testkit.Client, destinationCount, ratePerSecond int, duration time.Duration) {
	var clients sync.WaitGroup
	tick := time.NewTicker(time.Second / time.Duration(ratePerSecond))
	defer tick.Stop()
	end, limit := time.After(duration), make(chan struct{}, 256)
	for n := 0; ; n++ {
		select {
		case <-end:
			clients.Wait()
			return
		case <-tick.C:
		}
		limit <- struct{}{}
		clients.Go(func() {
			defer func() { <-limit }()
			to := rand.IntN(destinationCount)
			txid := fmt.Sprintf("%d-%d", to, n)
			response, err := client.Post("/api/v1/transactions", fmt.Sprintf(createForm, 1000+to, txid))
			if err != nil || response.Status != http.StatusCreated || !strings.Contains(string(response.Body), `"charged"`) {
				t.Errorf("create: %v %+v", err, response)
				return
			}
			c.mu.Lock()
			c.respondedAt[txid] = time.Now()
			c.mu.Unlock()
		})
	}
}

// report waits for the last notifications and logs how long the notifications took.
func (c *deliveryTimes) report(t *testing.T, hangingCount int) {
	delaysOfGoodDestinations := func() (delays []time.Duration, missing int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for txid, at := range c.respondedAt {
			to, _, _ := strings.Cut(txid, "-")
			if n, _ := strconv.Atoi(to); n < hangingCount {
				continue
			}
			if arrivedAt, ok := c.arrivedAt[txid]; ok {
				delays = append(delays, max(0, arrivedAt.Sub(at)))
			} else {
				missing++
			}
		}
		return delays, missing
	}
	waitFor(t, "the last notifications arrive", func() bool { _, missing := delaysOfGoodDestinations(); return missing == 0 })
	delays, _ := delaysOfGoodDestinations()
	slices.Sort(delays)
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Logf("%d creates, %d notifications to those that answer: p50 %v, p99 %v, p99.9 %v, last %v after the create's answer; %d attempts hang or hung; load %s",
		len(c.respondedAt), len(delays), quantile(delays, 0.5), quantile(delays, 0.99), quantile(delays, 0.999), delays[len(delays)-1].Round(time.Microsecond), c.hangingAttempts, loadAverage())
	if p99 := quantile(delays, 0.99); p99 > 2*time.Second {
		t.Errorf("p99 is %v, wanted under 2 s", p99)
	}
}

// loadAverage returns the machine's load average.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// TestFigureAMillionRetries measures how long a start with a million waiting deliveries takes, how
// much memory the process uses, and whether the due deliveries arrive in order.
func TestFigureAMillionRetries(t *testing.T) {
	skipUnlessMeasuring(t)
	const waitingCount, dueCount, otherDestinations = 1_000_000, 100_000, 1_000
	events := make(chan string, 2*dueCount)
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		events <- r.Header.Get("x-webhook-event-id")
		w.WriteHeader(http.StatusNoContent)
	}))
	defer sink.Close()
	server := testkit.Start(t, testkit.Options{Flags: []string{"--tls", "off", "--log-level", "warn"}})
	admin := apiClient{server.Admin(), t}
	admin.send("PATCH", fmt.Sprintf("/api/v1/partners/%d", server.Sandbox.PartnerID), fmt.Sprintf(`{"notify_url":%q,"secret":"s"}`, sink.URL), nil)
	apiClient{server.Partner(), t}.send("POST", "/api/v1/transactions", fmt.Sprintf(createForm, 700, "one"), nil)
	receiveFrom(t, "the first notification", events)
	server.Stop()
	order := plantRetries(t, server.Dir, uuid.MustParse(server.Sandbox.OrganizationID), waitingCount, dueCount, otherDestinations)
	startTime := time.Now()
	server.Restart()
	startTook, memory := time.Since(startTime), residentMiB(t, server.PID())
	wantedPlace := make(map[string]int, len(order))
	for n, event := range order {
		wantedPlace[event] = n
	}
	maxDisplacement := 0
	for n := range order {
		place, isDue := wantedPlace[receiveFrom(t, "what is due", events)]
		if !isDue {
			t.Fatalf("arrival %d was not due", n)
		}
		maxDisplacement = max(maxDisplacement, place-n, n-place)
	}
	took := time.Since(startTime) - startTook
	t.Logf("%d wait, %d of them due: ready after %v with %s; the due ones arrived within %v (%.0f/s), none more than %d places off its turn; then %s; load %s",
		waitingCount, dueCount, startTook.Round(time.Millisecond), memory, took.Round(time.Millisecond), float64(dueCount)/took.Seconds(), maxDisplacement, residentMiB(t, server.PID()), loadAverage())
	if startTook > 10*time.Second {
		t.Errorf("ready after %v, wanted under 10 s", startTook)
	}
}

// plantRetries writes deliveries that wait after one failed attempt, all of them for the store's only transaction.
// The first dueCount of them are due, in the returned order of their event_ids; the others are due later.
func plantRetries(t *testing.T, dir string, org ledger.ID, waitingCount, dueCount, otherDestinations int) (order []string) {
	t.Helper()
	journal, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, Log: discardLog}, Clock: clock.Real{}, Log: discardLog})
	if err != nil {
		t.Fatal(err)
	}
	var sample posting.Notice
	view := journal.View()
	err = view.NoticesAscending(org, 0, func(n *posting.Notice) (bool, error) {
		sample = *n
		sample.Body = slices.Clone(n.Body)
		return false, nil
	})
	view.Close()
	if err != nil || sample.Booked == 0 {
		t.Fatalf("no notice to repeat: %v", err)
	}
	terminals := make([]ledger.ID, otherDestinations)
	for i := range terminals {
		terminals[i] = uuid.New()
	}
	now := ledger.MicrosOf(time.Now())
	var writes sync.WaitGroup
	for chunkStart := 0; chunkStart < waitingCount; chunkStart += 500 {
		change := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
		for n := chunkStart; n < chunkStart+500; n++ {
			delivery := &Delivery{
				ID: ID{sample.Booked - ledger.Micros(1+n), posting.Webhook}, Source: sample.Source, To: sample.To, State: Pending,
				Next: now + ledger.Micros(time.Hour/time.Microsecond) + ledger.Micros(n), pageStart: sample.PageStart, body: sample.Body,
				Attempts: []Attempt{{At: sample.Booked, Status: 500, Failure: "status 500", Took: 3}},
			}
			switch {
			case n < dueCount: // the due times are in the reverse order of the events
				delivery.Next = now - ledger.Micros(1_000_000) + ledger.Micros(n)
				order = append(order, EventID(org, delivery.ID).String())
			case n%2 == 0:
				delivery.To = terminals[n%otherDestinations]
			}
			row, err := encodeDelivery(delivery)
			if err != nil {
				t.Fatal(err)
			}
			change.KVs = append(change.KVs, posting.KV{Org: org, Key: keyDelivery(delivery.ID), Value: row},
				posting.KV{Org: org, Key: keyRetry(delivery.key(org), delivery.Next, delivery.ID), Value: []byte{}})
		}
		writes.Add(1)
		journal.Submit(change, func(r posting.Receipt) {
			if r.Err != nil {
				t.Error(r.Err)
			}
			writes.Done()
		})
	}
	writes.Wait()
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	return order
}

// residentMiB returns a process's resident memory.
func residentMiB(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	mebibytes := func(name string) int {
		_, rest, _ := strings.Cut(string(text), name)
		n, _ := strconv.Atoi(strings.Fields(rest)[0])
		return n / 1024
	}
	return fmt.Sprintf("%d MiB resident, %d MiB of it anonymous", mebibytes("VmRSS:"), mebibytes("RssAnon:"))
}
