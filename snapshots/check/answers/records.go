package answers

import (
	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/snapshots/check/contracts"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// shownRecords indexes the records of one kind that responses have shown. T describes a record as one response shows it. There
// may be very many records, so they are in a slab, which grows without being copied.
type shownRecords[T any] struct {
	kind           ledger.Kind
	index          map[scan.RecordKey]int32 // index in slab
	slab           scan.Slab[shownRecord[T]]
	keyedResponses []keyedResponse
}

// shownRecord is one record, with everything that responses show about it.
type shownRecord[T any] struct {
	line    uint32            // the first line that shows the record
	partner int64             // the partner to which the record was shown; 0 if no line names a partner
	variant contracts.Variant // set for contracts only
	inStore bool              // the store has the record
	shown   []T               // the record as each response shows it
}

func newShownRecords[T any](kind ledger.Kind) shownRecords[T] {
	return shownRecords[T]{kind: kind, index: make(map[scan.RecordKey]int32)}
}

// sourceOf returns the source of the record with the id.
func (r *shownRecords[T]) sourceOf(id ledger.ID) ledger.Source {
	return ledger.Source{Kind: r.kind, ID: id}
}

// find returns what responses show of a record. It returns nil if no response shows the record.
func (r *shownRecords[T]) find(org, id ledger.ID) *shownRecord[T] {
	slabIndex, known := r.index[scan.RecordKey{Org: org, ID: id}]
	if !known {
		return nil
	}
	return r.slab.At(slabIndex)
}

// findOrAdd returns the record whose id is in object, which is a JSON object of a response. If the record is not
// known yet, findOrAdd adds it. The caller then adds what the response shows. findOrAdd returns nil if the object has
// no id.
func (r *shownRecords[T]) findOrAdd(c *Check, lineNumber uint32, l *responseLine, object jsonObject, variant contracts.Variant) *shownRecord[T] {
	id, err := uuid.Parse(object.text("id"))
	if err != nil {
		return nil
	}
	record := r.find(l.org, id)
	if record == nil {
		slabIndex := r.slab.Add(shownRecord[T]{line: lineNumber, partner: l.PartnerID, variant: variant})
		r.index[scan.RecordKey{Org: l.org, ID: id}] = slabIndex
		record = r.slab.At(slabIndex)
	}
	if record.partner == 0 {
		record.partner = l.PartnerID
	}
	if record.variant != variant || l.PartnerID != 0 && l.PartnerID != record.partner {
		c.Report.Breach(findings.RuleAnswers, "line %d: %s has another address or partner than in line %d", lineNumber, scan.NameOf(r.sourceOf(id)), record.line)
	}
	if l.IdempotencyKey != "" && l.Method != "GET" && !l.hasTxID {
		r.keyedResponses = append(r.keyedResponses, keyedResponse{lineNumber, l.org, l.IdempotencyKey, r.sourceOf(id)})
	}
	return record
}

// noteUnknown checks a response that says that a record does not exist. This response is wrong if an earlier line showed the
// record at the same URL path, unless the two lines name different partners. noteUnknown returns false if no earlier line has
// shown the record.
func (r *shownRecords[T]) noteUnknown(c *Check, lineNumber uint32, l *responseLine, idText string, variant contracts.Variant) bool {
	id, err := uuid.Parse(idText)
	record := r.find(l.org, id)
	if err != nil || record == nil {
		return false
	}
	if record.variant == variant && (l.PartnerID == record.partner || l.PartnerID == 0 || record.partner == 0) {
		c.Report.Breach(findings.RuleAnswers, "line %d: %s is answered as unknown, and line %d showed it", lineNumber, scan.NameOf(r.sourceOf(id)), record.line)
	}
	return true
}

// markFound records that the store has a record, and returns what responses show of it. It returns nil if no response shows the
// record.
func (r *shownRecords[T]) markFound(c *Check, org, id ledger.ID, partner int64) *shownRecord[T] {
	record := r.find(org, id)
	if record == nil {
		return nil
	}
	if record.inStore = true; partner != 0 && record.partner != 0 && record.partner != partner {
		c.Report.Breach(findings.RuleAnswers, "line %d: %s was shown to another partner than its own", record.line, scan.NameOf(r.sourceOf(id)))
	}
	record.partner = partner
	return record
}

// reportLost reports the records that responses showed but the store lacks. It also reports each idempotency key that names
// another record than the response to the key's request showed. For each key that names the shown record, it calls
// onMatchingKey.
func (r *shownRecords[T]) reportLost(c *Check, scope func(*shownRecord[T]) string, onMatchingKey func(*keyedResponse, *shownRecord[T])) {
	for recordKey, slabIndex := range r.index {
		if record := r.slab.At(slabIndex); !record.inStore {
			c.Report.Breach(findings.RuleAnswers, "line %d: %s of organization %v is lost", record.line, scan.NameOf(r.sourceOf(recordKey.ID)), recordKey.Org)
		}
	}
	for i := range r.keyedResponses {
		response := &r.keyedResponses[i]
		if record := r.find(response.org, response.source.ID); record.inStore && c.checkKey(response, scope(record)) && onMatchingKey != nil {
			onMatchingKey(response, record)
		}
	}
}

// partnerKeyScope returns the scope of the idempotency keys of the record's partner.
func partnerKeyScope[T any](record *shownRecord[T]) string {
	return actors.PartnerKeyScope(record.partner)
}
