package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/money"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
	"mizan/posting/store"
)

const (
	readers      = 16              // goroutines that read at the end
	finalTimeout = 2 * time.Minute // for the payments to become final
)

// judge checks everything that the clients were told.
func (c *campaign) judge() {
	c.t.Helper()
	for _, err := range c.wrong {
		c.t.Errorf("a wrong answer: %v", err)
	}
	c.passTime()
	c.awaitWhole(0)
	c.awaitFinal()
	c.readThroughEveryNode()
	totals := c.totals()
	c.readAccounts()
	c.http().CloseIdleConnections()
	c.stopEqual()
	c.audit(c.names)
	calls := c.providerCalls()
	for i, tn := range c.tenants {
		c.compareStore(tn, calls, totals[i])
	}
	c.checkHistories()
	c.report.update(func() {
		for name, n := range c.counts {
			c.report.totals[name] += n
		}
	})
}

func (c *campaign) http() *http.Client { return c.pool.http }

// each calls fn for each payment of every tenant, from several goroutines.
func (c *campaign) each(fn func(*payment)) {
	queue := make(chan *payment)
	var working sync.WaitGroup
	for range readers {
		working.Go(func() {
			for pm := range queue {
				fn(pm)
			}
		})
	}
	for _, tn := range c.tenants {
		for _, pm := range tn.all() {
			queue <- pm
		}
	}
	close(queue)
	working.Wait()
}

func isFinal(status string) bool {
	switch status {
	case "charged", "refunded", "rejected", "failed":
		return true
	}
	return false
}

// show reads a payment through a node, and does not record the answer. The cluster may hand over a lead meanwhile, so a refusal is
// repeated.
func (c *campaign) show(pm *payment, node int) (v view, err error) {
	for range 20 {
		a := c.send(c.t.Context(), node, http.MethodGet, "/api/v1/transactions/"+pm.shown().ID, "", "x-api-key", pm.tenant.key, "x-organization-id", pm.tenant.org)
		if a.status == http.StatusOK {
			return a.view(), nil
		}
		err = fmt.Errorf("txid %s: node %s answers a read of %s with %d: %s", pm.txid, c.names[node], pm.shown().ID, a.status, a.body)
		if a.status != http.StatusServiceUnavailable {
			return view{}, err
		}
		<-time.After(100 * time.Millisecond)
	}
	return view{}, err
}

// awaitFinal waits until every payment that was shown to a client is final.
func (c *campaign) awaitFinal() {
	c.t.Helper()
	end := time.Now().Add(finalTimeout)
	c.each(func(pm *payment) {
		if pm.shown().ID == "" {
			return
		}
		for {
			v, err := c.show(pm, 0)
			if err == nil && isFinal(v.Status) {
				return
			}
			if time.Now().After(end) {
				c.t.Errorf("txid %s is not final after %v: %+v, %v", pm.txid, finalTimeout, v, err)
				return
			}
			<-time.After(50 * time.Millisecond)
		}
	})
}

// readThroughEveryNode reads every acknowledged payment through every node, and compares what they show.
func (c *campaign) readThroughEveryNode() {
	c.each(func(pm *payment) {
		if pm.shown().ID == "" {
			return
		}
		for node := range c.urls {
			call := c.now()
			v, err := c.show(pm, node)
			if err != nil {
				c.lose("%v", err)
				continue
			}
			pm.mu.Lock()
			if v.ID != pm.last.ID || node > 0 && v.Status != pm.last.Status {
				c.t.Errorf("txid %s: node %s shows %+v, another one %+v", pm.txid, c.names[node], v, pm.last)
			}
			pm.last = v
			pm.operations = append(pm.operations, porcupine.Operation{ClientId: len(pm.operations), Input: showInput{v.ID}, Output: v, Call: call, Return: c.now()})
			pm.mu.Unlock()
		}
	})
}

// total is what is posted to a partner's account.
type total struct{ credits, debits int64 }

