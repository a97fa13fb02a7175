package payment_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// chaos decides at random when a rail or a directory fails.
type chaos struct {
	mu     sync.Mutex
	random *rand.Rand
	isCalm bool // nothing fails any more
}

// happens returns true about once in n calls, and never once isCalm is set.
func (c *chaos) happens(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.isCalm && c.random.IntN(n) == 0
}

func (c *chaos) mayPanic(n int) {
	if c.happens(n) {
		panic("chaos")
	}
}

func (c *chaos) newFakeProvider() *fakeProvider {
	unknown := actors.Outcome{Verdict: payment.VerdictUnknown}
	provider := &fakeProvider{}
	provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		c.mayPanic(10)
		if c.happens(10) {
			return unknown // the call never arrived
		}
		o := provider.Provider.Submit(ctx, call)
		c.mayPanic(10)
		if c.happens(10) {
			return unknown // the call arrived, but its answer was lost
		}
		return o
	}
	provider.inquire = func(ctx context.Context, _ *actors.Inquiry) actors.Outcome {
		c.mayPanic(5)
		if c.happens(5) {
			return unknown
		}
		return actors.Outcome{} // the inquiry is not lost: chaoticProvider passes it on
	}
	return provider
}

// Calls and answers are lost, components panic, requests are repeated and the process restarts, all at
// random. Still each call that the rail has received belongs to exactly one transaction, which ends
// with the rail's outcome; money and counters balance, and no work is left.
func TestRandomFailuresLoseAndRepeatNoCall(t *testing.T) {
	c := &chaos{random: testseed.Random(t)}
	f := openWith(t, func(f *fixture) {
		provider := c.newFakeProvider()
		lose := provider.inquire
		f.wrapProvider = func(p actors.Provider) actors.Provider {
			provider.Provider, provider.inquire = p, nil
			return chaoticProvider{provider, lose}
		}
		f.onTerminalLookup = func() { c.mayPanic(10) }
		f.handling = 5 * time.Millisecond
		f.createWait = 50 * time.Millisecond // a create request without a reply is repeated soon
	})
	const transactionCount = 120
	cards := []string{"4242424242424242", "4000000000000002", "4000000000000119", "4000000000000077", "4000000000000341"}
	create := func(i int) {
		kind := payment.Payment
		if i%3 == 0 {
			kind = payment.Payout
		}
		request := request(kind, cards[i%len(cards)], 1, fmt.Sprint("tx", i))
		request.Partner = f.partner
		_, _ = f.Create(request)
	}
	for round := range 3 {
		var wg sync.WaitGroup
		for i := range transactionCount {
			for range 2 { // the request and a repetition
				wg.Add(1)
				go func() { defer wg.Done(); create(i) }()
			}
		}
		wg.Wait()
		if round < 2 {
			f.advance(3 * time.Second)
			f.restart()
		}
	}
	c.mu.Lock()
	c.isCalm = true
	c.mu.Unlock()
	f.waitUntil("all of them have ended", func() bool {
		f.advance(time.Hour)
		return f.countUnfinished() == 0
	})
	f.compareWithRail(transactionCount)
	f.waitUntil("no actor is left", func() bool { return f.Runtime.Outstanding() == 0 })
}

// chaoticProvider is a provider that loses some of the inquiries.
type chaoticProvider struct {
	*fakeProvider
	lose func(context.Context, *actors.Inquiry) actors.Outcome
}

// Inquire implements actors.Provider.
func (c chaoticProvider) Inquire(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	if o := c.lose(ctx, q); o.Verdict != 0 {
		return o
	}
	return c.fakeProvider.Inquire(ctx, q)
}

// countRecords calls fn with each transaction that has one of the test's txids, and returns their number.
func (f *fixture) countRecords(fn func(*payment.Record)) int {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	n := 0
	for i := range 1_000 {
		owner, found, err := v.Claim(org, ledger.ClaimTxID, fmt.Sprint("1/tx", i))
		if err != nil {
			f.t.Fatal(err)
		}
		if found {
			n++
			fn(f.readRecord(ledger.ID(owner)))
		}
	}
	return n
}

func (f *fixture) countUnfinished() (n int) {
	f.countRecords(func(r *payment.Record) {
		if !r.Status.IsFinal() {
			n++
		}
	})
	return n
}

// compareWithRail compares the fixture's transactions with the rail's own log.
func (f *fixture) compareWithRail(transactionCount int) {
	f.t.Helper()
	log, err := os.ReadFile(filepath.Join(f.Dir, "simulator.log"))
	if err != nil {
		f.t.Fatal(err)
	}
	callLines := make(map[string]string)
	for line := range strings.Lines(strings.TrimRight(string(log), "\x00")) {
		_, tail, _ := strings.Cut(line, `"reference":"`)
		reference := tail[:36]
		if callLines[reference] != "" {
			f.t.Errorf("%s was submitted twice", reference)
		}
		callLines[reference] = line
	}
	balance, chargedCount := 100_000, 0
	recordCount := f.countRecords(func(r *payment.Record) {
		line, wasCalled := callLines[r.ID.String()]
		delete(callLines, r.ID.String())
		moneyMoved := wasCalled && (strings.Contains(line, `"outcome":"charged"`) || strings.Contains(line, `"then":"charged"`))
		if moneyMoved != (r.Status == payment.Charged) {
			f.t.Errorf("%v %v is %s %q, the rail has %q", r.Type, r.ID, r.Status, failureText(r.Failure), line)
		}
		if !wasCalled && r.Status != payment.Failed {
			f.t.Errorf("%v never arrived and is %s", r.ID, r.Status)
		}
		if r.Status == payment.Charged {
			chargedCount++
			if r.Type == payment.Payment {
				balance++
			} else {
				balance--
			}
		}
	})
	if recordCount != transactionCount || len(callLines) != 0 {
		f.t.Errorf("%d transactions of %d; the rail knows %d calls that nobody made", recordCount, transactionCount, len(callLines))
	}
	if got, want := f.balance(), fmt.Sprint(balance, " / 0"); got != want {
		f.t.Errorf("balance %s, want %s", got, want)
	}
	if got, want := f.headroom(usd), money.FromUint64(uint64(chargedCount)).String(); got != want {
		f.t.Errorf("headroom %s, want %s", got, want)
	}
}

