package api_test

import (
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"mizan/internal/testseed"
	"mizan/ledger/payment"
)

// walkPages reads all pages of a list, newest first, with a random length of each page. It returns how often it found each id,
// and calls afterPage after each page.
func (f *fixture) walkPages(random *rand.Rand, query string, afterPage func()) map[string]int {
	f.t.Helper()
	seen := map[string]int{}
	for cursor := ""; cursor != "null"; afterPage() {
		r := f.partner().get(transactions+"?"+query+"&limit="+strconv.Itoa(1+random.IntN(7))+cursor).want(200, "")
		for _, row := range r.object()["data"].([]any) {
			seen[row.(map[string]any)["id"].(string)]++
		}
		if cursor = r.at("cursor.cursor_value"); cursor != "null" {
			cursor = "&cursor=" + url.QueryEscape(cursor)
		}
	}
	return seen
}

// While the pages are read, further payments are created, and slow payments that were created before settle.
func TestPagingByStartShowsEachTransactionOnceDuringWrites(t *testing.T) {
	t.Parallel()
	f, random := newFixture(t), testseed.Random(t)
	create := func(slow bool) string {
		body := paymentBody(`"amount":"1"`)
		if slow {
			body = `{"params":{"amount":"1","type":"payment","env":"test",` + urls + `,"money_storage":{"type":"bank_card","cardnumber":"4000000000000077","cardholder":"J","exp_month":"1","exp_year":"30","cvv":"123"}}}`
		}
		return f.partner().post(transactions, body).want(201, "").at("id")
	}
	var createdIDs []string
	for range 60 {
		createdIDs = append(createdIDs, create(random.IntN(3) == 0))
	}
	stop, writer := make(chan struct{}), sync.WaitGroup{}
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				create(false)
			}
		}
	})
	seen := f.walkPages(random, "env=test", func() {
		if random.IntN(4) == 0 {
			f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":2}`).want(200, "")
		}
	})
	close(stop)
	writer.Wait()
	for _, id := range createdIDs {
		if seen[id] != 1 {
			t.Errorf("%s was met %d times", id, seen[id])
		}
	}
	for id, count := range seen {
		if count != 1 {
			t.Errorf("%s was met %d times", id, count)
		}
	}
}

func TestPagingByUpdateShowsEachUnchangedTransactionOnce(t *testing.T) {
	t.Parallel()
	f, random := newFixture(t), testseed.Random(t)
	var records []*payment.Record
	versions, changedIDs := map[*payment.Record]uint64{}, map[string]bool{}
	change := func(r *payment.Record) {
		events := 1 + random.IntN(4)
		f.storeVersion(versions[r], events, r)
		versions[r] += uint64(events)
	}
	for range 120 {
		r := newPayment("1", payment.Charging)
		change(r)
		records = append(records, r)
	}
	for range 80 {
		change(records[random.IntN(len(records))])
	}
	seen := f.walkPages(random, "order_by=updated", func() {
		for range random.IntN(3) {
			r := records[random.IntN(len(records))]
			change(r)
			changedIDs[r.ID.String()] = true
		}
		if random.IntN(2) == 0 {
			f.storeRecords(newPayment("1", payment.Charging))
		}
	})
	if len(changedIDs) < 5 || len(changedIDs) == len(records) {
		t.Fatalf("%d of %d moved: the test says nothing", len(changedIDs), len(records))
	}
	for _, r := range records {
		if id := r.ID.String(); seen[id] > 1 || seen[id] == 0 && !changedIDs[id] {
			t.Errorf("%s was met %d times; moved: %v", id, seen[id], changedIDs[id])
		}
	}
}
