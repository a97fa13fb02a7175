package posting

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// write puts a change that passed its checks into the group, and the stamps of its steps into the receipt. It
// must not fail.
func (w *writer) write(c *Change, r *Receipt) {
	claims := w.claim(c.Claims)
	for i := range c.Counters {
		w.applyGuard(&c.Counters[i])
	}
	for i := range c.KVs {
		w.putKV(&c.KVs[i])
	}
	r.Stamps = w.stampsFor(len(c.Steps))
	for i := range c.Steps {
		r.Stamps[i] = w.step(&c.Steps[i], claims)
		claims = nil // only the last event of the first step has the claims' hashes
	}
	if c.Close != nil {
		w.org(c.Close.Org).dates.close(c.Close.Month)
	}
}

// nextNumber takes the next number of a sequence.
func (w *writer) nextNumber(org ledger.ID, sequence string) uint64 {
	c := w.touch(counterKey{org, SequenceKey(sequence), ""})
	last, fits := c.amount.Uint64()
	assert.That(fits, "the sequence %s is at its end", sequence)
	c.amount = money.FromUint64(last + 1)
	return last + 1
}

// SequenceKey returns the key of the counter that holds the last number of a sequence.
func SequenceKey(sequence string) string { return "number/" + sequence }

// touch returns a counter for writing and adds it to the group's rows.
func (w *writer) touch(k counterKey) *counter {
	c := w.counter(k)
	if c.group != w.n {
		c.group = w.n
		w.movedCounters = append(w.movedCounters, c)
		w.tail.add(1, countSize+len(c.key)+len(c.window))
	}
	return c
}

func (w *writer) applyGuard(g *ledger.CounterGuard) {
	c := w.touch(counterKey{g.Org, g.Key, g.Window})
	amount, err := amountAfter(c.amount, g)
	if err != nil && !g.Release {
		// A Change marked MustRecord can't be refused. Its counter becomes full, and a full counter
		// refuses later changes.
		amount, err = money.Max, nil
	}
	assert.NoError(err)
	c.amount = amount
}

func (w *writer) putKV(s *KV) {
	w.key = store.KeyKV(w.key[:0], s.Org, s.Key)
	if s.Value == nil {
		w.group.Delete(w.key)
		return
	}
	w.group.Set(w.key, s.Value)
}

// claim records the owners of a change's keys. It returns the hashes of those claims whose hash has to
// be in an event.
func (w *writer) claim(claims []ledger.Claim) (hashes []ledger.Hash) {
	for i := range claims {
		claim := &claims[i]
		w.key = store.KeyClaim(w.key[:0], claim.Org, claim.Kind, claim.Key)
		w.claims[0][string(w.key)] = claim.Owner
		w.group.Set(w.key, claim.Owner)
		if store.ClaimIsHashed(claim.Owner) {
			w.hashed = store.AppendHashedClaim(w.hashed[:0], w.key, claim.Owner)
			hashes = append(hashes, store.HashClaim(w.hashed))
		}
	}
	return hashes
}

