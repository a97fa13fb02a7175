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

	"golang.org/x/mod/sumdb/tlog"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// checkWithoutFaults starts the service once more, without faults, and waits until all work is finished. Then it checks that
// the ledger agrees with the model, and with what the clients, the merchants' servers and the provider have recorded.
func (w *world) checkWithoutFaults() {
	w.traceDecision("heal")
	w.random = rand.New(rand.NewPCG(w.plan.Seed, 1))
	w.plan.Faults = Faults{} // w.plan is a copy, so the caller's plan does not change
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
	w.compareService(c)
	w.endHealthy()
	w.compareStores()
	w.keyringDir = w.generationDir()
	w.restoreBackups()
}

// compareService compares what the service shows with the model, and with what the others have recorded.
func (w *world) compareService(c *client) {
	w.compareOrders(c)
	w.compareBalance(c)
	w.compareLimit(c)
	w.compareLink(c)
	w.compareContracts(c)
	w.compareNotifications()
	w.compareProvider()
	w.compareHeads(c)
	w.compareMonths(c)
}

func (w *world) endHealthy() {
	n := w.node
	w.node = nil
	n.end(w)
	if err := n.failure(); err != nil {
		w.recordViolation("the service fails without any fault: %v", err)
	}
}

// finishWork repeats requests that may be unanswered, lets time pass until no work remains, and reads all orders.
func (w *world) finishWork(c *client) {
	do := func(name string, run func(*client)) {
		w.begin(&operation{name: name, run: run})
		w.collectAll()
	}
	for _, o := range w.book.orders {
		if !o.isLinked {
			do("repeat "+o.txid, o.create)
			for range 2 * len(w.machines()) { // the first request after a node's restart may fail, because a connection between nodes is broken
				if o.id == "" {
					do("repeat "+o.txid, o.create)
				}
			}
		}
	}
	for _, k := range w.book.contracts {
		if k.body != "" {
			do(fmt.Sprintf("repeat a step of contract %d", k.number), k.advance)
		}
	}
	for range 6 {
		w.passTime(c, 20*time.Minute)
	}
	for range 8 { // so long that holds expire and failed notifications are sent again
		w.passTime(c, 12*time.Hour)
	}
	w.book.orders = slices.DeleteFunc(w.book.orders, (*order).isUnknown) // the payer never got the page, so no client knows the id
	for _, o := range w.book.orders {
		do("read "+o.txid, func(c *client) { o.read(c) })
	}
}

// passTime moves the business clock forward, and waits until the work that becomes due is done.
func (w *world) passTime(c *client, d time.Duration) {
	if w.manual != nil {
		w.begin(&operation{name: "advance", run: func(c *client) { advance(c, int(d.Seconds())) }})
		w.collectAll()
		return
	}
	w.leaping.leap(d)
	if w.cluster != nil {
		w.cluster.leap(d)
	}
	for range 15 {
		time.Sleep(2 * time.Second)
		synctest.Wait()
	}
}

// get sends a GET request to the API, and does not store the answer for the checker. Every status except 200 is a violation.
func (w *world) get(c *client, by caller, path string) answer {
	a := w.exchange(c.node, by, http.MethodGet, path, "", "")
	if a.status != http.StatusOK {
		w.recordViolation("%s is answered %d: %s", path, a.status, a.body)
	}
	return a
}

// compareOrders checks that each order has a transaction with a final status. Whether the order allows this status was already
// checked by order.checkAnswer.
func (w *world) compareOrders(c *client) {
	for _, o := range w.book.orders {
		switch {
		case o.id == "":
			w.recordViolation("%s: repeated creates without an answer", o.txid)
		case !o.isFinal():
			w.recordViolation("%v has no final status: %s after %v", o, o.status, o.seenStatuses)
		}
	}
}

// settledOrder is the transaction of an order, as the service shows it at the end of the world.
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

// openingBalance is the partner's balance in each currency at the beginning, in minor units.
const openingBalance = 100_000_000

