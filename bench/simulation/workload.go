package simulation

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// client sends requests to one process of the service.
type client struct {
	world *world
	node  *node
}

func (c *client) request(by caller, method, path, key, body string) answer {
	return c.world.request(c.node, by, method, path, key, body)
}

// operation is one request of a client, or several requests that belong together.
type operation struct {
	name      string
	run       func(*client)
	exclusive bool // no other operation may run at the same time
}

// maxInFlight bounds the number of operations under way.
const maxInFlight = 12

// begin starts an operation.
func (w *world) begin(op *operation) {
	n := w.node
	if w.cluster != nil {
		n = w.cluster.entry()
	}
	w.beginAt(op, n)
}

// beginAt starts an operation whose requests go to the process n.
func (w *world) beginAt(op *operation, n *node) {
	w.traceDecision("begin %s", op.name)
	c := &client{w, n}
	w.inFlight++
	w.exclusive = op.exclusive
	go func() {
		op.run(c)
		w.ended <- op
	}()
}

// collect counts the operations that have ended since the last call.
func (w *world) collect() {
	for {
		select {
		case op := <-w.ended:
			w.inFlight--
			if op.exclusive {
				w.exclusive = false
			}
		default:
			return
		}
	}
}

// collectAll waits until every operation has ended. If an operation's connection is closed, the operation ends soon. If the
// process has failed, collectAll does not wait, because a failed process answers no request.
func (w *world) collectAll() {
	for tries := 0; ; tries++ {
		synctest.Wait()
		w.collect()
		if w.inFlight == 0 || w.node != nil && w.node.failure() != nil {
			return
		}
		if tries > 100 {
			w.recordViolation("%d clients wait for ever", w.inFlight)
			return
		}
		time.Sleep(time.Second)
	}
}

// step carries out one random step: it resumes a waiting goroutine, begins an operation, changes a fault, or lets time pass.
func (w *world) step() {
	waiting := w.list()
	roll := w.random.Float64()
	switch {
	case w.exclusive && len(waiting) == 0:
		w.pass(time.Second)
	case len(waiting) > 0 && (roll < 0.5 || w.inFlight >= maxInFlight || w.exclusive):
		w.decide(waiting[w.random.IntN(len(waiting))])
	case roll < 0.92 && w.inFlight < maxInFlight && !w.exclusive:
		if op := w.choose(); op != nil {
			w.begin(op)
		}
	case w.plan.Faults.FullDisk && roll < 0.93:
		w.isDiskFull = !w.isDiskFull
		w.disk.setFull(w.isDiskFull)
		w.traceDecision("the disk is full: %v", w.isDiskFull)
	case w.plan.Faults.Leaps && w.leaping != nil && roll < 0.95:
		by := []time.Duration{-time.Hour, -time.Second, time.Second, 45 * time.Second, time.Hour, 20 * time.Hour}[w.random.IntN(6)]
		if w.inFlight > 0 || w.receivers.areBusy() {
			// After a longer leap, a decision could seem to take more than a minute, or an attempt more than a day. The checker
			// reports both as faults.
			by = min(by, 45*time.Second)
		}
		w.traceDecision("the clock leaps by %v", by)
		w.leaping.leap(by)
	default:
		w.pass([]time.Duration{time.Millisecond, 50 * time.Millisecond, time.Second, 12 * time.Second}[w.random.IntN(4)])
	}
}

// pass lets the time d pass.
func (w *world) pass(d time.Duration) {
	w.traceDecision("%v pass", d)
	time.Sleep(d)
}

