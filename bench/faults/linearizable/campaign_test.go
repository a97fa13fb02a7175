package linearizable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"mizan/bench/faults"
	"mizan/bench/server"
	"mizan/internal/testkit"
)

// Numbers of kills of the campaign in `make test`, and of each campaign of a soak test.
const (
	testKills = 8
	soakKills = 60
)

const (
	clientsOfHistory = 4 // number of clients that use one account, limit, txid, key or contract at once

	// A kill comes after a random number of responses, or after maxUptime. Every fourth start is killed before the server is
	// ready, or soon after it.
	minAnswers, maxAnswers = 50, 1_200
	maxUptime              = 5 * time.Second
	maxRecoveryTime        = 200 * time.Millisecond
	readyTimeout           = 2 * time.Minute

	// clockStep is the time by which the manual clock moves at each start, so that the server inquires about transactions of
	// unknown outcome. It is so short that the day does not end, because the limits count for one day.
	clockStep = 15 * time.Second
)

// campaign kills one server again and again, while clients work on many histories.
type campaign struct {
	*testing.T
	seed    uint64
	kills   int
	random  *rand.Rand
	report  *report
	dir     string // the server's data directory
	log     *os.File
	today   string
	supply  supply
	answers *answersFile
	running []*workRunner

	mu      sync.Mutex
	names   int
	current *epoch        // nil: no server runs
	changed chan struct{} // closed when current changes
	isOver  bool
}

// work is a history together with the function that makes its requests. request makes request number n and returns its steps for
// the model. answered is false if no response came.
type work struct {
	*history
	request func(e *epoch, n int64, random *rand.Rand) (steps []step, answered bool)
}

// workRunner runs one kind of work: its clients work on one history, and on a new one when that is full.
type workRunner struct {
	*campaign
	open func(c *campaign, e *epoch, random *rand.Rand) (*work, error)

	mu      sync.Mutex
	current *work
	over    []*history // full histories, which are still to be checked
}

// newRunners returns a runner for each kind of work. Some kinds have two runners.
func (c *campaign) newRunners() (list []*workRunner) {
	for _, open := range []func(*campaign, *epoch, *rand.Rand) (*work, error){
		func(c *campaign, e *epoch, random *rand.Rand) (*work, error) { return openAccount(c, e, random, false) },
		func(c *campaign, e *epoch, random *rand.Rand) (*work, error) { return openAccount(c, e, random, true) },
		func(c *campaign, e *epoch, random *rand.Rand) (*work, error) { return openLimit(c, e, random, false) },
		func(c *campaign, e *epoch, random *rand.Rand) (*work, error) { return openLimit(c, e, random, true) },
		openTxid, openTxid, openKey, openKey, openContract, openContract,
	} {
		list = append(list, &workRunner{campaign: c, open: open})
	}
	return list
}

func newCampaign(t *testing.T, seed uint64, kills int, r *report) *campaign {
	t.Helper()
	t.Logf("MIZAN_SEED=%d repeats this campaign's choices", seed)
	root := t.TempDir()
	c := &campaign{
		T: t, seed: seed, kills: kills, random: rand.New(rand.NewPCG(seed, 0)), report: r, dir: filepath.Join(root, "data"),
		supply: supply{seed: seed}, changed: make(chan struct{}),
	}
	var err error
	if c.answers, err = createAnswers(filepath.Join(root, "answers")); err != nil {
		t.Fatal(err)
	}
	if c.log, err = os.Create(filepath.Join(root, "log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.log.Close() })
	c.running = c.newRunners()
	return c
}

// run runs the campaign.
func (c *campaign) run() {
	var clients sync.WaitGroup
	for i, s := range c.running {
		for j := range clientsOfHistory {
			n := i*clientsOfHistory + j
			random := rand.New(rand.NewPCG(c.seed, uint64(n+1)))
			clients.Go(func() { s.client(n, random) })
		}
	}
	defer func() { // deferred, so that no goroutine outlives the test even if it fails
		c.setEpoch(nil, true)
		clients.Wait()
	}()
	c.openDay()
	for kill := range c.kills {
		if kill%4 == 3 {
			c.killDuringRecovery()
		} else {
			c.killUnderLoad()
		}
	}
	last := c.start()
	c.serve(last)
	c.setEpoch(nil, true)
	clients.Wait()
	if err := last.Stop(time.Minute); err != nil {
		c.Error(err)
	}
	for _, s := range c.running {
		s.finish()
	}
	if err := c.answers.close(); err != nil {
		c.Error(err)
	}
	c.checkLog()
	verified := testkit.Run(c, nil, "audit", "verify", "--data", c.dir, "--answers", c.answers.path)
	if verified.Exit != 0 || verified.Stderr != "" {
		c.Errorf("audit verify: exit %d\n%s%s", verified.Exit, verified.Stdout, verified.Stderr)
	}
}

// checkLog fails the test if the servers have logged an error, a panic that was recovered, or a data race (which only a binary
// with the race detector logs).
func (c *campaign) checkLog() {
	c.Helper()
	content, err := os.ReadFile(c.log.Name())
	if err != nil {
		c.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		for _, text := range []string{"level=ERROR", "panic", "DATA RACE"} {
			if strings.Contains(line, text) {
				c.Errorf("the log: %s", line)
			}
		}
	}
}

// launch starts the server without waiting until it is ready.
func (c *campaign) launch() *server.Server {
	c.Helper()
	s, err := server.Start(server.Options{Binary: testkit.Binary(c), Dir: c.dir, TLS: "off", Log: c.log, Args: []string{
		"--log-level", "warn", "--clock", "manual", "--provider-timeout", "1s", "--create-wait", "2s",
	}})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		select {
		case <-s.Exited():
		default:
			_ = s.Kill()
		}
	})
	return s
}

