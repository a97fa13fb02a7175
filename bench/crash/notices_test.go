package crash

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

// noticeTestKills is the number of kills in `make test`. MIZAN_NOTICE_KILLS sets another number.
const noticeTestKills = 8

// notifiedStatuses are the statuses about which a merchant is notified.
var notifiedStatuses = map[string]bool{
	"action_required": true, "payment_suspended": true, "payout_suspended": true, "charged": true, "rejected": true,
	"failed": true, "reversed": true, "refunding": true, "refunded": true,
}

// noticeCards are cards that lead to different statuses. Some statuses come after the response to the create.
var noticeCards = []string{
	"4242424242424242", "4000000000000002", "4000000000000119", "4000000000003220", "4000000000000077", "4000000000000259", "4242424242424242",
}

// noticeRun puts one server under a load of creates, and kills and starts it many times.
type noticeRun struct {
	*testkit.Server
	t         *testing.T
	random    *rand.Rand
	sink      *sink        // the merchant's server
	txidCount atomic.Int64 // number of txids used so far

	mu       sync.Mutex
	answered []string // ids of the transactions for which a response came; guarded by mu
}

// load starts clients that create transactions until the server is killed or stop is closed. They send a value to the
// channel answers for each transaction that the server has acknowledged. The returned function waits until the clients
// have ended.
func (r *noticeRun) load(stop <-chan struct{}, answers chan<- struct{}) (wait func()) {
	var clients sync.WaitGroup
	for range 4 {
		client := r.Partner()
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				n := r.txidCount.Add(1)
				answer, err := client.Post("/api/v1/transactions", fmt.Sprintf(
					`{"params":{"type":"payment","amount":"700","currency":"USD","env":"test","txid":"n-%d",`+
						`"returnUrl":"https://shop.example/paid","failUrl":"https://shop.example/failed",`+
						`"money_storage":{"type":"bank_card","cardnumber":%q,"cardholder":"A B","exp_month":"12","exp_year":"2040","cvv":"123"}}}`, n, noticeCards[n%int64(len(noticeCards))]))
				if err != nil {
					return // killed
				}
				var created struct{ ID string }
				if answer.Status != http.StatusCreated || answer.JSON(&created) != nil || created.ID == "" {
					if answer.Status != http.StatusServiceUnavailable {
						r.t.Errorf("create: %d %s", answer.Status, answer.Body)
						return
					}
					continue
				}
				r.mu.Lock()
				r.answered = append(r.answered, created.ID)
				r.mu.Unlock()
				select {
				case answers <- struct{}{}:
				case <-stop:
				}
			}
		})
	}
	return clients.Wait
}

// runAndKill runs the server under load for the n-th time and kills it after some responses, or some milliseconds
// after it was ready.
func (r *noticeRun) runAndKill(n int) {
	r.t.Helper()
	r.sink.allowHanging(n%3 == 0)
	stop, answers := make(chan struct{}), make(chan struct{})
	wait := r.load(stop, answers)
	var clockMoves sync.WaitGroup
	if n%3 != 0 { // a request that moves the clock would wait for the notifications that hang
		admin := r.Admin()
		clockMoves.Go(func() { _, _ = admin.Put("/api/v1/sandbox/clock", `{"advance_seconds":45}`) })
	}
	killTime := time.After(time.Duration(1+r.random.IntN(300)) * time.Millisecond)
	if n%2 == 0 {
		killTime = time.After(readyTimeout)
	}
	for remaining := 1 + r.random.IntN(60); remaining > 0; remaining-- {
		select {
		case <-answers:
		case <-killTime:
			remaining = 0
		}
	}
	r.Kill()
	close(stop)
	wait()
	clockMoves.Wait()
	r.sink.allowHanging(false)
}

// statusesOf returns the statuses that a transaction has had.
func (r *noticeRun) statusesOf(auditor *testkit.Client, id string) (statuses []string) {
	r.t.Helper()
	answer, err := auditor.Get("/api/v1/ledger/events?limit=500&source=" + id)
	if err != nil {
		r.t.Fatal(err)
	}
	var list struct{ Data []struct{ From, To string } }
	if err := answer.JSON(&list); err != nil || len(list.Data) == 0 {
		r.t.Fatalf("the events of %s: %v %s", id, err, answer.Body)
	}
	for _, e := range list.Data {
		if e.From != e.To {
			statuses = append(statuses, e.To)
		}
	}
	return statuses
}

func (r *noticeRun) advance(seconds int) {
	r.t.Helper()
	answer, err := r.Admin().Put("/api/v1/sandbox/clock", fmt.Sprintf(`{"advance_seconds":%d}`, seconds))
	if err != nil || answer.Status != http.StatusOK {
		r.t.Fatalf("the clock: %v %+v", err, answer)
	}
}

// A merchant is notified at least once about each status of every acknowledged transaction,
// however often the process is killed. Each status has one event_id, and all attempts have the
// same data.
func TestNoNotificationIsLostOverKills(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a server for half a minute")
	}
	kills, campaignSeed := noticeTestKills, testseed.Seed(t)
	if text := os.Getenv("MIZAN_NOTICE_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatalf("MIZAN_NOTICE_KILLS: %v", err)
		}
	}
	t.Logf("MIZAN_SEED=%d repeats the choices", campaignSeed)
	flags := []string{"--clock", "manual", "--tls", "off", "--log-level", "warn", "--provider-timeout", "1s", "--create-wait", "2s"}
	r := &noticeRun{t: t, random: rand.New(rand.NewPCG(campaignSeed, 0)), sink: newSink(t), Server: testkit.Start(t, testkit.Options{Flags: flags})}
	answer, err := r.Admin().Do(http.MethodPatch, fmt.Sprintf("/api/v1/partners/%d", r.Sandbox.PartnerID), fmt.Sprintf(`{"notify_url":%q,"secret":%q}`, r.sink.URL+"/hook", sinkSecret))
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("the address: %v %+v", err, answer)
	}
	for n := range kills {
		r.runAndKill(n)
		r.Restart()
	}
	r.advance(20 * 3600) // seconds; enough for all retries, for the payers' time-outs and for all chargebacks
	statuses := make(map[string]int)
	auditor := r.Auditor()
	for _, id := range r.answered {
		for _, status := range r.statusesOf(auditor, id) {
			if !notifiedStatuses[status] {
				continue
			}
			statuses[status]++
			if attempts, acknowledged := r.sink.attemptsOf(id, status); !acknowledged {
				t.Errorf("%s became %s: notified %d times, never acknowledged", id, status, attempts)
			}
		}
	}
	arrived, events, repeated := r.sink.counts()
	t.Logf("%d kills, %d transactions answered, statuses %v; %d notifications of %d events came, %d events more than once", kills, len(r.answered), statuses, arrived, events, repeated)
	if statuses["charged"] == 0 || statuses["action_required"] == 0 || repeated == 0 {
		t.Errorf("too little happened: %v", statuses)
	}
	r.advance(32 * 24 * 3600) // seconds; after this time the server has deleted the rows of notifications that have ended
	if code := r.Stop(); code != 0 {
		t.Errorf("the server stopped with %d\n%s", code, r.Stderr())
	}
	if audit := testkit.Run(t, nil, "audit", "verify", "--data", r.Dir); audit.Exit != 0 {
		t.Errorf("audit verify: exit %d\n%s%s", audit.Exit, audit.Stdout, audit.Stderr)
	}
}
