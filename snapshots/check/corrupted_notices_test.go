package check_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/fixture"
)

// noticeFaults are faults in notices (the stored contents of notifications of events) and in the counts that records
// have of them.
var noticeFaults = []deliveryFault{
	{"a counted notification without its notice", func(t *testing.T, w *notifiedStore) {
		decider, request := decisionFor(&w.Store, "")
		d := decider.Reject(uuid.New(), w.owner.Number, request, payment.Failure{Code: payment.UnexpectedCard})
		d.Record.NotifiedChanges, d.Record.UnselectedChanges = 1, 1
		w.Submit(t, changeWithoutCounts(w.FirstDemo.Org, &d, 0))
	}, "has notified of 1 transitions, and 0 of the notices are there"},
	{"a transition that was not counted", func(t *testing.T, w *notifiedStore) {
		decider, request := decisionFor(&w.Store, "")
		d := decider.Reject(uuid.New(), w.owner.Number, request, payment.Failure{Code: payment.UnexpectedCard})
		d.Record.UnselectedChanges = 1
		w.Submit(t, changeWithoutCounts(w.FirstDemo.Org, &d, 0))
	}, "has notified of 0 transitions and not of 0 and 1, and its events have 2"},
	{"a notice that is lost", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.dropMarks(w.acknowledged)
			p.changeNotice(w.acknowledged, func(store.Notice) []store.Notice { return nil })
		}))
	}, "has notified of 2 transitions, and 1 of the notices are there"},
	{"a notice of no event", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.Group.Set(p.key("n", binary.BigEndian.AppendUint64(nil, 1_000)...), encodePage(store.Notice{
				Booked: 1_000, Source: fixture.TransactionSource(w.acknowledged.ID), Channel: 1, To: w.merchantTerminal, Body: []byte{1, 0, 3},
			}))
		}))
	}, "belongs to no event"},
	{"a notice later than the last event", func(t *testing.T, w *notifiedStore) {
		const lateTime = 1 << 60
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.Group.Set(p.key("n", binary.BigEndian.AppendUint64(nil, lateTime)...), encodePage(store.Notice{
				Booked: lateTime, Source: fixture.TransactionSource(w.acknowledged.ID), Channel: 1, To: w.merchantTerminal, Body: []byte{1, 0, 3},
			}))
		}))
	}, "belongs to no event"},
	{"two notices of one event by one channel", corruptNotice(func(n store.Notice) []store.Notice { return []store.Notice{n, n} }), "out of order"},
	{"a notice of another record's event", corruptNotice(func(n store.Notice) []store.Notice {
		n.Source.ID[3]++
		return []store.Notice{n}
	}), "another record than its event"},
	{"a notice with another status", corruptNotice(func(n store.Notice) []store.Notice {
		n.Body = bytes.Clone(n.Body)
		n.Body[2]++
		return []store.Notice{n}
	}), "has another status"},
	{"a notice that can't be read", corruptNotice(func(n store.Notice) []store.Notice {
		n.Body = append(bytes.Clone(n.Body), 0)
		return []store.Notice{n}
	}), "can't be read"},
	{"a transaction's notice on the channel of subscriptions", corruptNotice(func(n store.Notice) []store.Notice {
		other := n
		other.Channel = byte(posting.Stream)
		return []store.Notice{n, other}
	}), "is not for its record"},
	{"a message to operators that can't be read", corruptNotice(func(n store.Notice) []store.Notice {
		other := n
		other.Channel, other.Body = byte(posting.OperatorAlert), []byte("{}")
		return []store.Notice{n, other}
	}), "can't be read"},
	{"a notice to another partner", corruptNotice(func(n store.Notice) []store.Notice {
		n.To = notifiedTemplate.terminals[acknowledging]
		return []store.Notice{n}
	}), "another partner"},
	{"a notice with a missing destination", corruptNotice(func(n store.Notice) []store.Notice {
		n.To[3]++
		return []store.Notice{n}
	}), "has a destination that does not exist"},
	{"a page of notices that can't be read", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			_, page := p.firstNotice(w.parked)
			p.Group.Set(p.key("n", binary.BigEndian.AppendUint64(nil, uint64(page))...), []byte{9})
		}))
	}, "n"}, // the missing notices are reported too
	{"nobody is notified although the terminal has an address", payWithoutAddress(acknowledging), "an address was set"},
	{"nobody is notified although the partner has an address", payWithoutAddress(usesPartners), "an address was set"},
	{"nobody is notified although a notification-only terminal has an address", payWithoutAddress(unserved), "an address was set"},
}

