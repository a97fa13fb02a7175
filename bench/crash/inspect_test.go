package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"mizan/bench/orders"
	"mizan/bench/server"
	"mizan/internal/clock"
	"mizan/internal/testkit"
	"mizan/ledger"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
)

// inspect checks the closed store with `mizan audit verify`. It also opens the store twice and compares the digests.
func (c *campaign) inspect() {
	c.t.Helper()
	if errs := c.book.TakeErrors(); len(errs) > 0 {
		c.t.Fatalf("%d wrong responses, for example %v", len(errs), errs[0])
	}
	r := testkit.Run(c.t, nil, "audit", "verify", "--data", c.dir, "--answers", c.book.Path, "--canaries", c.canariesFile)
	if r.Exit != 0 || r.Stderr != "" {
		c.t.Fatalf("audit verify: exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
	first, second := c.digest(), c.digest()
	if first != second {
		c.t.Fatalf("opened twice, the store has the digests %x and %x", first, second)
	}
}

// withJournal opens the closed store and calls fn with its journal.
func (c *campaign) withJournal(fn func(*posting.Journal) error) {
	c.t.Helper()
	discardLog := slog.New(slog.DiscardHandler)
	j, err := posting.Open(posting.Options{Store: store.Options{Dir: c.dir, Log: discardLog}, Clock: clock.Real{}, Log: discardLog})
	if err != nil {
		c.t.Fatal(err)
	}
	err = fn(j)
	if closeErr := j.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// digest returns the checker's digest of the closed store.
func (c *campaign) digest() (sum [32]byte) {
	c.t.Helper()
	c.withJournal(func(j *posting.Journal) error {
		report, err := check.Check(c.t.Context(), j, check.Inputs{Data: c.dir, Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			sum = report.Digest
		}
		return err
	})
	return sum
}

// totals are the posted credits and debits of the partner's available account, and its pending debits.
type totals struct{ credits, debits, held *big.Int }

// totals reads the partner's totals from the API, with the auditor's token. The keys of the result are prod and test.
func (c *campaign) totals(s *server.Server) map[string]totals {
	c.t.Helper()
	clientPool, err := orders.NewPool(c.book, &s.Sandbox, true)
	if err != nil {
		c.t.Fatal(err)
	}
	defer clientPool.Close()
	byEnv := make(map[string]totals)
	for _, env := range []string{"prod", "test"} {
		path := fmt.Sprintf("/api/v1/ledger/accounts/L:partner:%d:available?currency=%s&env=%s", s.Sandbox.PartnerID, orders.Currency, env)
		status, response := clientPool.Do(c.t.Context(), http.MethodGet, path, nil, "authorization", "Bearer "+s.Sandbox.AuditorToken)
		var list struct {
			Data []struct {
				Credits string `json:"credits_posted"`
				Debits  string `json:"debits_posted"`
				Held    string `json:"debits_pending"`
			}
		}
		if err := json.Unmarshal(response, &list); err != nil || status != http.StatusOK || len(list.Data) != 1 {
			c.t.Fatalf("GET %s answered %d: %s", path, status, response)
		}
		row := list.Data[0]
		byEnv[env] = totals{c.parseAmount(row.Credits), c.parseAmount(row.Debits), c.parseAmount(row.Held)}
	}
	return byEnv
}

func (c *campaign) parseAmount(text string) *big.Int {
	c.t.Helper()
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		c.t.Fatalf("%q is no amount", text)
	}
	return n
}

// compareTotals checks that the partner's totals equal the sums of the orders.
func (c *campaign) compareTotals(current map[string]totals) {
	c.t.Helper()
	for env, opening := range c.openingTotals {
		credits, debits := new(big.Int).Set(opening.credits), new(big.Int).Set(opening.debits)
		for _, o := range c.book.Matching(func(r *orders.State) bool { return r.Status == "charged" && r.Env == env }) {
			amount := big.NewInt(int64(o.Amount))
			if o.Kind == "payment" {
				credits.Add(credits, amount)
			} else {
				debits.Add(debits, amount)
			}
		}
		got := current[env]
		if got.credits.Cmp(credits) != 0 || got.debits.Cmp(debits) != 0 || got.held.Sign() != 0 {
			c.t.Errorf("%s: the partner has credits %v, debits %v, held %v; the orders make credits %v, debits %v, nothing held",
				env, got.credits, got.debits, got.held, credits, debits)
		}
	}
}

// compareStore checks that each order has exactly one stored transaction. It also checks that the provider got exactly one call
// for each transaction, or none if the transaction was interrupted.
func (c *campaign) compareStore() {
	c.t.Helper()
	calls := c.providerCalls()
	seen := make(map[string]bool)
	c.withJournal(func(j *posting.Journal) error {
		view := j.View()
		defer view.Close()
		return view.Records(uuid.MustParse(c.book.Organization), ledger.Transaction, func(id ledger.ID, stored posting.Record) (bool, error) {
			transaction, err := paymentcodec.Decode(stored.Payload)
			if err != nil {
				return false, err
			}
			o := c.book.Find(transaction.TxID)
			switch {
			case o == nil:
				c.t.Errorf("transaction %v has txid %q, which nobody sent", id, transaction.TxID)
				return true, nil
			case seen[transaction.TxID]:
				c.t.Errorf("txid %s has a second transaction, %v", transaction.TxID, id)
			case o.Last.ID != id.String() || o.Last.Status != string(transaction.Status):
				c.t.Errorf("txid %s: stored as %v, %s; answered as %s, %s", transaction.TxID, id, transaction.Status, o.Last.ID, o.Last.Status)
			}
			seen[transaction.TxID] = true
			want := 1
			if (orders.Outcome{Status: o.Last.Status, Reason: o.Last.Error}) == orders.Interrupted {
				want = 0
			}
			if calls[id] != want {
				c.t.Errorf("txid %s ended as %s %q after %d provider calls, want %d", transaction.TxID, o.Last.Status, o.Last.Error, calls[id], want)
			}
			delete(calls, id)
			return true, nil
		})
	})
	if len(seen) != c.book.Counts().Orders {
		c.t.Errorf("%d transactions for %d orders", len(seen), c.book.Counts().Orders)
	}
	for id := range calls {
		c.t.Errorf("the provider was called for %v, which is no transaction", id)
	}
}

// providerCalls reads the provider's log, and returns the number of calls for each transaction id.
func (c *campaign) providerCalls() map[ledger.ID]int {
	c.t.Helper()
	content, err := os.ReadFile(filepath.Join(c.dir, "simulator.log"))
	if err != nil {
		c.t.Fatal(err)
	}
	count := make(map[ledger.ID]int)
	for text := range bytes.Lines(bytes.TrimRight(content, "\x00")) { // if the simulator is killed, zero bytes follow its last line
		var line struct {
			Reference ledger.ID `json:"reference"`
			Operation string    `json:"operation"`
		}
		if err := json.Unmarshal(text, &line); err != nil {
			c.t.Fatalf("simulator.log: %v: %s", err, text)
		}
		if line.Operation != "payment" && line.Operation != "payout" {
			c.t.Errorf("simulator.log: operation %q", line.Operation)
		}
		count[line.Reference]++
	}
	return count
}

// searchLog searches the server's log for texts that must not be in it.
func (c *campaign) searchLog() {
	c.t.Helper()
	content, err := os.ReadFile(c.log.Name())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, text := range canaries() {
		if bytes.Contains(content, []byte(text)) {
			c.t.Errorf("the server's log contains %q", text)
		}
	}
}