// requestRandomOperation requests a random operation on one of the existing transactions.
func (c *chaos) requestRandomOperation(f *fixture, transactionCount int) {
	c.mu.Lock()
	index, kind, amount := c.random.IntN(transactionCount), c.random.IntN(9), 1+c.random.Uint64N(40)
	card := []string{delaysRefunds, "4000000000000002", redirect}[c.random.IntN(3)]
	key := newKey(fmt.Sprint("op", c.random.IntN(3*transactionCount)), "")
	c.mu.Unlock()
	v := f.Journal.View()
	owner, found, err := v.Claim(org, ledger.ClaimTxID, fmt.Sprint("1/tx", index))
	v.Close()
	if err != nil || !found {
		return
	}
	command := partnerCommand(ledger.ID(owner))
	command.Key = key
	command.Key.Hash[0], command.Key.Hash[1] = byte(index), byte(kind)
	switch kind {
	case 0, 1:
		_, err = f.Refund(paymentactor.AmountCommand{Command: command, Amount: amountCommand(command.ID, amount).Amount})
	case 2:
		_, err = f.Cancel(command)
	case 3:
		_, err = f.Commit(paymentactor.AmountCommand{Command: command, Amount: amountCommand(command.ID, amount).Amount})
	case 4:
		_, err = f.Complete(paymentactor.PayerSubmission{Command: command, Object: []byte(`{"otp":"123456"}`)})
	case 5, 6:
		_, err = f.Continue(paymentactor.Continue{Command: command, Credentials: payment.Credentials{Method: payment.BankCard},
			Card: request(payment.Payment, card, 1, "").Card})
	case 7:
		_, err = f.OnReturn(org, command.ID)
	case 8:
		if amount == 1 { // rarely, because it ends the transaction
			_, err = f.CancelByPayer(command)
		}
	}
	var refusal *ledger.Refusal
	if err != nil && !errors.As(err, &refusal) {
		f.t.Errorf("operation %d: %v", kind, err)
	}
}

// Refunds, cancels, commits and payers' actions are requested at random while calls and answers are lost, at
// several terminals, one of which holds money until a commit. In the end the ledger agrees with the rail's
// log, no call was made twice, and all transactions have ended.
func TestRandomFailuresLoseAndRepeatNoOperation(t *testing.T) {
	c := &chaos{random: testseed.Random(t)}
	f := openWith(t, func(f *fixture) {
		f.mayGiveUpCharges = true
		provider := c.newFakeProvider()
		lose := provider.inquire
		f.wrapProvider = func(p actors.Provider) actors.Provider {
			provider.Provider, provider.inquire = p, nil
			return polledProvider{chaoticProvider{provider, lose}, p.(reportScheduler)}
		}
		f.changeTerminal(0, func(s terminalSettings) { s.Priority, s.Fail = 1, simulator.FailRejected })
		f.addTerminal(0, func(s terminalSettings) { s.Fail = ""; s.MaxAmount = amountCommand(ledger.ID{}, 30).Amount })
		f.addTerminal(0, func(s terminalSettings) { s.Fail = ""; twoPhase(s); s.Priority = 3 })
		f.onTerminalLookup = func() { c.mayPanic(20) }
		f.handling = 5 * time.Millisecond
		f.createWait = 50 * time.Millisecond
	})
	const transactionCount = 60
	cards := []string{"4242424242424242", password, redirect, "4000000000000077", "4000000000000341", delaysRefunds, refusesRefunds, "4000000000000259"}
	for range 4 {
		var wg sync.WaitGroup
		for i := range transactionCount {
			wg.Add(1)
			go func() {
				defer wg.Done()
				_, _ = f.createWith(payment.Payment, cards[i%len(cards)], uint64(10+i), func(create *paymentactor.Create) {
					create.Request.TxID = fmt.Sprint("tx", i)
					if i%5 == 0 {
						create.Hosted, create.Card, create.Request.Method = true, nil, ""
					}
				})
				c.requestRandomOperation(f, transactionCount)
				c.requestRandomOperation(f, transactionCount)
			}()
		}
		wg.Wait()
		f.advance(3 * time.Second)
		f.restart()
	}
	c.mu.Lock()
	c.isCalm = true
	c.mu.Unlock()
	f.waitUntil("all of them have ended", func() bool {
		f.advance(24 * time.Hour)
		v := f.Journal.View()
		defer v.Close()
		n := 0
		f.transactions(v, func(r *payment.Record, _ posting.RecordHeader) {
			if needsWakeup(r) {
				n++
			}
		})
		return n == 0
	})
	f.waitUntil("no actor is left", func() bool { return f.Runtime.Outstanding() == 0 })
}

// polledProvider is a provider that decides when it is polled.
type polledProvider struct {
	chaoticProvider
	scheduler reportScheduler
}

func (r polledProvider) NextReport(since time.Time) (time.Time, bool) {
	return r.scheduler.NextReport(since)
}
