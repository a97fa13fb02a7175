package api_test

import (
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"mizan/ledger/payment"
)

// walkPages reads a list from its newest page to its last, in pages of random length, and
// counts how often it finds each id. It calls afterPage after each page.
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

// Real payments are made during the walk, and some of them settle later.
func TestPagingByStartShowsEachTransactionOnceDuringWrites(t *testing.T) {
	t.Parallel()
	h, random := newFixture(t), newRandom(t)
	create := func(slow bool) string {
		body := paymentBody(`"amount":"1"`)
		if slow {
			body = `{"params":{"amount":"1","type":"payment","env":"test",` + urls + `,"money_storage":{"type":"bank_card","cardnumber":"4000000000000077","cardholder":"J","exp_month":"1","exp_year":"30","cvv":"123"}}}`
		}
		return h.partner().post(transactions, body).want(201, "").at("id")
	}
	var found []string
	for range 60 {
		found = append(found, create(random.IntN(3) == 0))
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
	seen := h.walkPages(random, "env=test", func() {
		if random.IntN(4) == 0 {
			h.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":2}`).want(200, "")
		}
	})
	close(stop)
	writer.Wait()
	for _, id := range found {
		if seen[id] != 1 {
			t.Errorf("%s was met %d times", id, seen[id])
		}
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s was met %d times", id, times)
		}
	}
}

func TestPagingByUpdateShowsEachUnchangedTransactionOnce(t *testing.T) {
	t.Parallel()
	h, random := newFixture(t), newRandom(t)
	var records []*payment.Record
	versions, updated := map[*payment.Record]uint64{}, map[string]bool{}
	move := func(r *payment.Record) {
		events := 1 + random.IntN(4)
		h.storeVersion(versions[r], events, r)
		versions[r] += uint64(events)
	}
	for range 120 {
		r := newPayment("1", payment.Charging)
		move(r)
		records = append(records, r)
	}
	for range 80 {
		move(records[random.IntN(len(records))])
	}
	seen := h.walkPages(random, "order_by=updated", func() {
		for range random.IntN(3) {
			r := records[random.IntN(len(records))]
			move(r)
			updated[r.ID.String()] = true
		}
		if random.IntN(2) == 0 {
			h.storeRecords(newPayment("1", payment.Charging))
		}
	})
	if len(updated) < 5 || len(updated) == len(records) {
		t.Fatalf("%d of %d moved: the test says nothing", len(updated), len(records))
	}
	for _, r := range records {
		if id := r.ID.String(); seen[id] > 1 || seen[id] == 0 && !updated[id] {
			t.Errorf("%s was met %d times; moved: %v", id, seen[id], updated[id])
		}
	}
}