// compareBalance computes the partner's balances from the orders, settlements and renewals, and compares them with the balances
// that the service shows.
func (w *world) compareBalance(c *client) {
	want := make(map[string]int)
	for _, currency := range []string{plainCurrency, holdCurrency, limitedCurrency, feeCurrency, scarceCurrency} {
		want[currency] = openingBalance
	}
	for _, o := range w.book.orders {
		var s settledOrder
		a := w.get(c, byPartner, transactionsPath+"/"+o.id)
		if err := a.decode(&s); err != nil {
			w.recordViolation("%s: %v", o.txid, err)
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
			refunded = amount // the provider took back the part that was not refunded
		}
		want[o.currency] += amount - refunded
		if o.currency == feeCurrency {
			want[o.currency] -= fee(amount)
		}
	}
	for _, s := range w.book.settlements {
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
		w.recordViolation("balances: %v", err)
	}
	for _, b := range balances {
		if strings.HasPrefix(b.Available, "-") {
			w.recordViolation("the balance in %s is below zero: %s", b.Currency, b.Available)
		}
		if expected, known := want[b.Currency]; known && b.Env == "prod" && (b.Available != strconv.Itoa(expected) || b.Pending != "0") {
			w.recordViolation("the balance in %s is %s and %s pending; by the orders it is %d", b.Currency, b.Available, b.Pending, expected)
		}
	}
}

// captured returns the captured amount of an order whose money was held. It checks that a client has sent a commit of this
// amount.
func (w *world) captured(o *order, s *settledOrder) int {
	taken, err := strconv.Atoi(s.Merchant)
	if err != nil || !slices.Contains(o.commits, taken) {
		w.recordViolation("%s: %q was captured, but the commits were of %v", o.txid, s.Merchant, o.commits)
	}
	return taken
}

// refunded returns the sum of an order's successful refunds. It checks that a client requested each refund that the service
// shows, and that the service shows the right sum.
func (w *world) refunded(o *order, s *settledOrder, amount int) (sum int) {
	left := make(map[int]int) // amount of a refund → number of requests for it that may have succeeded
	for _, r := range o.refunds {
		if r.status == 0 || r.status == http.StatusOK || r.status == http.StatusServiceUnavailable {
			left[r.amount]++
		}
	}
	for _, r := range s.Refunds {
		n, err := strconv.Atoi(r.Amount)
		if err != nil || left[n] == 0 {
			w.recordViolation("%s: a refund of %s, which nobody asked for: %v", o.txid, r.Amount, o.refunds)
		}
		left[n]--
		if r.Status == "succeeded" {
			sum += n
		}
	}
	if sum > amount || strconv.Itoa(sum) != s.Refunded && (sum > 0 || s.Refunded != "") {
		w.recordViolation("%s: refunds of %d together, and the service says %q of %d", o.txid, sum, s.Refunded, amount)
	}
	return sum
}

// unansweredSettlements sends the unanswered settlements again, with the same idempotency keys, so that each is carried out
// exactly once. It returns the sum of these settlements.
func (w *world) unansweredSettlements(c *client) (sum int) {
	for _, s := range w.book.settlements {
		if s.status == http.StatusCreated {
			continue
		}
		a := w.request(c.node, byOperator, http.MethodPost, "/api/v1/partners/1/settlements", "key-"+s.reference,
			fmt.Sprintf(`{"direction":%q,"amount":"%d","currency":%q,"env":"prod","reference":%q}`, s.direction, s.amount, plainCurrency, s.reference))
		switch {
		case a.status != http.StatusCreated:
			w.recordViolation("%s is answered %d: %s", s.reference, a.status, a.body)
		case s.direction == "in":
			sum += s.amount
		default:
			sum -= s.amount
		}
	}
	return sum
}

// renewalAmount is the amount that a subscription charges each day, in minor units. No order has this amount.
const renewalAmount = 3

// renewed returns the sum of the charged renewals. It recognizes renewals by their amount.
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
			w.recordViolation("the list of transactions: %v", err)
			return 0
		}
		for _, t := range page.Data {
			// The type and the status matter too, because the return of a reversed payment may have this amount.
			if t.Amount == strconv.Itoa(renewalAmount) && t.Type == "payment" && t.Status == "charged" {
				sum += renewalAmount
			}
		}
		if page.Cursor.Value == nil {
			return sum
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Cursor.Value)
	}
}

// compareLimit checks that the used amount of the monthly limit is the sum of this month's orders. It also checks that the
// daily limit was not exceeded on any day.
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
		w.recordViolation("of the limit of %s, %s are used and %s reserved; orders of the month were of %d", month, got, usage.get("reserved"), used)
	}
	for day, sum := range sums {
		if sum > dailyLimit {
			w.recordViolation("on %s, %d %s were charged; the limit is %d", day, sum, limitedCurrency, dailyLimit)
		}
	}
}

// compareContracts checks that each contract still has the status that the service showed after the contract's last step.
func (w *world) compareContracts(c *client) {
	for _, k := range w.book.contracts {
		if k.id == "" || len(k.statuses) == 0 {
			continue
		}
		a := w.get(c, bySession, k.lifecycle.Path+"/"+k.id)
		if got, want := a.get("status"), k.statuses[len(k.statuses)-1]; got != want && k.body == "" {
			w.recordViolation("contract %d of %s, %s: its last step showed %s, and it is %s", k.number, k.lifecycle.Product, k.lifecycle.Reading, want, got)
		}
	}
}

