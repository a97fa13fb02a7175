package check_test

import (
	"testing"
	"time"

	"mizan/actors/notifier"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// Retention removes the notifications that are too old and whose delivery has ended, and the checker finds no
// fault in the other rows. After a restart the server does not send the removed notifications again.
func TestRetentionBreaksNoRule(t *testing.T) {
	w := copyNotifiedStore(t)
	n := openNotified(t, &w.Store, fixture.StartTime.Add(12*time.Hour), nil)
	n.Advance(32 * 24 * time.Hour)
	now := n.Clock.Now()
	n.close()
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
	w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
		row, found, err := p.Snap.Get(store.KeyRecord(nil, w.FirstDemo.Org, notifier.RetentionSource(w.FirstDemo.Org)), nil)
		if err != nil || !found {
			t.Fatal("nothing was removed", err)
		}
		_, payload, _ := store.DecodeRecord(row)
		oldest, err := notifier.ReadRetention(payload)
		fixture.Must(t, err)
		if want := now.Add(-32 * 24 * time.Hour); oldest.Time().Before(want) {
			t.Errorf("what was booked from %v on is kept, at %v", oldest.Time(), now)
		}
		fixture.Must(t, p.Snap.Ascend(p.key("e"), nil, func(key, row []byte) (bool, error) {
			k, err := notifier.ReadDelivery(store.KVKey(key), row)
			if err == nil && k.State != notifier.Pending && k.Booked < oldest {
				t.Errorf("a delivery of %v is still %v", k.Booked.Time(), k.State)
			}
			return true, err
		}))
		_, rows := p.Rows(p.key("c"))
		p.set(rows[0], "c") // leaves the row as it is; Corrupt requires that something is written
	}))
	n = openNotified(t, &w.Store, now, nil)
	n.Advance(time.Minute)
	n.close()
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
	w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
		fixture.Must(t, p.Snap.Ascend(p.key("e"), nil, func(key, row []byte) (bool, error) {
			k, err := notifier.ReadDelivery(store.KVKey(key), row)
			if err == nil && k.State == notifier.Pending {
				t.Errorf("a delivery of %v is tried again", k.Booked.Time())
			}
			return true, err
		}))
		_, rows := p.Rows(p.key("c"))
		p.set(rows[0], "c")
	}))
}