// decide chooses a verdict for one waiting goroutine and resumes the goroutine.
func (w *world) decide(p *waitingGoroutine) {
	v := verdictGo
	f := w.plan.Faults
	random := p.by.draw(p, "verdict")
	roll := random.Float64()
	switch p.kind {
	case waitDisk:
		switch {
		case f.SlowDisk && roll < 0.1:
			w.pass(time.Duration(1+random.IntN(20)) * time.Second)
		case f.SyncFails && roll > 0.94:
			v = []verdict{verdictFail, verdictFailPersisted}[random.IntN(2)]
			w.syncsFailed++
		}
	case waitCall:
		switch {
		case f.LostCalls && roll < 0.15:
			v = verdictFail
		case f.TwiceCalls && roll > 0.85:
			v = verdictTwice
		}
	case waitAnswer:
		if f.LostCalls && roll < 0.15 {
			v = verdictFail
		}
	case waitDelivery:
		if f.Receivers && roll < 0.4 {
			v = []verdict{verdictFail, verdictFailPersisted, verdictTwice}[random.IntN(3)]
		}
	}
	if v != verdictGo && (p.kind == waitCall || p.kind == waitAnswer) {
		w.book.disturb()
	}
	w.traceDecision("%v: %s", p, verdictNames[v])
	p.by.resume(p, v)
}

// choose returns a random next operation of a client, or nil for none.
func (w *world) choose() *operation {
	b, random := w.book, w.random
	roll := random.IntN(100)
	switch {
	case roll < 38:
		o := b.newOrder(random)
		if o.currency == scarceCurrency {
			return b.createTwoAtOnce(random, o)
		}
		return &operation{name: "create " + o.txid, run: o.create}
	case roll < 40:
		o := b.newLinkedOrder(random)
		return &operation{name: "buy " + o.txid, run: o.buy}
	case roll < 45: // repeat a create request, perhaps while the first one is under way
		if o := b.recent(random, func(o *order) bool { return !o.isLinked }); o != nil {
			if w.plan.Faults.Overflows && random.IntN(4) == 0 {
				return &operation{name: "repeat many times " + o.txid, run: o.createAtOnce}
			}
			return &operation{name: "repeat " + o.txid, run: o.create}
		}
	case roll < 50:
		if o := b.recent(random, func(o *order) bool { return o.id != "" }); o != nil {
			return &operation{name: "read " + o.txid, run: func(c *client) { o.read(c) }}
		}
	case roll < 62:
		return w.chooseFollowUp()
	case roll < 68:
		if o := b.recent(random, func(o *order) bool { return o.kind == "payment" && (o.status == "charged" || o.status == "refunded") }); o != nil {
			amount := 1 + random.IntN(o.amount)
			return &operation{name: fmt.Sprintf("refund %d of %s", amount, o.txid), run: func(c *client) { o.requestRefund(c, amount) }}
		}
	case roll < 80:
		return w.chooseContract()
	case roll < 84:
		return w.chooseSubscription()
	case roll < 87:
		return w.chooseSettlement()
	case roll < 93:
		return w.chooseReading()
	case roll < 94:
		return w.chooseClose()
	case roll < 96:
		return w.chooseBackup()
	case w.manual != nil && w.inFlight == 0:
		seconds := []int{1, 6, 61, 700, 3_700, 90_000}[random.IntN(6)]
		return &operation{name: fmt.Sprintf("advance %d s", seconds), exclusive: true, run: func(c *client) { advance(c, seconds) }}
	}
	return nil
}

// createTwoAtOnce returns an operation that creates two similar orders at the same time. The partner can afford only one of the
// two.
func (b *book) createTwoAtOnce(random *rand.Rand, o *order) *operation {
	other := b.newOrderOf(random, o.kind, o.currency, &cards[0])
	return &operation{name: "create " + o.txid + " and " + other.txid, run: func(c *client) {
		var both sync.WaitGroup
		both.Go(func() { other.create(c) })
		o.create(c)
		both.Wait()
	}}
}