// corruptNotice returns a function that changes a notice. It first removes the notice's mark, so that no attempt to
// deliver the notice is stored.
func corruptNotice(change func(n store.Notice) []store.Notice) func(t *testing.T, w *notifiedStore) {
	return func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.dropMarks(w.ofPartnerWithAddress)
			p.changeNotice(w.ofPartnerWithAddress, change)
		}))
	}
}

// encodePage returns a row with the notices.
func encodePage(notices ...store.Notice) []byte {
	var p store.NoticePage
	for i := range notices {
		p.Add(&notices[i])
	}
	return p.Row()
}

// noAddresses implements actors.Addresses without any address.
type noAddresses struct{}

func (noAddresses) Destination(ledger.ID, int64, money.Env, ledger.ID) (destination ledger.ID, hasAddress bool) {
	return destination, false
}

func (noAddresses) Address(ledger.ID, ledger.ID) (address actors.Address, hasAddress bool) {
	return address, false
}

// payWithoutAddress returns a function that makes a payment on a server that finds no address, although an address is
// set. The currency selects the terminal.
func payWithoutAddress(currency money.Currency) func(t *testing.T, w *notifiedStore) {
	return func(t *testing.T, w *notifiedStore) {
		n := openNotified(t, &w.Store, fixture.StartTime.Add(12*time.Hour), noAddresses{})
		defer n.close()
		owner := w.owner
		if currency == usesPartners {
			owner = w.partnerWithAddress
		}
		n.pay(w, owner, currency, "4242424242424242")
	}
}

// markFaults are faults in marks. A mark says that a notice was acknowledged at the first attempt.
var markFaults = []deliveryFault{
	{"a mark of a notice that does not exist", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			n, page := p.firstNotice(w.parked)
			n.Booked += 7
			p.setMark(page, &n, 200)
		}))
	}, "no notice of its page"},
	{"a mark on a page that does not exist", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			n, page := p.firstNotice(w.acknowledged)
			n.Booked += 7
			p.setMark(page+7, &n, 200)
		}))
	}, "page of notices that does not exist"},
	{"a mark later than the last page", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			n, _ := p.firstNotice(w.acknowledged)
			n.Booked = 1 << 60
			p.setMark(1<<60, &n, 200)
		}))
	}, "page of notices that does not exist"},
	{"a delivery that is marked twice", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			_, page := p.firstNotice(w.ofPartnerWithAddress)
			keys, rows := p.Rows(p.key("d", binary.BigEndian.AppendUint64(nil, uint64(page))...))
			p.Group.Set(keys[0], append(bytes.Clone(rows[0]), rows[0][1:]...))
		}))
	}, "marked twice"},
	{"a mark whose response is no acknowledgement", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			n, page := p.firstNotice(w.ofPartnerWithAddress)
			p.setMark(page, &n, 302)
		}))
	}, "by a response that does not acknowledge it"},
	{"marks that can't be read", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			keys, _ := p.Rows(p.key("d"))
			p.Group.Set(keys[0], []byte{7})
		}))
	}, "marks of deliveries"},
	{"a delivery that is marked and parked (given up)", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			n, page := p.firstNotice(w.parked)
			p.setMark(page, &n, 200)
		}))
	}, "is parked without having been requested again"},
	{"a delivery that is marked and waits", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			n, page := p.firstNotice(w.pending)
			p.setMark(page, &n, 200)
		}))
	}, "is pending without having been requested again"},
}
