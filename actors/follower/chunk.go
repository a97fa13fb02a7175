package follower

import (
	"fmt"

	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/payment/codec"
	"mizan/posting"
)

// Chunk is a stretch of an organization's journal with the events of transactions in it. A consumer may use it until
// Consume returns.
type Chunk struct {
	Org    ledger.ID
	View   *posting.View
	Last   uint64         // seq of the stretch's last event, whether of a transaction or not
	Booked ledger.Micros  // booked time of that event
	Events []ledger.Event // in order

	transactions map[ledger.ID]*Transaction
}

// Transaction is the record of a transaction, read from the chunk's view. The record may be newer than the chunk's
// events.
type Transaction struct {
	Header  posting.RecordHeader
	payload []byte
	record  *payment.Record // nil: not decoded yet
}

// Transaction returns a transaction that has an event in the chunk.
func (c *Chunk) Transaction(id ledger.ID) (*Transaction, error) {
	if t := c.transactions[id]; t != nil {
		return t, nil
	}
	t, err := ReadTransaction(c.View, c.Org, id)
	if err == nil {
		c.transactions[id] = t
	}
	return t, err
}

// ReadTransaction reads the record of a transaction. The caller has seen an event of the transaction, so it is an
// error if there is no record.
func ReadTransaction(view *posting.View, org, id ledger.ID) (*Transaction, error) {
	stored, found, err := view.Record(org, ledger.Source{Kind: ledger.Transaction, ID: id})
	if err == nil && !found {
		err = fmt.Errorf("transaction %v has an event but no record", id)
	}
	return &Transaction{Header: stored.Header, payload: stored.Payload}, err
}

// Record returns the decoded record, which the caller must not change.
func (t *Transaction) Record() (r *payment.Record, err error) {
	if t.record == nil {
		t.record, err = codec.Decode(t.payload)
	}
	return t.record, err
}

// read reads the events whose seq is greater than after and not greater than until, but at most ChunkEvents events.
func (f *Follower) read(view *posting.View, org ledger.ID, after, until uint64) (*Chunk, error) {
	c := &f.chunk
	clear(c.Events) // so that the reused array does not keep earlier events in memory
	clear(c.transactions)
	*c = Chunk{Org: org, View: view, Last: after, Events: c.Events[:0], transactions: c.transactions}
	until = min(until, after+ChunkEvents)
	err := view.EventsAscending(org, after+1, func(e ledger.Event, _ []byte) (bool, error) {
		c.Last, c.Booked = e.Seq, e.Booked
		if e.Source.Kind == ledger.Transaction {
			c.Events = append(c.Events, e)
		}
		return e.Seq < until, nil
	})
	if err == nil && c.Last < until {
		err = fmt.Errorf("organization %v: the events after %d are missing", org, c.Last)
	}
	return c, err
}