// totals returns what is posted to the partners' accounts. All nodes must show the same.
func (c *campaign) totals() []total {
	c.t.Helper()
	list := make([]total, len(c.tenants))
	for i, tn := range c.tenants {
		for node := range c.urls {
			path := fmt.Sprintf("/api/v1/ledger/accounts/L:partner:%d:available?currency=%s&env=%s", tn.id, currency, env)
			a := c.send(c.t.Context(), node, http.MethodGet, path, "", "x-api-key", tn.key, "x-organization-id", tn.org)
			var rows struct {
				Data []struct {
					Credits int64 `json:"credits_posted,string"`
					Debits  int64 `json:"debits_posted,string"`
					Held    int64 `json:"debits_pending,string"`
				}
			}
			if err := json.Unmarshal(a.body, &rows); err != nil || len(rows.Data) > 1 || a.status != http.StatusOK && a.status != http.StatusNotFound { // 404: nothing was posted
				c.t.Errorf("node %s: GET %s answered %d: %s", c.names[node], path, a.status, a.body)
				continue
			}
			var got total
			if len(rows.Data) == 1 {
				if got = (total{rows.Data[0].Credits, rows.Data[0].Debits}); rows.Data[0].Held != 0 {
					c.t.Errorf("shard %d: %d is held though every payment is final", tn.shard(), rows.Data[0].Held)
				}
			}
			if node > 0 && got != list[i] {
				c.t.Errorf("shard %d: node %s shows the totals %+v, another one %+v", tn.shard(), c.names[node], got, list[i])
			}
			list[i] = got
		}
	}
	return list
}

// storeDir returns the data directory of a node's replica of a shard.
func (c *campaign) storeDir(node string, shard int) string {
	return filepath.Join(c.node(node).data, "shards", strconv.Itoa(shard), "store")
}

// joinAnswers writes, for each shard that has organizations at the end, a file with all answers about them.
func (c *campaign) joinAnswers() {
	c.t.Helper()
	for shard := 1; shard <= shards; shard++ {
		var all []byte
		for _, tn := range c.tenants {
			if tn.shard() != shard {
				continue
			}
			content, err := os.ReadFile(tn.answers.path)
			if err != nil {
				c.t.Fatal(err)
			}
			all = append(all, content...)
		}
		if len(all) == 0 { // all organizations have moved away
			continue
		}
		if err := os.WriteFile(c.answersIn(shard), all, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *campaign) answersIn(shard int) string { return c.path(fmt.Sprintf("answers-in-%d", shard)) }

// audit runs `mizan audit verify` on every replica of the closed cluster, with all answers about the shard's organization.
func (c *campaign) audit(names []string) {
	for _, tn := range c.tenants {
		if err := tn.answers.close(); err != nil {
			c.t.Errorf("the answers: %v", err)
		}
	}
	c.joinAnswers()
	var running sync.WaitGroup
	for _, node := range names {
		running.Go(func() {
			for shard := range shards + 1 {
				args := []string{"audit", "verify", "--data", c.storeDir(node, shard), "--keyring", c.path("keyring")}
				if _, err := os.Stat(c.answersIn(shard)); err == nil {
					args = append(args, "--answers", c.answersIn(shard))
				}
				if r := testkit.Run(c.t, nil, args...); r.Exit != 0 || r.Stderr != "" {
					c.t.Errorf("audit verify of shard %d on %s: exit %d\n%s%s", shard, node, r.Exit, r.Stdout, r.Stderr)
				}
			}
		})
	}
	running.Wait()
}

// replicaSum describes the content of a replica.
type replicaSum struct {
	group      uint64
	hash, rows [32]byte
}

// maxStops bounds how often stopEqual stops the cluster.
const maxStops = 3

// stopEqual stops the cluster and compares the replicas. A node that stops may become the leader of a shard whose leader has stopped
// before it, and write a group that no node is there to take. Then the cluster starts once more: all must have the group, or none.
func (c *campaign) stopEqual() {
	c.t.Helper()
	for n := 1; ; n++ {
		c.stopNodes()
		if c.compareReplicas(n == maxStops) || c.t.Failed() {
			break
		}
		c.count("cluster started again because a stopped replica was ahead")
		for _, node := range c.all() {
			if err := c.launch(node); err != nil {
				c.t.Fatal(err)
			}
		}
		c.awaitWhole(0)
		c.http().CloseIdleConnections()
	}
	c.stopProvider()
}

// compareReplicas compares the last groups and all rows of the replicas of each shard. It tells whether they are equal. Replicas with
// the same number of groups must be; those with different numbers need not be if mustBeWhole is false.
func (c *campaign) compareReplicas(mustBeWhole bool) (equal bool) {
	c.t.Helper()
	equal = true
	for shard := range shards + 1 {
		var first replicaSum
		for i, node := range c.names {
			sum, err := sumOf(c.storeDir(node, shard))
			switch {
			case err != nil:
				c.t.Errorf("shard %d on %s: %v", shard, node, err)
				equal = false
			case i == 0:
				first = sum
			case sum == first:
			default:
				equal = false
				text := fmt.Sprintf("shard %d: %s has %d, %x, rows %x; %s has %d, %x, rows %x", shard,
					c.names[0], first.group, first.hash[:4], first.rows[:4], node, sum.group, sum.hash[:4], sum.rows[:4])
				if mustBeWhole || sum.group == first.group {
					c.t.Error(text)
				} else {
					c.t.Log(text)
				}
			}
		}
	}
	return equal
}

func sumOf(dir string) (sum replicaSum, err error) {
	s, err := store.Open(store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), MustExist: true})
	if err != nil {
		return sum, err
	}
	defer func() { _ = s.Close() }()
	sum.group, sum.hash = s.LastGroup()
	sn, rows := s.Snapshot(), sha256.New()
	defer sn.Close()
	err = sn.StoredRows(nil, 0, func(r store.StoredRow) (bool, error) {
		fmt.Fprintf(rows, "%d %d ", len(r.Key), len(r.Stored))
		_, _ = rows.Write(r.Key) // never fails
		_, _ = rows.Write(r.Stored)
		return true, nil
	})
	rows.Sum(sum.rows[:0])
	return sum, err
}

