package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// heal starts the service once more, without any fault, lets everything come to its end, and compares what clients, the merchants' servers,
// the provider and the ledger say with each other and with the model.
func (w *world) heal() {
	w.note("heal")
	w.random = rand.New(rand.NewPCG(w.plan.Seed, 1))
	w.plan.Faults = Faults{} // the copy of this world
	w.isDiskFull = false
	if !w.start(Round{}) {
		return
	}
	c := &client{w, w.node}
	w.finishWork(c)
	if w.hasViolations() {
		w.endHealthy()
		return
	}
	w.compareOrders(c)
	w.compareBalance(c)
	w.compareLimit(c)
	w.compareLink(c)
	w.compareContracts(c)
	w.compareNotifications()
	w.compareProvider()
	w.compareHeads(c)
	w.compareMonths(c)
	w.endHealthy()
	w.compareStores()
	w.restoreBackups()
}

func (w *world) endHealthy() {
	n := w.node
	w.node = nil
	n.end(w)
	if err := n.failure(); err != nil {
		w.violate("the service fails without any fault: %v", err)
	}
}

// finishWork repeats what was not answered and lets time pass until nothing is under way.
func (w *world) finishWork(c *client) {
	do := func(name string, run func(*client)) {
		w.begin(&operation{name: name, run: run})
		w.collectAll()
	}
	for _, o := range w.book.orders {
		if !o.isLinked {
			do("repeat "+o.txid, o.create)
		}
	}
	for _, k := range w.book.contracts {
		if k.body != "" {
			do(fmt.Sprintf("repeat a step of contract %d", k.number), k.advance)
		}
	}
	for range 6 {
		w.letPass(c, 20*time.Minute)
	}
	for range 8 { // holds end, and merchants' servers are told again
		w.letPass(c, 12*time.Hour)
	}
	w.book.orders = slices.DeleteFunc(w.book.orders, (*order).isUnknown) // no payer has its page
	for _, o := range w.book.orders {
		do("read "+o.txid, func(c *client) { o.read(c) })
	}
}

// letPass lets business time pass, with everything that is due meanwhile.
func (w *world) letPass(c *client, d time.Duration) {
	if w.manual != nil {
		w.begin(&operation{name: "advance", run: func(c *client) { advance(c, int(d.Seconds())) }})
		w.collectAll()
		return
	}
	w.leaping.leap(d)
	for range 15 {
		time.Sleep(2 * time.Second)
		synctest.Wait()
	}
}

// list reads a list of the partner's, page by page.
func (w *world) get(c *client, by caller, path string) answer {
	a := w.exchange(c.node, by, http.MethodGet, path, "", "")
	if a.status != http.StatusOK {
		w.violate("%s is answered %d: %s", path, a.status, a.body)
	}
	return a
}

// compareOrders checks that each order has come to an end that it may have.
func (w *world) compareOrders(c *client) {
	for _, o := range w.book.orders {
		switch {
		case o.id == "":
			w.violate("%s: repeated creates without an answer", o.txid)
		case !o.isFinal():
			w.violate("%v has no end: %s after %v", o, o.status, o.seen)
		}
	}
}

// settledOrder is what the service says about an order at the end.
type settledOrder struct {
	Status   string `json:"status"`
	Amount   string `json:"amount"`
	Merchant string `json:"merchant_amount"`
	Refunded string `json:"refunded_amount"`
	Captured string `json:"captured_amount"`
	Refunds  []struct {
		Amount string `json:"amount"`
		Status string `json:"status"`
	} `json:"refunds"`
}

// openingBalance is what the sandbox's partner has in each currency, in minor units.
const openingBalance = 100_000_000

// compareBalance computes the partner's balances from what clients ordered, and compares them with the service's.
func (w *world) compareBalance(c *client) {
	want := make(map[string]int)
	for _, currency := range []string{plainCurrency, holdCurrency, limitedCurrency, feeCurrency, scarceCurrency} {
		want[currency] = openingBalance
	}
	for _, o := range w.book.orders {
		var s settledOrder
		a := w.get(c, byPartner, transactionsPath+"/"+o.id)
		if err := a.decode(&s); err != nil {
			w.violate("%s: %v", o.txid, err)
			continue
		}
		if !slices.Contains(after, s.Status) {
			continue
		}
		amount := o.amount
		if o.currency == holdCurrency {
			amount = w.captured(o, &s)
		}
		if o.kind == "payout" {
			want[o.currency] -= amount
			continue
		}
		refunded := w.refunded(o, &s, amount)
		if s.Status == "reversed" {
			refunded = amount // the rest was taken back
		}
		want[o.currency] += amount - refunded
		if o.currency == feeCurrency {
			want[o.currency] -= fee(amount)
		}
	}
	for _, s := range w.book.settled {
		switch {
		case s.status == http.StatusCreated && s.direction == "in":
			want[plainCurrency] += s.amount
		case s.status == http.StatusCreated:
			want[plainCurrency] -= s.amount
		}
	}
	want[plainCurrency] += w.unansweredSettlements(c)
	want[plainCurrency] += w.renewed(c)
	var balances []struct {
		Currency  string `json:"currency"`
		Env       string `json:"env"`
		Available string `json:"available"`
		Pending   string `json:"pending"`
	}
	a := w.get(c, byPartner, "/api/v1/balances")
	if err := a.decode(&balances); err != nil {
		w.violate("balances: %v", err)
	}
	for _, b := range balances {
		if strings.HasPrefix(b.Available, "-") {
			w.violate("the balance in %s is below zero: %s", b.Currency, b.Available)
		}
		if expected, known := want[b.Currency]; known && b.Env == "prod" && (b.Available != strconv.Itoa(expected) || b.Pending != "0") {
			w.violate("the balance in %s is %s and %s pending; by the orders it is %d", b.Currency, b.Available, b.Pending, expected)
		}
	}
}