// chooseFollowUp chooses a random command about an order that waits for a command or for its payer.
func (w *world) chooseFollowUp() *operation {
	o := w.book.recent(w.random, func(o *order) bool {
		return o.status == "created" && o.means == nil || slices.Contains([]string{"action_required", "payment_suspended", "payout_suspended", "charging"}, o.status)
	})
	if o == nil {
		return nil
	}
	roll := w.random.IntN(10)
	switch {
	case o.status == "created" && roll < 9:
		return w.chooseAttempt(o)
	case o.status == "action_required" && roll < 8:
		return &operation{name: "what is asked for " + o.txid, run: func(c *client) { o.answerAction(c, roll >= 2) }}
	case strings.HasSuffix(o.status, "_suspended") && roll < 7:
		amount := o.amount
		if o.kind == "payment" && roll < 3 {
			amount = 1 + w.random.IntN(o.amount)
		}
		return &operation{name: fmt.Sprintf("commit %d of %s", amount, o.txid), run: func(c *client) { o.commit(c, amount) }}
	}
	return &operation{name: "cancel " + o.txid, run: o.cancel}
}

// advance moves the manual clock forward.
func advance(c *client, seconds int) {
	a := c.request(byOperator, http.MethodPut, "/api/v1/sandbox/clock", "", fmt.Sprintf(`{"advance_seconds":%d}`, seconds))
	if a.status != 0 && a.status != http.StatusOK && a.status != http.StatusServiceUnavailable {
		c.world.recordViolation("moving the clock is answered %d: %s", a.status, a.body)
	}
}

// chooseReading chooses a random request that changes nothing.
func (w *world) chooseReading() *operation {
	type reading struct {
		by   caller
		path string
	}
	r := []reading{
		{byPartner, "/api/v1/balances"}, {byPartner, transactionsPath + "?limit=50"}, {byAuditor, "/api/v1/ledger/trial-balance?env=prod"},
		{byAuditor, "/api/v1/ledger/export?format=hledger&env=prod"}, {byAuditor, "/api/v1/ledger/export?format=csv&env=prod"}, {byAuditor, headPath},
		{byOperator, "/api/v1/deliveries"}, {byPartner, transactionsPath + "/aggregate"},
	}[w.random.IntN(8)]
	return &operation{name: "read " + r.path, run: func(c *client) {
		a := c.request(r.by, http.MethodGet, r.path, "", "")
		switch {
		case a.status == 0 || a.status == http.StatusServiceUnavailable:
		case a.status != http.StatusOK:
			c.world.recordViolation("%s is answered %d: %s", r.path, a.status, a.body)
		case r.path == headPath:
			c.world.book.learnHead(a)
		}
	}}
}

const headPath = "/api/v1/ledger/head"

// readHead reads the head. It must not be older than a head that was shown before the request.
func (b *book) readHead(c *client) {
	shown := 0
	b.world.locked(func() {
		for _, h := range b.heads {
			shown = max(shown, h.size)
		}
	})
	if a := c.request(byAuditor, http.MethodGet, headPath, "", ""); a.status == http.StatusOK {
		b.learnHead(a)
		if size := number(a, "tree_size"); size < shown {
			b.world.recordViolation("a read is stale: it shows %d events, and %d were shown before", size, shown)
		}
	}
}

// head is a signed head of the ledger (size and root hash of the journal's tree) that an auditor has kept.
type head struct {
	size int
	root string
}

// learnHead records a head for compareHeads.
func (b *book) learnHead(a answer) {
	size, err := strconv.Atoi(a.get("tree_size"))
	if err != nil {
		b.world.recordViolation("a head has no size: %s", a.body)
		return
	}
	b.world.locked(func() { b.heads = append(b.heads, head{size, a.get("root")}) })
}

// settlement moves money between the partner's bank and the institution's bank.
type settlement struct {
	reference string
	direction string
	amount    int
	status    int
}

func (w *world) chooseSettlement() *operation {
	b := w.book
	s := settlement{reference: fmt.Sprintf("settlement-%d", len(b.settlements)), direction: "out", amount: 10_000 + w.random.IntN(1_000)}
	if w.random.IntN(2) == 0 {
		s.direction = "in"
	}
	index := len(b.settlements)
	w.locked(func() { b.settlements = append(b.settlements, s) })
	return &operation{name: "settle " + s.reference, run: func(c *client) {
		a := c.request(byOperator, http.MethodPost, "/api/v1/partners/1/settlements", "key-"+s.reference,
			fmt.Sprintf(`{"direction":%q,"amount":"%d","currency":%q,"env":"prod","reference":%q}`, s.direction, s.amount, plainCurrency, s.reference))
		c.world.locked(func() { b.settlements[index].status = a.status })
		if a.status != 0 && a.status != http.StatusCreated && a.status != http.StatusServiceUnavailable && a.status != http.StatusConflict {
			c.world.recordViolation("%s is answered %d: %s", s.reference, a.status, a.body)
		}
	}}
}