// charges has the calls in the simulator's log about one transaction.
type charges struct {
	charge  int
	refunds map[ledger.ID]int // by the id of the request
}

// providerCalls reads the simulator's log.
func (c *campaign) providerCalls() map[ledger.ID]*charges {
	c.t.Helper()
	content, err := os.ReadFile(filepath.Join(c.path("simulator"), "simulator.log"))
	if err != nil {
		c.t.Errorf("the simulator's log: %v", err)
	}
	calls := make(map[ledger.ID]*charges)
	for text := range bytes.Lines(bytes.TrimRight(content, "\x00")) { // if the simulator is killed, zero bytes follow its last line
		var line struct {
			Reference ledger.ID `json:"reference"`
			Request   ledger.ID `json:"request"`
			Operation string    `json:"operation"`
		}
		if err := json.Unmarshal(text, &line); err != nil {
			c.t.Errorf("simulator.log: %v: %s", err, text)
			continue
		}
		if calls[line.Reference] == nil {
			calls[line.Reference] = &charges{refunds: make(map[ledger.ID]int)}
		}
		switch of := calls[line.Reference]; line.Operation {
		case "payment":
			of.charge++
		case "refund":
			of.refunds[line.Request]++
		default:
			c.t.Errorf("simulator.log: operation %q", line.Operation)
		}
	}
	return calls
}

