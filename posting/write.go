package posting

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// write adds a change that has passed all checks to the group (the changes that become durable together). It sets r.Headers to
// the headers of the change's records. It must not fail.
func (w *writer) write(c *Change, r *Receipt) {
	claimHashes := w.writeClaims(c.Claims)
	for i := range c.Counters {
		w.applyGuard(&c.Counters[i])
	}
	for i := range c.KVs {
		w.putKV(&c.KVs[i])
	}
	r.Headers = w.headersFor(len(c.Steps))
	for i := range c.Steps {
		r.Headers[i] = w.writeStep(&c.Steps[i], c.Author, claimHashes)
		claimHashes = nil // only the last event of the first step contains the hashes of the claims
	}
	if c.Move != nil {
		w.writeMove(c.Move)
	}
	if c.Close != nil {
		w.org(c.Close.Org).dates.close(c.Close.Month)
	}
}

// nextNumber increments the last number of a sequence and returns it.
func (w *writer) nextNumber(org ledger.ID, sequence string) uint64 {
	c := w.touchCounter(counterKey{org, SequenceKey(sequence), ""})
	last, fits := c.amount.Uint64()
	assert.That(fits, "the sequence %s is at its end", sequence)
	c.amount = money.FromUint64(last + 1)
	return last + 1
}

// SequenceKey returns the key of the counter that holds the last number of a sequence.
func SequenceKey(sequence string) string { return "number/" + sequence }

// touchCounter returns a counter which the caller will change, and makes sure that the group writes the counter's row.
func (w *writer) touchCounter(k counterKey) *counter {
	c := w.counter(k)
	if c.group != w.groupNumber {
		c.group = w.groupNumber
		w.movedCounters = append(w.movedCounters, c)
		w.finishSize.add(1, countSize+len(c.key)+len(c.window))
	}
	return c
}

func (w *writer) applyGuard(g *ledger.CounterGuard) {
	c := w.touchCounter(counterKey{g.Org, g.Key, g.Window})
	amount, err := amountAfter(c.amount, g)
	if err != nil && !g.IsRelease {
		// The amount exceeds its range, but only a Change marked MustRecord comes here, and it can't be refused. So the counter
		// becomes full, and a full counter refuses later commands.
		amount, err = money.Max, nil
	}
	assert.That(err == nil, "the counter %q of the window %q is %v, and %v is released", g.Key, g.Window, c.amount, g.Add)
	c.amount = amount
}

func (w *writer) putKV(s *KV) {
	w.key = store.KeyKV(w.key[:0], s.Org, s.Key)
	if s.Value == nil {
		w.deleteRow(s.Org)
		return
	}
	w.group.Set(w.key, s.Value)
}

// writeClaims writes the owner of each claim (unique key) of a change. Some claims must have their hash in an event (see
// store.ClaimIsHashed). writeClaims returns the hashes of these claims.
func (w *writer) writeClaims(claims []ledger.Claim) (hashes []ledger.Hash) {
	for i := range claims {
		claim := &claims[i]
		w.key = store.KeyClaim(w.key[:0], claim.Org, claim.Kind, claim.Key)
		w.claims[0][string(w.key)] = claim.Owner
		w.group.Set(w.key, claim.Owner)
		if store.ClaimIsHashed(claim.Owner) {
			w.hashInput = store.AppendHashedClaim(w.hashInput[:0], w.key, claim.Owner)
			hashes = append(hashes, store.HashClaim(w.hashInput))
		}
	}
	return hashes
}