func (w *world) chooseSubscription() *operation {
	b := w.book
	if len(b.renewals) > 0 && w.random.IntN(2) == 0 {
		id, action := b.renewals[w.random.IntN(len(b.renewals))], []string{"pause", "resume", "cancel"}[w.random.IntN(3)]
		return &operation{name: action + " a subscription", run: func(c *client) {
			a := c.request(byPartner, http.MethodPost, "/api/v1/subscriptions/"+id+"/"+action, "", "")
			if a.status != 0 && a.status != http.StatusOK && a.status != http.StatusConflict && a.status != http.StatusServiceUnavailable {
				c.world.recordViolation("%s of subscription %s is answered %d: %s", action, id, a.status, a.body)
			}
		}}
	}
	o := b.recent(w.random, func(o *order) bool {
		return o.kind == "payment" && o.status == "charged" && o.means == &cards[0] && o.currency == plainCurrency
	})
	if o == nil {
		return nil
	}
	return &operation{name: "subscribe with " + o.txid, run: func(c *client) {
		a := c.request(byPartner, http.MethodPost, "/api/v1/subscriptions", "", fmt.Sprintf(`{"params":{"initial_payment_id":%q,"amount":"%d","period_days":1}}`, o.known(c.world).id, renewalAmount))
		switch a.status {
		case 0, http.StatusServiceUnavailable, http.StatusUnprocessableEntity: // 422: a refund or reversal has removed the token
		case http.StatusCreated:
			c.world.locked(func() { b.renewals = append(b.renewals, a.get("id")) })
		default:
			c.world.recordViolation("a subscription with %s is answered %d: %s", o.txid, a.status, a.body)
		}
	}}
}

func (w *world) chooseClose() *operation {
	name := fmt.Sprintf("2026-%02d", 6+w.random.IntN(4)) // this may be the current month, which can't be closed yet
	return &operation{name: "close " + name, run: func(c *client) {
		a := c.request(bySession, http.MethodPost, "/api/v1/ledger/periods/"+name+"/close", "", "")
		switch a.status {
		case 0, http.StatusServiceUnavailable, http.StatusConflict, http.StatusUnprocessableEntity:
		case http.StatusOK, http.StatusCreated:
			c.world.locked(func() { w.book.months = append(w.book.months, name) })
		default:
			c.world.recordViolation("closing %s is answered %d: %s", name, a.status, a.body)
		}
	}}
}

// savedBackup is a complete backup that a client received.
type savedBackup struct {
	path string
}

func (w *world) chooseBackup() *operation {
	return &operation{name: "back up", run: func(c *client) {
		r, err := http.NewRequest(http.MethodPost, baseURL+"/api/v1/backups", strings.NewReader("{}"))
		if err != nil {
			c.world.recordViolation("%v", err)
			return
		}
		r.Header.Set("content-type", "application/json")
		r.Header.Set("authorization", "Bearer "+string(c.world.sandbox.AdminToken))
		response, err := c.node.client.Do(r)
		if err != nil {
			return
		}
		defer func() { _ = response.Body.Close() }()
		content, err := io.ReadAll(response.Body)
		switch {
		case err != nil || c.node.isGone(): // the connection was cut
		case response.StatusCode == http.StatusOK:
			c.world.saveBackup(content)
		// 409: another backup is under way.
		case response.StatusCode != http.StatusConflict && response.StatusCode != http.StatusServiceUnavailable:
			c.world.recordViolation("a backup is answered %d: %s", response.StatusCode, content)
		}
	}}
}