// start starts the server and waits until it is ready.
func (c *campaign) start() *server.Server {
	c.Helper()
	s := c.launch()
	ctx, cancel := context.WithTimeout(c.Context(), readyTimeout)
	defer cancel()
	if err := s.WaitReady(ctx); err != nil {
		c.Fatal(err)
	}
	c.report.addStart(s.ReadyAfter)
	return s
}

// openDay creates the store, and moves its clock to the beginning of a day.
func (c *campaign) openDay() {
	c.Helper()
	s := c.start()
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	c.today = day.Format(time.DateOnly)
	client, err := s.Sandbox.Client()
	if err != nil {
		c.Fatal(err)
	}
	defer client.CloseIdleConnections()
	e := &epoch{sandbox: &s.Sandbox, http: client}
	a := e.exchange(e.admin(), http.MethodPut, "/api/v1/sandbox/clock", `{"now":"`+day.Add(time.Minute).Format(time.RFC3339)+`"}`, "")
	if a.status != http.StatusOK {
		c.Fatalf("the clock: %d %s", a.status, a.body)
	}
	if err := s.Kill(); err != nil {
		c.Fatal(err)
	}
}

// serve lets the clients work with a server until they have enough responses, and returns their epoch.
func (c *campaign) serve(s *server.Server) *epoch {
	c.Helper()
	client, err := s.Sandbox.Client()
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(client.CloseIdleConnections)
	e := &epoch{
		sandbox: &s.Sandbox, http: client, answers: c.answers, enough: minAnswers + c.random.Int64N(maxAnswers-minAnswers),
		reached: make(chan struct{}), ended: make(chan struct{}),
	}
	c.setEpoch(e, false)
	e.exchange(e.admin(), http.MethodPut, "/api/v1/sandbox/clock", fmt.Sprintf(`{"advance_seconds":%d}`, int(clockStep.Seconds())), "")
	select {
	case <-e.reached:
	case <-time.After(maxUptime):
	case <-s.Exited():
		c.Errorf("the server ended by itself:\n%s", s.StderrEnd())
	}
	return e
}

func (c *campaign) killUnderLoad() {
	c.Helper()
	s := c.start()
	e := c.serve(s)
	if err := s.Kill(); err != nil {
		c.Fatal(err)
	}
	c.setEpoch(nil, false)
	close(e.ended)
	e.http.CloseIdleConnections()
	for _, s := range c.running {
		s.countKill()
	}
	c.report.countKill("under load")
}

func (c *campaign) killDuringRecovery() {
	c.Helper()
	s := c.launch()
	select {
	case <-s.Exited():
		c.Fatalf("the server ended by itself while it started:\n%s", s.StderrEnd())
	case <-time.After(time.Duration(1 + c.random.Int64N(int64(maxRecoveryTime)))):
	}
	if err := s.Kill(); err != nil {
		c.Fatal(err)
	}
	c.report.countKill("while it recovered")
}

// setEpoch tells the clients which server runs; nil means that none does. If isOver is true, the campaign is over and the
// clients stop.
func (c *campaign) setEpoch(e *epoch, isOver bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current, c.isOver = e, isOver
	close(c.changed)
	c.changed = make(chan struct{})
}

// awaitEpoch waits for a server; nil means that the campaign is over.
func (c *campaign) awaitEpoch() *epoch {
	for {
		c.mu.Lock()
		e, isOver, changed := c.current, c.isOver, c.changed
		c.mu.Unlock()
		if e != nil || isOver {
			return e
		}
		<-changed
	}
}

// nextName returns a name that no other history has.
func (c *campaign) nextName() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names++
	return strconv.Itoa(c.names)
}

// client makes requests until the campaign is over.
func (s *workRunner) client(n int, random *rand.Rand) {
	for {
		e := s.awaitEpoch()
		if e == nil {
			return
		}
		answered, err := s.request(e, n, random)
		if err != nil && !errors.Is(err, errKilled) {
			s.Error(err)
			return
		}
		if !answered {
			s.awaitEnd(e)
		}
	}
}