// writeStep writes all that a step changes: the record's row, events, list rows and due instant. The record's row is written
// before the events are appended to the hash tree, because the last event contains the hash of the row.
func (w *writer) writeStep(s *Step, author ledger.Author, claimHashes []ledger.Hash) RecordHeader {
	b := w.org(s.Org)
	header := w.recordHeader(s)
	previousDue := header.Due
	isNew := header.Version == 0
	for i := range s.Events {
		e := &s.Events[i]
		e.Source, e.Author = s.Source, author
		e.Seq, e.Booked = b.next(w.now)
		header.Version++
		e.Version, e.Previous = header.Version, header.LastSeq
		header.LastSeq, header.UpdatedAt = e.Seq, e.Booked
		if isNew && i == 0 {
			header.FirstSeq, header.StartedAt = e.Seq, e.Booked
		}
		e.StoredHashes = ledger.StoredHashes{}
		w.bookEntry(b, e, &header)
	}
	w.appendNotices(b, s)
	if s.Finish {
		header.FinishedAt = header.UpdatedAt
	}
	if isNew && s.Sequence != "" {
		header.Number = w.nextNumber(s.Org, s.Sequence)
	}
	header.Due = s.Due
	if s.Due != 0 {
		header.Due = max(s.Due, w.now) // not the event's booked time, which may be ahead of the clock
		w.addDue(s.Org, s.Source, header.Due)
	}
	k := dueKey{s.Org, s.Source}
	if previousDue != 0 || header.Due != 0 {
		w.out.dues = append(w.out.dues, dueChange{k, header.Due})
	}
	last := &s.Events[len(s.Events)-1].StoredHashes
	last.Claims = claimHashes
	if s.Record != nil {
		w.writeSealed(s, &header)
		last.Record = w.writeRecord(s, &header)
		w.headers.set(k, header)
	}
	for i := range s.Events {
		e := &s.Events[i]
		w.canonical = e.AppendCanonical(w.canonical[:0])
		w.appendLeaf(b, e.Seq, w.canonical)
		if e.IsAdministrationChange() {
			w.list(b, ledger.AdministrationChanges, store.ListRow{Booked: e.Booked, IsCreation: e.Version == 1, ID: ledger.SeqID(e.Seq)})
		}
	}
	if s.List != (ledger.List{}) {
		w.list(b, s.List, store.ListRow{Booked: header.UpdatedAt, IsCreation: isNew, ID: s.Source.ID})
	}
	for _, l := range s.FurtherLists {
		w.list(b, l, store.ListRow{Booked: header.UpdatedAt, IsCreation: isNew, ID: s.Source.ID})
	}
	return header
}

// writeRecord writes the record's row, and further rows if the payload is too long for one row. It returns a hash over all
// these rows.
func (w *writer) writeRecord(s *Step, header *RecordHeader) ledger.Hash {
	firstPart := s.Record
	header.FurtherRows = 0
	var parts [][]byte
	if len(firstPart) > store.MaxPart {
		firstPart = firstPart[:store.MaxPart]
		for remaining := s.Record[store.MaxPart:]; len(remaining) > 0; {
			n := min(len(remaining), store.MaxPart)
			header.FurtherRows++
			w.key = store.KeyPart(w.key[:0], s.Org, s.Source, header.FurtherRows)
			w.group.Set(w.key, remaining[:n])
			parts = append(parts, remaining[:n])
			remaining = remaining[n:]
		}
	}
	w.value = store.EncodeRecord(w.value[:0], store.RecordHeader(*header), firstPart)
	w.key = store.KeyRecord(w.key[:0], s.Org, s.Source)
	w.group.Set(w.key, w.value)
	return store.HashRecord(w.value, parts...)
}

// writeSealed writes or removes the record's sealed row if the step requires it.
func (w *writer) writeSealed(s *Step, header *RecordHeader) {
	if s.Sealed == nil && !s.RemoveSealed {
		return
	}
	w.key = store.KeySealed(w.key[:0], s.Org, s.Source)
	if s.RemoveSealed {
		w.deleteRow(s.Org)
		header.Sealed = ledger.Hash{}
		return
	}
	w.group.Set(w.key, s.Sealed)
	header.Sealed = store.HashSealed(s.Sealed)
}

// bookEntry books the event's entry, if there is one.
func (w *writer) bookEntry(b *orgState, e *ledger.Event, header *RecordHeader) {
	if e.Entry == nil {
		return
	}
	b.dates.setEffective(e)
	w.projection.split(b.org, e.Entry)
	updateHeld(e, header)
	w.book(b.org, e)
}

// addDue adds an item for the record to the group's due row of the second in which the record is due.
func (w *writer) addDue(org ledger.ID, source ledger.Source, at ledger.Micros) {
	second := int64(at) / 1_000_000
	row, hasRow := w.dues[second]
	if !hasRow {
		w.finishSize.add(1, dueSize)
	}
	row = store.EncodeDue(row, store.DueItem{At: at, Org: org, Source: source})
	w.dues[second] = row
	w.finishSize.bytes += itemSize
	w.longestDueRow = max(w.longestDueRow, len(row))
	if w.out.earliest == 0 || at < w.out.earliest {
		w.out.earliest = at
	}
}

// updateHeld updates HeldSeq and SettledSeq of the header: the seq of the record's open pending entry, and the seq of the
// record's first settled entry.
func updateHeld(e *ledger.Event, header *RecordHeader) {
	switch e.Entry.Phase {
	case ledger.Pending:
		assert.That(header.HeldSeq == 0, "record %v holds twice", e.Source.ID)
		header.HeldSeq = e.Seq
		return
	case ledger.Capture, ledger.Void:
		assert.That(header.HeldSeq != 0, "record %v has nothing held", e.Source.ID)
		e.Entry.Closes, header.HeldSeq = header.HeldSeq, 0
	}
	if e.Entry.Phase != ledger.Void && header.SettledSeq == 0 {
		header.SettledSeq = e.Seq
	}
}
