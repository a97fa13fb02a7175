package posting

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// write puts a change that passed its checks into the group (the changes that become durable together), and the stamp
// of each of its records (version, times and such) into the receipt. It must not fail.
func (w *writer) write(c *Change, r *Receipt) {
	claimHashes := w.writeClaims(c.Claims)
	for i := range c.Counters {
		w.applyGuard(&c.Counters[i])
	}
	for i := range c.KVs {
		w.putKV(&c.KVs[i])
	}
	r.Stamps = w.stampsFor(len(c.Steps))
	for i := range c.Steps {
		r.Stamps[i] = w.writeStep(&c.Steps[i], claimHashes)
		claimHashes = nil // only the last event of the first step has the claims' hashes
	}
	if c.Close != nil {
		w.org(c.Close.Org).dates.close(c.Close.Month)
	}
}

// nextNumber takes the next number of a sequence.
func (w *writer) nextNumber(org ledger.ID, sequence string) uint64 {
	c := w.touchCounter(counterKey{org, SequenceKey(sequence), ""})
	last, fits := c.amount.Uint64()
	assert.That(fits, "the sequence %s is at its end", sequence)
	c.amount = money.FromUint64(last + 1)
	return last + 1
}

// SequenceKey returns the key of the counter that holds the last number of a sequence.
func SequenceKey(sequence string) string { return "number/" + sequence }

// touchCounter returns a counter for writing, and makes the group write its row.
func (w *writer) touchCounter(k counterKey) *counter {
	c := w.counter(k)
	if c.group != w.groupNumber {
		c.group = w.groupNumber
		w.movedCounters = append(w.movedCounters, c)
		w.tail.add(1, countSize+len(c.key)+len(c.window))
	}
	return c
}

func (w *writer) applyGuard(g *ledger.CounterGuard) {
	c := w.touchCounter(counterKey{g.Org, g.Key, g.Window})
	amount, err := amountAfter(c.amount, g)
	if err != nil && !g.IsRelease {
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

// writeClaims records a change's claims (unique keys) with their owners. It returns the hashes of those claims
// whose hash has to be in an event.
func (w *writer) writeClaims(claims []ledger.Claim) (hashes []ledger.Hash) {
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

// writeStep writes one record's events, row, list rows and due instant. The row is written before the events go
// into the hash tree, because the last event contains the row's hash.
func (w *writer) writeStep(s *Step, claimHashes []ledger.Hash) Stamp {
	b := w.org(s.Org)
	stamp := w.stamp(s)
	previousDue := stamp.Due
	isNew := stamp.Version == 0
	for i := range s.Events {
		e := &s.Events[i]
		e.Source = s.Source
		e.Seq, e.Booked = b.next(w.now)
		stamp.Version++
		e.Version, e.Previous = stamp.Version, stamp.LastSeq
		stamp.LastSeq, stamp.Updated = e.Seq, e.Booked
		if isNew && i == 0 {
			stamp.Started = e.Booked
		}
		e.Stored = ledger.Stored{}
		w.bookEntry(b, e, &stamp)
	}
	w.appendNotices(b, s)
	if s.Finish {
		stamp.Finished = stamp.Updated
	}
	if isNew && s.Sequence != "" {
		stamp.Number = w.nextNumber(s.Org, s.Sequence)
	}
	stamp.Due = s.Due
	if s.Due != 0 {
		stamp.Due = max(s.Due, w.now) // not the event's booked time, which is ahead of the clock while the clock stands still
		w.addDue(s, stamp.Due)
	}
	k := dueKey{s.Org, s.Source}
	if previousDue != 0 || stamp.Due != 0 {
		w.out.dues = append(w.out.dues, dueChange{k, stamp.Due})
	}
	last := &s.Events[len(s.Events)-1].Stored
	last.Claims = claimHashes
	if s.Record != nil {
		w.writeSealed(s, &stamp)
		last.Record = w.writeRecord(s, &stamp)
		w.stamps.set(k, stamp)
	}
	for i := range s.Events {
		w.canonical = s.Events[i].AppendCanonical(w.canonical[:0])
		w.appendLeaf(b, s.Events[i].Seq, w.canonical)
	}
	if s.List != (ledger.List{}) {
		w.list(b, s.List, store.Listed{Booked: stamp.Updated, IsCreation: isNew, ID: s.Source.ID})
	}
	for _, l := range s.FurtherLists {
		w.list(b, l, store.Listed{Booked: stamp.Updated, IsCreation: isNew, ID: s.Source.ID})
	}
	return stamp
}

// writeRecord writes the record's row, and further rows for a long payload, and returns
// their hash.
func (w *writer) writeRecord(s *Step, stamp *Stamp) ledger.Hash {
	firstPart := s.Record
	stamp.FurtherRows = 0
	var parts [][]byte
	if len(firstPart) > store.MaxPart {
		firstPart = firstPart[:store.MaxPart]
		for remaining := s.Record[store.MaxPart:]; len(remaining) > 0; {
			n := min(len(remaining), store.MaxPart)
			stamp.FurtherRows++
			w.key = store.KeyPart(w.key[:0], s.Org, s.Source, stamp.FurtherRows)
			w.group.Set(w.key, remaining[:n])
			parts = append(parts, remaining[:n])
			remaining = remaining[n:]
		}
	}
	w.value = store.EncodeRecord(w.value[:0], store.Envelope(*stamp), firstPart)
	w.key = store.KeyRecord(w.key[:0], s.Org, s.Source)
	w.group.Set(w.key, w.value)
	return store.HashRecord(w.value, parts...)
}

// writeSealed writes or removes the record's sealed row.
func (w *writer) writeSealed(s *Step, stamp *Stamp) {
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

// bookEntry books one event's entry.
func (w *writer) bookEntry(b *orgState, e *ledger.Event, stamp *Stamp) {
	if e.Entry == nil {
		return
	}
	b.dates.setEffective(e)
	w.projection.split(b.org, e.Entry)
	updateHeld(e, stamp)
	w.book(b.org, e)
}

// addDue adds the record to the group's due row, which has the records that the group makes due in the same second.
func (w *writer) addDue(s *Step, at ledger.Micros) {
	second := int64(at) / 1_000_000
	row, hasRow := w.dues[second]
	if !hasRow {
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

// updateHeld updates the seqs of the record's open pending entry and of its first settled entry in the stamp.
func updateHeld(e *ledger.Event, stamp *Stamp) {
	switch e.Entry.Phase {
	case ledger.Pending:
		assert.That(stamp.HeldSeq == 0, "record %v holds twice", e.Source.ID)
		stamp.HeldSeq = e.Seq
		return
	case ledger.Capture, ledger.Void:
		assert.That(stamp.HeldSeq != 0, "record %v has nothing held", e.Source.ID)
		e.Entry.Closes, stamp.HeldSeq = stamp.HeldSeq, 0
	}
	if e.Entry.Phase != ledger.Void && stamp.SettledSeq == 0 {
		stamp.SettledSeq = e.Seq
	}
}