// captured returns what was taken of a held order: one of the amounts that a commit was sent with.
func (w *world) captured(o *order, s *settledOrder) int {
	taken, err := strconv.Atoi(s.Merchant)
	if err != nil || !slices.Contains(o.commits, taken) {
		w.violate("%s: %q was taken, and commits were of %v", o.txid, s.Merchant, o.commits)
	}
	return taken
}

// refunded returns what was given back of an order, by its requests, and compares it with what the service says.
func (w *world) refunded(o *order, s *settledOrder, amount int) (sum int) {
	left := make(map[int]int) // amounts of requests that may have succeeded
	for _, r := range o.refunds {
		if r.status == 0 || r.status == http.StatusOK || r.status == http.StatusServiceUnavailable {
			left[r.amount]++
		}
	}
	for _, r := range s.Refunds {
		n, err := strconv.Atoi(r.Amount)
		if err != nil || left[n] == 0 {
			w.violate("%s: a refund of %s, which nobody asked for: %v", o.txid, r.Amount, o.refunds)
		}
		left[n]--
		if r.Status == "succeeded" {
			sum += n
		}
	}
	if sum > amount || strconv.Itoa(sum) != s.Refunded && (sum > 0 || s.Refunded != "") {
		w.violate("%s: refunds of %d together, and the service says %q of %d", o.txid, sum, s.Refunded, amount)
	}
	return sum
}

// unansweredSettlements asks again for the settlements that were not answered, with their keys: now each is carried out, or was before.
func (w *world) unansweredSettlements(c *client) (sum int) {
	for _, s := range w.book.settled {
		if s.status == http.StatusCreated {
			continue
		}
		a := w.request(c.node, byOperator, http.MethodPost, "/api/v1/partners/1/settlements", "key-"+s.reference,
			fmt.Sprintf(`{"direction":%q,"amount":"%d","currency":%q,"env":"prod","reference":%q}`, s.direction, s.amount, plainCurrency, s.reference))
		switch {
		case a.status != http.StatusCreated:
			w.violate("%s is answered %d: %s", s.reference, a.status, a.body)
		case s.direction == "in":
			sum += s.amount
		default:
			sum -= s.amount
		}
	}
	return sum
}

// renewalAmount is what a subscription charges each day.
const renewalAmount = 3

// renewed returns what renewals of subscriptions have brought: no order has their amount.
func (w *world) renewed(c *client) (sum int) {
	for cursor := ""; ; {
		var page struct {
			Data []struct {
				Type   string `json:"type"`
				Status string `json:"status"`
				Amount string `json:"amount"`
			} `json:"data"`
			Cursor struct {
				Field string  `json:"cursor_field"`
				Value *string `json:"cursor_value"`
			} `json:"cursor"`
		}
		a := w.get(c, byPartner, transactionsPath+"?limit=100"+cursor)
		if err := json.Unmarshal(a.body, &page); err != nil {
			w.violate("the list of transactions: %v", err)
			return 0
		}
		for _, t := range page.Data {
			if t.Amount == strconv.Itoa(renewalAmount) && t.Type == "payment" && t.Status == "charged" { // what is left of a reversed payment may be as much
				sum += renewalAmount
			}
		}
		if page.Cursor.Value == nil {
			return sum
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Cursor.Value)
	}
}

// compareLimit compares how much of the limits of a day and a month is used with the orders of the day and the month.
func (w *world) compareLimit(c *client) {
	sums, used := make(map[string]int), 0
	month := w.clockNow().Format("2006-01")
	for _, o := range w.book.orders {
		if o.currency != limitedCurrency || o.kind != "payment" || !slices.Contains(after, o.status) {
			continue
		}
		a := w.get(c, byPartner, transactionsPath+"/"+o.id)
		day, _, _ := strings.Cut(a.get("started"), "T")
		sums[day] += o.amount
		if strings.HasPrefix(day, month) {
			used += o.amount
		}
	}
	usage := w.get(c, byOperator, "/api/v1/limits/"+w.limit+"/usage")
	if got := usage.get("used"); got != strconv.Itoa(used) || usage.get("reserved") != "0" {
		w.violate("of the limit of %s, %s are used and %s reserved; orders of the month were of %d", month, got, usage.get("reserved"), used)
	}
	for day, sum := range sums {
		if sum > dailyLimit {
			w.violate("on %s, %d %s were charged; the limit is %d", day, sum, limitedCurrency, dailyLimit)
		}
	}
}