// compareStore compares the stored transactions of a tenant with what the clients know, with the simulator's calls and with the
// totals of the partner's account.
func (c *campaign) compareStore(tn *tenant, calls map[ledger.ID]*charges, totals total) {
	c.t.Helper()
	byTxID, found := make(map[string]*payment), make(map[string]bool)
	for _, pm := range tn.all() {
		byTxID[pm.txid] = pm
	}
	var want total
	discard := slog.New(slog.DiscardHandler)
	j, err := posting.Open(posting.Options{Store: store.Options{Dir: c.storeDir(c.names[0], tn.shard()), Log: discard, MustExist: true}, Clock: clock.Real{}, Log: discard})
	if err != nil {
		c.t.Errorf("shard %d: %v", tn.shard(), err)
		return
	}
	defer func() {
		if err := j.Close(); err != nil {
			c.t.Errorf("shard %d: %v", tn.shard(), err)
		}
	}()
	sn := j.View()
	defer sn.Close()
	surprises := 0
	err = sn.Records(uuid.MustParse(tn.org), ledger.Transaction, func(id ledger.ID, stored posting.Record) (bool, error) {
		r, err := paymentcodec.Decode(stored.Payload)
		if err != nil {
			return false, err
		}
		pm, of := byTxID[r.TxID], calls[id]
		if of == nil {
			of = new(charges)
		}
		switch status := string(r.Status); {
		case r.TxID == "": // a payment into an account; if no client knows its id, nobody has waited until it is final
			if of.charge > 1 {
				c.double("transaction %v was sent to the provider %d times", id, of.charge)
			}
			return true, nil
		case pm == nil:
			c.t.Errorf("transaction %v has txid %q, which nobody sent", id, r.TxID)
			return true, nil
		case found[r.TxID]:
			c.double("txid %s has a second transaction, %v", r.TxID, id)
		case pm.last.ID == "" && pm.unknown == 0:
			c.t.Errorf("txid %s has transaction %v, but every create was answered as not done", r.TxID, id)
		case pm.last.ID != "" && (pm.last.ID != id.String() || pm.last.Status != status):
			c.t.Errorf("txid %s is stored as %v %s, and was shown as %s %s", r.TxID, id, status, pm.last.ID, pm.last.Status)
		case status == "charged" || status == "refunded":
			want.credits += number(r.Amount)
			want.debits += number(r.RefundedAmount)
			if of.charge != 1 {
				c.t.Errorf("txid %s is %s after %d charges by the provider", r.TxID, status, of.charge)
			}
		}
		if pm.last.ID == "" {
			surprises++
		}
		if of.charge > 1 {
			c.double("txid %s was sent to the provider %d times", r.TxID, of.charge)
		}
		for request, n := range of.refunds {
			if n > 1 {
				c.double("refund %v of txid %s was sent to the provider %d times", request, r.TxID, n)
			}
		}
		found[r.TxID] = true
		delete(calls, id)
		return true, nil
	})
	if err != nil {
		c.t.Errorf("shard %d: %v", tn.shard(), err)
	}
	acknowledged := 0
	for txid, pm := range byTxID {
		if pm.acked {
			acknowledged++
			if !found[txid] {
				c.lose("txid %s was acknowledged as %s, and is not stored", txid, pm.last.ID)
			}
		}
	}
	c.report.update(func() { c.report.acknowledged += acknowledged })
	if totals != want {
		c.t.Errorf("shard %d: the partner's account has %+v, the stored payments make %+v", tn.shard(), totals, want)
	}
	c.t.Logf("shard %d: %d payments asked for, %d stored, %d of them without an answer to any create", tn.shard(), len(byTxID), len(found), surprises)
}

// number returns an amount in minor units. Those of this package are small.
func number(a money.Amount) int64 {
	n, _ := a.Uint64()
	return int64(n)
}

// checkHistories looks for orders that explain the answers about each payment, and about each account.
func (c *campaign) checkHistories() {
	c.each(func(pm *payment) { c.checkHistory("txid "+pm.txid, paymentModel, pm.operations) })
	for _, tn := range c.tenants {
		for _, a := range tn.accounts {
			if len(a.operations) > 0 {
				c.checkHistory(a.name, balanceModel, a.operations)
			}
		}
	}
}

// checkHistory looks for an order of the operations that the model allows.
func (c *campaign) checkHistory(name string, model porcupine.Model, operations []porcupine.Operation) {
	result, details := porcupine.CheckOperationsVerbose(model, withEnd(operations), searchTime)
	c.report.update(func() {
		c.report.histories++
		c.report.operations += len(operations)
		if result == porcupine.Unknown {
			c.report.undecided++
		}
	})
	if result != porcupine.Illegal {
		return
	}
	path := c.path(strings.NewReplacer(" ", "-", ",", "").Replace(name) + ".html")
	drawing, err := os.Create(path)
	if err == nil {
		err = porcupine.Visualize(model, details, drawing)
		_ = drawing.Close()
	}
	c.t.Errorf("no order explains the answers about %s; drawing in %s (%v): %+v", name, path, err, operations)
}
