package payment_test

import (
	"sync"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
	"mizan/posting/store"
)

// stallingLog is a log on a disk that stands still while the test holds it.
type stallingLog struct {
	posting.Log
	held sync.Mutex
}

// Apply implements posting.Log.
func (l *stallingLog) Apply(g *store.Group) error {
	l.held.Lock()
	defer l.held.Unlock()
	return l.Log.Apply(g)
}

// The disk stands still for longer than the caller waits. A reply with the state before the refund would say that there
// is no refund.
func TestRefundThatIsNotStoredYetIsNotAnsweredWithAStateWithoutIt(t *testing.T) {
	log := new(stallingLog)
	f := openWith(t, func(f *fixture) {
		f.createWait = 100 * time.Millisecond
		f.JournalOptions.WrapLog = func(l posting.Log) posting.Log { log.Log = l; return log }
	})
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.mustResult(f.Refund(amountCommand(id, 10)))
	log.held.Lock()
	_, err := f.Refund(amountCommand(id, 20))
	log.held.Unlock()
	f.wantRefusal(err, ledger.Unavailable)
	mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
	r := f.readRecord(id)
	if n := len(r.Refunds); n != 2 || r.Refunds[1].Status != payment.RefundSucceeded {
		t.Errorf("refunds %+v", r.Refunds)
	}
}