// compareContracts checks that each contract is in the state that its last answered step has shown.
func (w *world) compareContracts(c *client) {
	for _, k := range w.book.contracts {
		if k.id == "" || len(k.statuses) == 0 {
			continue
		}
		a := w.get(c, bySession, k.lifecycle.Path+"/"+k.id)
		if got, want := a.get("status"), k.statuses[len(k.statuses)-1]; got != want && k.body == "" && !timers[want] {
			w.violate("contract %d of %s, %s: its last step showed %s, and it is %s", k.number, k.lifecycle.Product, k.lifecycle.Reading, want, got)
		}
	}
}

// timers are the statuses that a contract leaves by itself.
var timers = map[string]bool{}

// compareNotifications checks that the merchant's server has acknowledged the final status of each order.
func (w *world) compareNotifications() {
	type told struct{ id, status string }
	accepted, events := make(map[told]bool), make(map[told]map[string]bool)
	for _, n := range w.receivers.accepted {
		accepted[told{n.Data.ID, n.Data.Status}] = true
	}
	for id, n := range w.receivers.events {
		about := told{n.Data.ID, n.Data.Status}
		if events[about] == nil {
			events[about] = make(map[string]bool)
		}
		events[about][id] = true
	}
	for _, o := range w.book.orders {
		for _, status := range o.seen {
			if slices.Contains(notified, status) && !accepted[told{o.id, status}] {
				w.violate("%s, %s: the merchant's server was never told that it is %s", o.txid, o.id, status)
			}
			if n := len(events[told{o.id, status}]); n > 1 && len(o.refunds) == 0 && slices.Contains([]string{"charged", "rejected", "failed", "reversed"}, status) {
				w.violate("%s, %s: the merchant's server was told of %d events that it is %s", o.txid, o.id, n, status)
			}
		}
	}
}

// notified are the statuses about which merchants are told.
var notified = []string{"action_required", "payment_suspended", "payout_suspended", "charged", "rejected", "failed", "reversed", "refunding", "refunded"}

// compareProvider compares what the provider was asked, and answered, with what the service says.
func (w *world) compareProvider() {
	opened, byAmount := make(map[ledger.ID]string), make(map[string][]railCall) // no two orders have the same amount, and a payer's attempts have references of their own
	for _, call := range w.rail.calls {
		if call.operation == actors.Pay || call.operation == actors.PayOut {
			opened[call.reference] = call.amount
		}
		amount := opened[call.reference]
		byAmount[amount] = append(byAmount[amount], call)
	}
	for _, o := range w.book.orders {
		charges, isVoided := 0, false
		for _, call := range byAmount[strconv.Itoa(o.amount)] {
			switch {
			case (call.operation == actors.Pay || call.operation == actors.PayOut) && (call.verdict == payment.VerdictCharged || call.verdict == payment.VerdictHeld):
				charges++
			case call.operation == actors.Void:
				isVoided = true
			}
		}
		hasMoney := slices.Contains(after, o.status)
		if charges > 0 && !hasMoney && !isVoided {
			w.violate("%s, %s: the provider has the money, and the service says %s %q", o.txid, o.id, o.status, o.code)
		}
		if charges > 1 {
			w.violate("%s, %s: submitted %d times to the provider", o.txid, o.id, charges)
		}
	}
}

// compareHeads checks that the ledger has every head that an auditor was given.
func (w *world) compareHeads(c *client) {
	a := w.get(c, byAuditor, "/api/v1/ledger/head")
	size := number(a, "tree_size")
	roots := make(map[int]string)
	for _, h := range w.book.heads {
		if h.size > size {
			w.violate("a head of %d events was shown, and now there are %d", h.size, size)
		}
		if earlier, exists := roots[h.size]; exists && earlier != h.root {
			w.violate("two heads of %d events", h.size)
		}
		roots[h.size] = h.root
	}
}

// compareMonths checks that each month whose closing was answered is closed.
func (w *world) compareMonths(c *client) {
	var periods []struct {
		Month string `json:"month"`
	}
	if err := w.get(c, byAuditor, "/api/v1/ledger/periods").decode(&periods); err != nil {
		w.violate("the closed months: %v", err)
	}
	closed := make(map[string]bool)
	for _, p := range periods {
		closed[p.Month] = true
	}
	for _, month := range w.book.months {
		if !closed[month] {
			w.violate("%s was closed, and is not", month)
		}
	}
}

func number(a answer, name string) int {
	n, err := strconv.Atoi(a.get(name))
	if err != nil {
		return -1
	}
	return n
}
