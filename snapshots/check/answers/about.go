package answers

import (
	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/snapshots/check/contracts"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// about is what the answers say about the records of a kind; a T is a record as one answer shows
// it. There may be very many, so they are in a slab.
type about[T any] struct {
	kind  ledger.Kind
	index map[scan.Place]int32 // index in slab
	slab  scan.Slab[subject[T]]
	keyed []keyedAnswer
}

// subject is a record that answers show.
type subject[T any] struct {
	line    uint32            // the first that shows it
	partner int64             // to which it was shown; 0: the file does not say
	variant contracts.Variant // of a contract
	found   bool
	shown   []T
}

func newAbout[T any](kind ledger.Kind) about[T] {
	return about[T]{kind: kind, index: make(map[scan.Place]int32)}
}

// source returns the record with an id.
func (k *about[T]) source(id ledger.ID) ledger.Source { return ledger.Source{Kind: k.kind, ID: id} }

// find returns a record that answers show; nil if they do not.
func (k *about[T]) find(org, id ledger.ID) *subject[T] {
	at, known := k.index[scan.Place{Org: org, ID: id}]
	if !known {
		return nil
	}
	return k.slab.At(at)
}

// note returns the record that an object of an answer names, which the caller adds to; nil if the
// object names none.
func (k *about[T]) note(c *Check, n uint32, l *answerLine, s object, variant contracts.Variant) *subject[T] {
	id, err := uuid.Parse(s.text("id"))
	if err != nil {
		return nil
	}
	of := k.find(l.org, id)
	if of == nil {
		at := k.slab.Add(subject[T]{line: n, partner: l.PartnerID, variant: variant})
		k.index[scan.Place{Org: l.org, ID: id}] = at
		of = k.slab.At(at)
	}
	if of.partner == 0 {
		of.partner = l.PartnerID
	}
	if of.variant != variant || l.PartnerID != 0 && l.PartnerID != of.partner {
		c.Report.Breach(findings.RuleAnswers, "line %d: %s has another address or partner than in line %d", n, scan.Named(k.source(id)), of.line)
	}
	if l.IdempotencyKey != "" && l.Method != "GET" && !l.named {
		k.keyed = append(k.keyed, keyedAnswer{n, l.org, l.IdempotencyKey, k.source(id)})
	}
	return of
}

// noteUnknown records that a record was answered as unknown; false if no line has shown it. That
// is wrong at the same address for the partner to which an earlier line showed the record. It is
// right for another partner of the organization, if the file names partners.
func (k *about[T]) noteUnknown(c *Check, n uint32, l *answerLine, text string, variant contracts.Variant) bool {
	id, err := uuid.Parse(text)
	of := k.find(l.org, id)
	if err != nil || of == nil {
		return false
	}
	if of.variant == variant && (l.PartnerID == of.partner || l.PartnerID == 0 || of.partner == 0) {
		c.Report.Breach(findings.RuleAnswers, "line %d: %s is answered as unknown, and line %d showed it", n, scan.Named(k.source(id)), of.line)
	}
	return true
}

// compare marks a record as found and returns what the answers say about it; nil if nothing.
func (k *about[T]) compare(c *Check, org, id ledger.ID, partner int64) *subject[T] {
	of := k.find(org, id)
	if of == nil {
		return nil
	}
	if of.found = true; partner != 0 && of.partner != 0 && of.partner != partner {
		c.Report.Breach(findings.RuleAnswers, "line %d: %s was shown to another partner than its own", of.line, scan.Named(k.source(id)))
	}
	of.partner = partner
	return of
}

// end reports records that answers showed and the store lacks, and idempotency keys that name
// another record than the answer did. It calls kept for each other key.
func (k *about[T]) end(c *Check, scope func(*subject[T]) string, kept func(*keyedAnswer, *subject[T])) {
	for place, at := range k.index {
		if of := k.slab.At(at); !of.found {
			c.Report.Breach(findings.RuleAnswers, "line %d: %s of organization %v is lost", of.line, scan.Named(k.source(place.ID)), place.Org)
		}
	}
	for i := range k.keyed {
		one := &k.keyed[i]
		if of := k.find(one.org, one.made.ID); of.found && c.checkKey(one, scope(of)) && kept != nil {
			kept(one, of)
		}
	}
}

// ofPartner returns the scope of the keys of a record's partner.
func ofPartner[T any](of *subject[T]) string { return actors.KeyOfPartner(of.partner) }
