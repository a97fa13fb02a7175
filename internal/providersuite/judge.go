package providersuite

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
)

// transactions calls fn with all transactions in the store.
func (c *core) transactions(fn func(r *payment.Record, h posting.RecordHeader)) {
	c.Helper()
	v := c.world.Journal.View()
	defer v.Close()
	err := v.Records(c.org, ledger.Transaction, func(_ ledger.ID, stored posting.Record) (bool, error) {
		r, err := paymentcodec.Decode(stored.Payload)
		if err == nil {
			fn(r, stored.Header)
		}
		return err == nil, err
	})
	if err != nil {
		c.Fatal(err)
	}
}

// judge compares the ledger with the rail, and checks the store and the files.
func (c *core) judge() {
	c.Helper()
	c.judgeMoney()
	c.transactions(func(r *payment.Record, h posting.RecordHeader) {
		isOpen := r.Op != nil || !r.Status.IsFinal() && r.Status != payment.Refunded
		if isOpen && h.Due == 0 {
			c.Errorf("%v %v is %s with operation %+v and is never looked at again", r.Type, r.ID, r.Status, r.Op)
		}
		if r.Status == payment.Refunding {
			c.Errorf("%v is refunding after weeks", r.ID)
		}
	})
	c.judgeStore()
	c.judgeSecrets()
}

// judgeMoney checks that the ledger has what the rail has moved, and that the rail has moved nothing twice.
func (c *core) judgeMoney() {
	c.Helper()
	moved, booked := c.standIn.Moved(), make(map[ledger.ID]money.Signed)
	c.transactions(func(r *payment.Record, _ posting.RecordHeader) {
		if r.ReversalOf == (ledger.ID{}) {
			booked[r.ChargeReference()] = c.bookedFor(r)
		}
	})
	for reference, m := range moved {
		if _, isOurs := booked[reference]; isOurs || m.equals(c.moved[reference]) {
			continue
		}
		c.Errorf("the rail has moved %+v for %v, which no transaction has as its reference", m, reference)
	}
	sum := money.Signed{}
	for reference, amount := range booked {
		m := moved[reference]
		sum = plus(sum, amount)
		if net := m.net(); net != amount {
			c.Errorf("%v: the rail says that %v has moved (%+v), the ledger says %v\n%s", reference, net, m, amount, c.log.String())
		}
		if len(m.Charged)+len(m.Held)+len(m.PaidOut) > 1 {
			c.Errorf("%v: the rail has moved money twice: %+v", reference, m)
		}
		if len(m.Held) != 0 {
			c.Errorf("%v: the rail still holds %v", reference, m.Held)
		}
	}
	if balance := c.providerBalance(); balance != sum {
		c.Errorf("A:provider is %v, its transactions add up to %v", balance, sum)
	}
}

// net returns the amount by which the rail owes us more because of the movements.
func (m *Movements) net() (sum money.Signed) {
	add := func(amounts []money.Amount, isNegative bool) {
		for _, a := range amounts {
			sum = plus(sum, money.Signed{Negative: isNegative && !a.IsZero(), Abs: a})
		}
	}
	add(m.Charged, false)
	add(m.Refunded, true)
	add(m.PaidOut, true)
	add(m.TakenBack, len(m.PaidOut) == 0)
	return sum
}

func (m *Movements) equals(other Movements) bool { return fmt.Sprint(*m) == fmt.Sprint(other) }

func plus(a, b money.Signed) money.Signed {
	sum, err := a.Add(b)
	if err != nil {
		panic(err) // the suite's amounts are small
	}
	return sum
}

// bookedFor returns what a transaction, and the return of a reversed one, have posted on A:provider.
func (c *core) bookedFor(r *payment.Record) (sum money.Signed) {
	c.Helper()
	v := c.world.Journal.View()
	defer v.Close()
	for _, id := range []ledger.ID{r.ID, r.ReturnID} {
		err := v.SourceEvents(c.org, ledger.Source{Kind: ledger.Transaction, ID: id}, func(e ledger.Event) (bool, error) {
			if e.Entry == nil || e.Entry.Phase != ledger.Posted && e.Entry.Phase != ledger.Capture {
				return true, nil
			}
			for _, p := range e.Entry.Postings {
				if p.Account == ledger.ProviderReceivable(r.Terminal) {
					sum = plus(sum, money.Signed{Negative: p.Side == ledger.Credit, Abs: p.Amount})
				}
			}
			return true, nil
		})
		if err != nil {
			c.Fatal(err)
		}
	}
	return sum
}

// providerBalance returns the posted balance of the terminals' accounts.
func (c *core) providerBalance() (sum money.Signed) {
	c.Helper()
	v := c.world.Journal.View()
	defer v.Close()
	for _, t := range c.terminals {
		totals, err := v.Totals(c.org, ledger.Account{Path: ledger.ProviderReceivable(t.ID), Asset: c.rail.Asset})
		if err != nil {
			c.Fatal(err)
		}
		sum = plus(sum, totals.Balance(ledger.Debit))
	}
	return sum
}

// judgeStore runs the checker.
func (c *core) judgeStore() {
	c.Helper()
	report, err := check.Check(context.Background(), c.world.Journal, check.Inputs{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		c.Fatal(err)
	}
	for i := range report.Rules {
		if report.Rules[i].Outcome == findings.Broken {
			var text bytes.Buffer
			_, _ = report.WriteTo(&text)
			c.Errorf("the checker says\n%s", text.String())
			return
		}
	}
}

// judgeSecrets checks that no file and no log line contains the number of a card or an account with which the test has paid.
func (c *core) judgeSecrets() {
	c.Helper()
	var secrets [][]byte
	for _, kind := range []payment.Type{payment.Payment, payment.Payout} {
		for b := Succeeds; b <= ComesBack; b++ {
			if !c.hasInstrument(kind, b) {
				continue
			}
			card := c.standIn.Instrument(kind, b).Card
			if card == nil {
				continue
			}
			for _, secret := range [][]byte{card.Number, card.IBAN} {
				if len(secret) > 0 {
					secrets = append(secrets, secret)
				}
			}
		}
	}
	has := func(content []byte) bool {
		for _, secret := range secrets {
			if bytes.Contains(content, secret) {
				return true
			}
		}
		return false
	}
	if has([]byte(c.log.String())) {
		c.Error("the adapter's log has the number of a card or an account")
	}
	for _, dir := range c.files() {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			if err == nil && has(content) {
				c.Errorf("%s has the number of a card or an account", path)
			}
			return err
		})
		if err != nil {
			c.Error(err)
		}
	}
}