// step writes one record's events, row, list rows and due instant. The row is written before the
// events' leaves, because the last event contains the row's hash.
func (w *writer) step(s *Step, claims []ledger.Hash) Stamp {
	b := w.org(s.Org)
	stamp := w.stamp(s)
	previousDue := stamp.Due
	first := stamp.Version == 0
	for i := range s.Events {
		e := &s.Events[i]
		e.Source = s.Source
		e.Seq, e.Booked = b.next(w.now)
		stamp.Version++
		e.Version, e.Previous = stamp.Version, stamp.LastSeq
		stamp.LastSeq, stamp.Updated = e.Seq, e.Booked
		if first && i == 0 {
			stamp.Started = e.Booked
		}
		e.Stored = ledger.Stored{}
		w.event(b, e, &stamp)
	}
	w.appendNotices(b, s)
	if s.Finish {
		stamp.Finished = stamp.Updated
	}
	if first && s.Number != "" {
		stamp.Number = w.nextNumber(s.Org, s.Number)
	}
	stamp.Due = s.Due
	if s.Due != 0 {
		stamp.Due = max(s.Due, w.now) // if the clock stands still, events are booked ahead of it, but a due instant must not be
		w.due(s, stamp.Due)
	}
	k := dueKey{s.Org, s.Source}
	if previousDue != 0 || stamp.Due != 0 {
		w.out.dues = append(w.out.dues, dueChange{k, stamp.Due})
	}
	last := &s.Events[len(s.Events)-1].Stored
	last.Claims = claims
	if s.Record != nil {
		w.seal(s, &stamp)
		last.Record = w.record(s, &stamp)
		w.stamps.set(k, stamp)
	}
	for i := range s.Events {
		w.canonical = s.Events[i].AppendCanonical(w.canonical[:0])
		w.appendLeaf(b, s.Events[i].Seq, w.canonical)
	}
	if s.List != (ledger.List{}) {
		w.list(b, s.List, store.Listed{Booked: stamp.Updated, First: first, ID: s.Source.ID})
	}
	for _, l := range s.Also {
		w.list(b, l, store.Listed{Booked: stamp.Updated, First: first, ID: s.Source.ID})
	}
	return stamp
}

// record writes the record's row, and further rows for a long payload, and returns
// their hash.
func (w *writer) record(s *Step, stamp *Stamp) ledger.Hash {
	inline := s.Record
	stamp.Parts = 0
	var parts [][]byte
	if len(inline) > store.MaxPart {
		inline = inline[:store.MaxPart]
		for remaining := s.Record[store.MaxPart:]; len(remaining) > 0; {
			n := min(len(remaining), store.MaxPart)
			stamp.Parts++
			w.key = store.KeyPart(w.key[:0], s.Org, s.Source, stamp.Parts)
			w.group.Set(w.key, remaining[:n])
			parts = append(parts, remaining[:n])
			remaining = remaining[n:]
		}
	}
	w.value = store.EncodeRecord(w.value[:0], store.Envelope(*stamp), inline)
	w.key = store.KeyRecord(w.key[:0], s.Org, s.Source)
	w.group.Set(w.key, w.value)
	return store.HashRecord(w.value, parts...)
}

// seal writes or removes the record's sealed row.
func (w *writer) seal(s *Step, stamp *Stamp) {
	if s.Sealed == nil && !s.Unseal {
		return
	}
	w.key = store.KeySealed(w.key[:0], s.Org, s.Source)
	if s.Unseal {
		w.group.Delete(w.key)
		stamp.Sealed = ledger.Hash{}
		return
	}
	w.group.Set(w.key, s.Sealed)
	stamp.Sealed = store.HashSealed(s.Sealed)
}

// event books one event's entry.
func (w *writer) event(b *orgState, e *ledger.Event, stamp *Stamp) {
	if e.Entry == nil {
		return
	}
	b.dates.setEffective(e)
	w.projection.split(b.org, e.Entry)
	hold(e, stamp)
	w.book(b.org, e)
}

// due adds the record to the due row of its second.
func (w *writer) due(s *Step, at ledger.Micros) {
	second := int64(at) / 1_000_000
	row, begun := w.dues[second]
	if !begun {
		w.tail.add(1, dueSize)
	}
	row = store.EncodeDue(row, store.DueItem{At: at, Org: s.Org, Source: s.Source})
	w.dues[second] = row
	w.tail.bytes += itemSize
	w.longest = max(w.longest, len(row))
	if w.out.earliest == 0 || at < w.out.earliest {
		w.out.earliest = at
	}
}

// hold updates the stamp's open pending entry and first settled entry.
func hold(e *ledger.Event, stamp *Stamp) {
	switch e.Entry.Phase {
	case ledger.Pending:
		assert.That(stamp.Held == 0, "record %v holds twice", e.Source.ID)
		stamp.Held = e.Seq
		return
	case ledger.Capture, ledger.Void:
		assert.That(stamp.Held != 0, "record %v has nothing held", e.Source.ID)
		e.Entry.Closes, stamp.Held = stamp.Held, 0
	}
	if e.Entry.Phase != ledger.Void && stamp.Settled == 0 {
		stamp.Settled = e.Seq
	}
}
