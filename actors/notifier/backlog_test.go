package notifier

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
)

// Deliveries of all organizations are counted by class of receivers and state, with the age of the oldest event.
func TestBacklogsHaveWhatWaitsAndWhatIsParked(t *testing.T) {
	f := newFixture(t)
	wantRows := func(want ...Backlog) {
		t.Helper()
		rows, err := f.countBacklogs()
		if err != nil || len(rows) != 6 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		rows = slices.DeleteFunc(rows, func(b Backlog) bool { return b.Count == 0 && b.Oldest == 0 })
		if !slices.Equal(rows, want) {
			t.Errorf("the backlogs are %+v, want %+v", rows, want)
		}
	}
	failing := startReceiver(t, alwaysStatus(500))
	f.notifyOne(f.destinationOf(startReceiver(t, alwaysStatus(200))))
	f.quiesce()
	wantRows()

	age := func(ids []ID) time.Duration {
		return f.Clock.Now().Sub(ids[0].Booked.Time())
	}
	first := f.notify(secondOrg, posting.Webhook, f.destinationOf(failing))
	f.advance(20 * time.Second)
	f.notify(firstOrg, posting.Webhook, f.destinationOf(failing))
	f.quiesce()
	wantRows(Backlog{"merchants", Pending, 2, age(first)})

	f.advance(9 * time.Hour)
	operators := f.notify(firstOrg, posting.OperatorAlert, ledger.ID(uuid.New()))
	f.advance(time.Second)
	wantRows(Backlog{"operators", Pending, 1, age(operators)}, Backlog{"merchants", Parked, 2, age(first)})
}