// awaitEnd waits until the server of an epoch has ended, or the campaign is over. It is called by a client that got no response:
// until then the client would only make requests whose outcome is unknown.
func (s *workRunner) awaitEnd(e *epoch) {
	for {
		s.campaign.mu.Lock()
		isSame, changed := s.campaign.current == e, s.campaign.changed
		s.campaign.mu.Unlock()
		if !isSame {
			return
		}
		select {
		case <-e.ended:
			return
		case <-changed:
		}
	}
}

// request makes the next request of the runner's current history.
func (s *workRunner) request(e *epoch, client int, random *rand.Rand) (answered bool, err error) {
	w, n, err := s.begin(e, random)
	if err != nil {
		return false, err
	}
	call := w.now()
	steps, answered := w.request(e, int64(n), random)
	w.end(client, call, steps)
	s.report.addRequest(time.Duration(w.now() - call))
	s.handOver()
	return answered, nil
}

// begin begins a request of the current history. If there is no current history, or if it is full, begin opens a new one. It
// returns the work and the number of the request.
func (s *workRunner) begin(e *epoch, random *rand.Rand) (*work, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.current != nil {
			if n, ok := s.current.begin(); ok {
				return s.current, n, nil
			}
			s.over, s.current = append(s.over, s.current.history), nil
		}
		w, err := s.open(s.campaign, e, random)
		if err != nil {
			return nil, 0, err
		}
		s.current = w
	}
}

// handOver checks the full histories whose last request has ended.
func (s *workRunner) handOver() {
	s.mu.Lock()
	var ended, running []*history
	for _, h := range s.over {
		if h.isOver() {
			ended = append(ended, h)
		} else {
			running = append(running, h)
		}
	}
	s.over = running
	s.mu.Unlock()
	for _, h := range ended {
		s.report.check(s.T, s.seed, h)
	}
}

func (s *workRunner) countKill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.current.countKill()
	}
	for _, h := range s.over {
		h.countKill()
	}
}

// finish checks the histories that are left when no client works any more.
func (s *workRunner) finish() {
	if s.current != nil {
		s.current.close()
		s.over = append(s.over, s.current.history)
	}
	s.handOver()
}

// report counts the checked histories and the kills of all campaigns.
type report struct {
	table faults.Table // a case is a history

	mu         sync.Mutex
	kills      map[string]int
	histories  map[string]int // number of histories by kind; the next two are by kind too
	operations map[string]int
	unknown    map[string]int
	overKills  int           // number of histories that were open at a kill
	slowest    time.Duration // time of the slowest search

	slowestRequest, slowestStart time.Duration
}

func newReport() *report {
	return &report{kills: map[string]int{}, histories: map[string]int{}, operations: map[string]int{}, unknown: map[string]int{}}
}

func (r *report) countKill(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kills[kind]++
}

func (r *report) addRequest(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slowestRequest = max(r.slowestRequest, took)
}

func (r *report) addStart(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slowestStart = max(r.slowestStart, took)
}

// check checks a history and counts it.
func (r *report) check(t *testing.T, seed uint64, h *history) {
	t.Helper()
	began := time.Now()
	result, drawing, err := h.check()
	took := time.Since(began)
	switch {
	case err != nil:
		t.Error(err)
	case result == porcupine.Ok:
		r.table.Add(h.kind, faults.Intact, "")
	case result == porcupine.Unknown:
		t.Errorf("%s: no order was found within %v, and none was excluded: %s", h.name, searchTime, drawing)
	default:
		r.table.Add(h.kind, faults.Silent, fmt.Sprintf("%s, %d operations, MIZAN_SEED=%d: %s", h.name, len(h.operations), seed, drawing))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.histories[h.kind]++
	r.operations[h.kind] += h.requests
	r.unknown[h.kind] += h.unknown
	r.slowest = max(r.slowest, took)
	if h.kills > 0 {
		r.overKills++
	}
}

// print logs the table, and fails the test if a history is illegal.
func (r *report) print(t *testing.T) {
	t.Helper()
	var text strings.Builder
	if err := r.table.Write(&text); err != nil {
		t.Error(err)
	}
	requests, unknown := 0, 0
	for kind := range r.histories {
		requests += r.operations[kind]
		unknown += r.unknown[kind]
	}
	t.Logf("\n%srequests by kind: %v\nof unknown outcome: %v\nkills: %v; %d requests, %d of unknown outcome; %d histories were open at a kill; the slowest search took %v, request %v, start %v",
		&text, r.operations, r.unknown, r.kills, requests, unknown, r.overKills,
		r.slowest.Round(time.Millisecond), r.slowestRequest.Round(time.Millisecond), r.slowestStart.Round(time.Millisecond))
	for _, description := range r.table.Silent() {
		t.Errorf("illegal: %s", description)
	}
}
