package notifier

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
)

// mailServer answers the attempts of a notifier to mail receipts.
type mailServer struct {
	fixture  *fixture
	mailed   []ledger.ID // the transactions of all attempts
	failures int         // number of further attempts that fail
}

func (m *mailServer) mail(org, transaction ledger.ID) Attempt {
	if org != firstOrg {
		m.fixture.t.Errorf("a receipt of organization %v", org)
	}
	m.mailed = append(m.mailed, transaction)
	a := Attempt{At: ledger.MicrosOf(m.fixture.Clock.Now())}
	if m.failures > 0 {
		m.failures--
		a.Status, a.Failure = 451, "e-mail: the server refused with 451"
	}
	return a
}

func newMailFixture(t *testing.T, failures int) (*fixture, *mailServer) {
	server := &mailServer{failures: failures}
	f := newFixture(t, func(f *fixture) { server.fixture, f.mailReceipt = f, server.mail })
	return f, server
}

// A receipt is retried at the same intervals as every other delivery. Once it is sent, neither time nor a restart sends it
// again.
func TestReceiptIsRetriedUntilItIsSent(t *testing.T) {
	f, server := newMailFixture(t, 2)
	id := f.notify(firstOrg, posting.PayerReceipt, uuid.New())[0]
	f.quiesce()
	for n, gap := range gapsWanted[:2] {
		f.restart()
		f.advance(gap - microsecond)
		if len(server.mailed) != n+1 {
			t.Fatalf("%d attempts just before attempt %d", len(server.mailed), n+2)
		}
		f.advance(microsecond)
	}
	d := f.wantDelivery(id, Delivered, 3)
	if d.Attempts[0].Status != 451 || d.Attempts[0].Failure != "e-mail: the server refused with 451" || d.Attempts[2].Failure != "" {
		t.Errorf("%+v", d.Attempts)
	}
	f.restart()
	f.advance(24 * time.Hour)
	if want := slices.Repeat([]ledger.ID{d.Source.ID}, 3); !slices.Equal(server.mailed, want) {
		t.Errorf("mailed were %v, want %v", server.mailed, want)
	}
}

func TestReceiptIsParkedAndReplayed(t *testing.T) {
	f, server := newMailFixture(t, MaxAttempts)
	to := uuid.New()
	id := f.notify(firstOrg, posting.PayerReceipt, to)[0]
	f.advance(24 * time.Hour)
	f.wantDelivery(id, Parked, MaxAttempts)
	parked, _ := f.listAll(Query{To: to, State: Parked, Limit: 10})
	if len(parked) != 1 || parked[0].ID != id {
		t.Errorf("%d parked receipts are listed", len(parked))
	}
	if n, err := f.ReplayParked(firstOrg, to, 0, 0, nil); n != 1 || err != nil {
		t.Errorf("%d were replayed, %v", n, err)
	}
	f.quiesce()
	transaction := f.wantDelivery(id, Delivered, MaxAttempts+1).Source.ID
	f.replay(id) // the payer asks for the receipt once more
	f.quiesce()
	if len(server.mailed) != MaxAttempts+2 {
		t.Errorf("%d attempts", len(server.mailed))
	}
	ofTransaction, _ := f.listAll(Query{Transaction: transaction, Limit: 10})
	if len(ofTransaction) != 1 || ofTransaction[0].ID != id {
		t.Errorf("%d deliveries of the transaction are listed", len(ofTransaction))
	}
}

func TestReceiptFailsWithoutASender(t *testing.T) {
	f := newFixture(t)
	id := f.notify(firstOrg, posting.PayerReceipt, uuid.New())[0]
	f.advance(24 * time.Hour)
	if d := f.wantDelivery(id, Parked, MaxAttempts); d.Attempts[0].Failure != "sending of receipts is not configured" {
		t.Errorf("%+v", d.Attempts[0])
	}
}

// If the process ends between the event and the end of the attempt, the next start sends the receipt.
func TestInterruptedReceiptIsSentAfterAStart(t *testing.T) {
	var attempts atomic.Int64
	started, gate := make(chan struct{}), newGate()
	f := newFixture(t, func(f *fixture) {
		f.mailReceipt = func(_, _ ledger.ID) Attempt {
			a := Attempt{At: ledger.MicrosOf(f.Clock.Now())}
			if attempts.Add(1) == 1 {
				close(started)
				gate.wait()
				a.Failure = "interrupted"
			}
			return a
		}
	})
	t.Cleanup(gate.open)
	id := f.notify(firstOrg, posting.PayerReceipt, uuid.New())[0]
	receiveFrom(t, "under way", started)
	f.Service.Close()
	gate.open()
	f.restart()
	f.quiesce()
	f.wantDelivery(id, Delivered, 1) // an interrupted attempt does not count
	f.advance(24 * time.Hour)
	if n := attempts.Load(); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}
}

// While no worker for receipts is free, merchants and operators are notified without delay.
func TestHangingReceiptsDelayNobodyElse(t *testing.T) {
	gate, operatorsNotified := newGate(), make(chan struct{}, 1)
	var mailing atomic.Int64
	f := newFixture(t, func(f *fixture) {
		f.mailReceipt = func(_, _ ledger.ID) Attempt {
			mailing.Add(1)
			gate.wait()
			return Attempt{At: ledger.MicrosOf(f.Clock.Now())}
		}
		f.notifyOperators = func(_, _ ledger.ID, _, _ []byte) (Attempt, []byte, time.Duration) {
			operatorsNotified <- struct{}{}
			return Attempt{At: ledger.MicrosOf(f.Clock.Now())}, nil, 0
		}
	})
	t.Cleanup(gate.open)
	receipts := make(map[ID]bool)
	for range 2 * maxReceiptWorkers {
		receipts[f.notify(firstOrg, posting.PayerReceipt, uuid.New())[0]] = true
	}
	waitFor(t, "all workers for receipts are busy", func() bool { return mailing.Load() == maxReceiptWorkers })
	merchant := startReceiver(t, alwaysStatus(200))
	f.notifyOne(f.destinationOf(merchant))
	f.notify(firstOrg, posting.OperatorAlert, uuid.New())
	waitFor(t, "the merchant is notified", func() bool { return merchant.count() == 1 })
	receiveFrom(t, "the operators are notified", operatorsNotified)
	if n := mailing.Load(); n != maxReceiptWorkers {
		t.Errorf("%d receipts at once, want %d", n, maxReceiptWorkers)
	}
	gate.open()
	f.quiesce()
	for id := range receipts {
		f.wantDelivery(id, Delivered, 1)
	}
}

// A panic while a receipt is mailed costs an attempt and nothing else.
func TestPanicOfTheReceiptsSenderCostsAnAttempt(t *testing.T) {
	hasPanicked := false
	f := newFixture(t, func(f *fixture) {
		f.mailReceipt = func(_, _ ledger.ID) Attempt {
			if !hasPanicked {
				hasPanicked = true
				panic("a panic of the test")
			}
			return Attempt{At: ledger.MicrosOf(f.Clock.Now())}
		}
	})
	id := f.notify(firstOrg, posting.PayerReceipt, uuid.New())[0]
	f.quiesce()
	f.wantDelivery(id, Pending, 1)
	f.advance(gapsWanted[0])
	f.wantDelivery(id, Delivered, 2)
}
