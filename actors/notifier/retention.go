package notifier

import (
	"encoding/binary"
	"fmt"

	"mizan/ledger"
	"mizan/posting"
)

// RemovalEvent is the name of the event of a retention run that has removed something.
const RemovalEvent = "remove_deliveries"

// RetentionSource is the record that says up to which time an organization's deliveries were removed. Each change
// of the time is an event in the journal, so nobody can move the time without a trace in order to make notices
// look expired.
func RetentionSource(org ledger.ID) ledger.Source {
	return ledger.Source{Kind: ledger.Retention, ID: ledger.DerivedID(org, "deliveries")}
}

// IsRetentionEvent reports whether an event has the form of those with which the record of RetentionSource changes.
func IsRetentionEvent(e *ledger.Event) bool {
	return e.Name == RemovalEvent && e.From == "" && e.To == "" && e.Entry == nil
}

// ReadRetention parses the payload of the record of RetentionSource: a time in microseconds,
// big-endian.
func ReadRetention(payload []byte) (ledger.Micros, error) {
	if len(payload) != 8 || payload[0] >= 0x80 {
		return 0, fmt.Errorf("retention of deliveries: %d bytes are not an instant", len(payload))
	}
	return ledger.Micros(binary.BigEndian.Uint64(payload)), nil
}

// RemovedBefore returns the time before which an organization's deliveries may have been removed, or 0 if none were
// removed. The error comes from the store.
func RemovedBefore(view *posting.View, org ledger.ID) (ledger.Micros, error) {
	_, at, err := readRetentionRecord(view, org)
	return at, err
}

// readRetentionRecord returns the version of the record of RetentionSource and the time in it.
func readRetentionRecord(view *posting.View, org ledger.ID) (version uint64, at ledger.Micros, err error) {
	r, found, err := view.Record(org, RetentionSource(org))
	if err != nil || !found {
		return 0, 0, err
	}
	at, err = ReadRetention(r.Payload)
	return r.Header.Version, at, err
}

// recordRemoval adds an event and a record to the draft. They say that deliveries of events before the given time may
// have been removed.
func (d *draft) recordRemoval(view *posting.View, org ledger.ID, before ledger.Micros) error {
	version, at, err := readRetentionRecord(view, org)
	if err != nil || at >= before {
		return err
	}
	d.change.Author = ledger.BySystem.Author()
	d.change.Steps = append(d.change.Steps, posting.Step{
		Org: org, Source: RetentionSource(org), Expect: version,
		Record: binary.BigEndian.AppendUint64(nil, uint64(before)), Events: []ledger.Event{{Name: RemovalEvent}},
	})
	return nil
}
