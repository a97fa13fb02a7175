package check

import (
	"crypto/sha256"
	"hash/maphash"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// What an event proves beside itself: the record as its step stored it, with what is
// sealed beside the record, the notifications about it, and the claims made with it.
// Its leaf has their hashes, so that whoever changes such a row has to change the
// journal too, and with it a head that others have. The rows are read long after the
// event, so of each hash that is still needed eight bytes are kept, by a seed that is
// new for each check: they can't be aimed at.

// mark64 stands for a hash in little room; 0: there is none.
func mark64(seed maphash.Seed, h ledger.Hash) uint64 {
	if h == (ledger.Hash{}) {
		return 0
	}
	return max(maphash.Bytes(seed, h[:]), 1)
}

// followStored takes what an event proves. Of a step's events only the last has the
// hash of its record, so one without is followed at once by another of the record.
func (j *journal) followStored(e *ledger.Event) {
	if j.awaited != (ledger.Source{}) && e.Source != j.awaited {
		j.unproven()
	}
	j.awaited = ledger.Source{}
	for _, claim := range e.Stored.Claims {
		j.claimsOfEvents.add(j.seed, claim[:])
	}
	switch has := e.Stored.Record != (ledger.Hash{}); {
	case e.Source.Kind == ledger.Transfer && has:
		j.wrongEvent(j.organization.id, e, "it has the hash of a record, and a transfer has none")
	case e.Source.Kind != ledger.Transfer && !has:
		j.awaited = e.Source
	}
}

// endStored looks whether the journal ends within a step.
func (j *journal) endStored() {
	if j.awaited != (ledger.Source{}) {
		j.unproven()
	}
}

func (j *journal) unproven() {
	j.report.breach(ruleStates, "organization %v: an event of %s before event %d has no hash of its record, and is not the last of its step",
		j.organization.id, named(j.awaited), j.last)
}

// checkStored compares a record's row, and the further ones of a long record, with the
// hash that its last event has, and notes what is sealed beside it.
func (c *orgCheck) checkStored(r *record, row []byte) {
	h, seed := r.history, r.organization.histories.seed
	h.sealedHash = mark64(seed, r.stamp.Sealed)
	if r.stamp.Parts > 0 {
		whole, _, err := c.view.StoredRecord(r.organization.id, r.source)
		if err != nil {
			c.report.breach(ruleStates, "organization %v: %v", r.organization.id, err)
			return
		}
		row = whole
	}
	if mark64(seed, sha256.Sum256(row)) != h.recordHash {
		c.faulty(r, "is not what was stored with event %d", h.last)
	}
}

// checkSealed compares a sealed row with the hash that its record has.
func (c *orgCheck) checkSealed(s ledger.Source, h *history, row []byte) {
	o := c.organization
	if mark64(o.histories.seed, sha256.Sum256(row)) != h.sealedHash {
		c.report.breach(ruleStates, "organization %v: what is sealed for %s is not what its record says", o.id, named(s))
	}
}

// checkUnsealed looks for records whose sealed row is gone, but for cards, of which the
// record says that they are kept.
func (c *orgCheck) checkUnsealed() {
	o := c.organization
	for source, at := range o.histories.index {
		if h := o.histories.slab.at(at); h.sealedHash != 0 && h.marks&(keepsCard|sealed) == 0 {
			c.report.breach(ruleStates, "organization %v: what was sealed for %s is gone", o.id, named(source))
		}
	}
}

// claimStored takes a claim that its event has to prove.
func (c *checker) claimStored(key, owner []byte) {
	if hash, ok := c.hashOfClaim(key, owner); ok {
		c.claimsStored.add(c.seed, hash[:])
	}
}

func (c *checker) hashOfClaim(key, owner []byte) (ledger.Hash, bool) {
	if !store.ClaimIsHashed(owner) {
		return ledger.Hash{}, false
	}
	c.hashed = store.AppendHashedClaim(c.hashed[:0], key, owner)
	return store.HashClaim(c.hashed), true
}

// checkClaimsStored compares the claims that are there with those that events have made.
// A claim and its event may be in two organizations, and claims are not in the order of
// events, so that only sums are compared; where these differ, and no other check of
// claims has said why, everything is read again.
func (c *checker) checkClaimsStored() error {
	if c.claimsStored == c.claimsOfEvents || c.report.Rules[ruleClaims-1].Outcome == Broken {
		return nil
	}
	return c.reading(ruleClaims, c.explainClaims)
}

// madeBy is the event of a claim.
type madeBy struct {
	org ledger.ID
	seq uint64
}

func (c *checker) explainClaims() error {
	made := make(map[ledger.Hash]madeBy)
	orgs := sortedIDs(keysOf(c.organizations))
	for _, org := range orgs {
		err := c.view.EventsAscending(org, 1, func(e ledger.Event, _ []byte) (bool, error) {
			for _, claim := range e.Stored.Claims {
				made[claim] = madeBy{org, e.Seq}
			}
			return true, c.alive()
		})
		if err != nil {
			return err
		}
	}
	for _, org := range orgs {
		err := c.view.Rows(org, posting.Claims, func(key, owner []byte) (bool, error) {
			hash, ok := c.hashOfClaim(key, owner)
			if _, known := made[hash]; ok && !known {
				c.report.breach(ruleClaims, "organization %v: a claim is not one that was made with an event", org)
			}
			delete(made, hash)
			return true, c.alive()
		})
		if err != nil {
			return err
		}
	}
	for _, at := range made {
		c.report.breach(ruleClaims, "organization %v: a claim that was made with event %d is gone, or another one", at.org, at.seq)
	}
	if c.report.Rules[ruleClaims-1].Outcome != Broken {
		c.report.breach(ruleClaims, "the claims are not those that were made with events")
	}
	return nil
}

func keysOf(organizations map[ledger.ID]*organization) map[ledger.ID]bool {
	ids := make(map[ledger.ID]bool, len(organizations))
	for id := range organizations {
		ids[id] = true
	}
	return ids
}