// compareNotifications checks that the merchant's server was notified of each status that clients saw, if merchants are
// notified of that status at all.
func (w *world) compareNotifications() {
	type reported struct{ id, status string }
	accepted, events := make(map[reported]bool), make(map[reported]map[string]bool)
	for _, n := range w.receivers.accepted {
		accepted[reported{n.Data.ID, n.Data.Status}] = true
	}
	for id, n := range w.receivers.events {
		about := reported{n.Data.ID, n.Data.Status}
		if events[about] == nil {
			events[about] = make(map[string]bool)
		}
		events[about][id] = true
	}
	for _, o := range w.book.orders {
		for _, status := range o.seenStatuses {
			if slices.Contains(notified, status) && !accepted[reported{o.id, status}] {
				w.recordViolation("%s, %s: the merchant's server was never told that it is %s", o.txid, o.id, status)
			}
			if n := len(events[reported{o.id, status}]); n > 1 && len(o.refunds) == 0 && slices.Contains([]string{"charged", "rejected", "failed", "reversed"}, status) {
				w.recordViolation("%s, %s: the merchant's server was told of %d events that it is %s", o.txid, o.id, n, status)
			}
		}
	}
}

// notified are the statuses of which merchants are notified.
var notified = []string{"action_required", "payment_suspended", "payout_suspended", "charged", "rejected", "failed", "reversed", "refunding", "refunded"}

// compareProvider compares the final statuses of the orders with the calls that reached the provider, and with the provider's
// answers.
func (w *world) compareProvider() {
	// Calls are grouped by amount, because no two orders have the same amount. A reference does not identify an order, because
	// each attempt has its own reference.
	opened, byAmount := make(map[ledger.ID]string), make(map[string][]railCall)
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
			w.recordViolation("%s, %s: the provider has the money, and the service says %s %q", o.txid, o.id, o.status, o.code)
		}
		if charges > 1 {
			w.recordViolation("%s, %s: submitted %d times to the provider", o.txid, o.id, charges)
		}
	}
}

// compareHeads checks each head that an auditor has kept: the journal at that time must be a prefix of the present journal. If
// both journals have the same size, their root hashes must be equal. Otherwise a consistency proof (RFC 6962) must show that
// the journal was only extended.
func (w *world) compareHeads(c *client) {
	a := w.get(c, byAuditor, "/api/v1/ledger/head")
	now := head{number(a, "tree_size"), a.get("root")}
	isProven := make(map[head]bool)
	for _, h := range w.book.heads {
		switch {
		case isProven[h]:
			continue
		case h.size > now.size:
			w.recordViolation("a head of %d events was shown, and now there are %d", h.size, now.size)
		case h.size == now.size && h.root != now.root:
			w.recordViolation("two heads of %d events", h.size)
		case h.size > 0 && h.size < now.size:
			if err := w.checkExtension(c, h, now); err != nil {
				w.recordViolation("the journal of %d events does not extend the one of %d events: %v", now.size, h.size, err)
			}
		}
		isProven[h] = true
	}
}

// checkExtension requests and checks the proof that the journal of the head "to" extends the journal of the head "from".
func (w *world) checkExtension(c *client, from, to head) error {
	var proof struct {
		Path tlog.TreeProof `json:"proof"`
	}
	a := w.get(c, byAuditor, fmt.Sprintf("/api/v1/ledger/proofs/consistency?from=%d&to=%d", from.size, to.size))
	if err := a.decode(&proof); err != nil {
		return err
	}
	fromRoot, err := tlog.ParseHash(from.root)
	if err != nil {
		return err
	}
	toRoot, err := tlog.ParseHash(to.root)
	if err != nil {
		return err
	}
	return tlog.CheckTree(proof.Path, int64(to.size), toRoot, int64(from.size), fromRoot)
}

// compareMonths checks that a month is closed if a client got the answer that the month was closed.
func (w *world) compareMonths(c *client) {
	var periods []struct {
		Month string `json:"month"`
	}
	if err := w.get(c, byAuditor, "/api/v1/ledger/periods").decode(&periods); err != nil {
		w.recordViolation("the closed months: %v", err)
	}
	closed := make(map[string]bool)
	for _, p := range periods {
		closed[p.Month] = true
	}
	for _, month := range w.book.months {
		if !closed[month] {
			w.recordViolation("%s was closed, and is not", month)
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
