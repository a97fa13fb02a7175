package ledgerapi

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
)

// The sums of an organization are extended again and again after somebody has read them, also after an error, until the watch
// is closed.
func TestWatchedSumsAreExtendedUntilTheWatchIsClosed(t *testing.T) {
	org, extended := uuid.New(), make(chan ledger.ID)
	w := newSumRefresher(func(org ledger.ID) error {
		extended <- org
		return errors.New("unreadable")
	})
	w.keepFresh(org)
	w.keepFresh(org)
	for range 3 {
		if got := <-extended; got != org {
			t.Fatalf("%v is extended", got)
		}
	}
	closed := make(chan struct{})
	go func() {
		w.close()
		close(closed)
	}()
	for isClosed := false; !isClosed; {
		select {
		case <-extended: // one may have been under way
		case <-closed:
			isClosed = true
		}
	}
}

// A watch ends when nobody has looked for watchTime, and watches a bounded number of organizations.
func TestWatchEndsWhenNobodyLooks(t *testing.T) {
	w := newSumRefresher(func(ledger.ID) error { return nil })
	defer w.close()
	w.running = true // so that no goroutine takes part
	for range maxWatched + 3 {
		w.keepFresh(uuid.New())
	}
	if orgs := w.watched(time.Now()); len(orgs) != maxWatched {
		t.Errorf("%d organizations are watched", len(orgs))
	}
	if orgs := w.watched(time.Now().Add(watchTime + time.Second)); orgs != nil || w.running || len(w.until) != 0 {
		t.Errorf("%d organizations are watched for ever", len(orgs))
	}
}

// The first extension of a watch does not wait, because it takes longest and a reader may need it soon.
func TestWatchBeginsAtOnce(t *testing.T) {
	extended := make(chan ledger.ID)
	w := newSumRefresher(func(org ledger.ID) error {
		extended <- org
		return nil
	})
	w.every = 24 * time.Hour
	org := uuid.New()
	w.keepFresh(org)
	if got := <-extended; got != org {
		t.Errorf("%v is extended", got)
	}
	w.close()
}
