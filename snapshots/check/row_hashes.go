package check

import (
	"crypto/sha256"
	"hash/maphash"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rules 3, 4 and 6 of the checker (records, claims, notifications), this file checks the hashes in events. A step
// consists of the events of one record that are written together. A step's last event has the hashes of the rows
// written with the step: the record, its sealed (encrypted) row, its notices (stored notifications), and its claims
// (rows that make keys unique). An attacker who changes such a row must also change the journal, and so the root of
// the journal's hash tree. Auditors have copies of this root. The check reads the rows long after the event. Until
// then it keeps an eight-byte hash of each hash. The seed of these short hashes is new for each check, so that an
// attacker can't prepare a collision.

// hash64 returns a short form of a hash. For the zero hash it returns 0.
func hash64(seed maphash.Seed, h ledger.Hash) uint64 {
	if h == (ledger.Hash{}) {
		return 0
	}
	return max(maphash.Bytes(seed, h[:]), 1)
}

// followStoredHashes records the hashes in an event. After an event without the hash of its record, the record's next
// event must follow immediately, because only the last event of a step has the hash of the record.
func (j *journal) followStoredHashes(e *ledger.Event) {
	if j.unhashedRecord != (ledger.Source{}) && e.Source != j.unhashedRecord {
		j.reportUnhashed()
	}
	j.unhashedRecord = ledger.Source{}
	for _, claim := range e.StoredHashes.Claims {
		j.claimsOfEvents.Add(j.seed, claim[:])
	}
	switch hasRecord := e.StoredHashes.Record != (ledger.Hash{}); {
	case e.Source.Kind == ledger.Transfer && hasRecord:
		j.EventFault(j.organization.ID, e, "it has the hash of a record, and a transfer has none")
	case e.Source.Kind != ledger.Transfer && !hasRecord:
		j.unhashedRecord = e.Source
	}
}

// checkLastStep checks that the journal does not end within a step.
func (j *journal) checkLastStep() {
	if j.unhashedRecord != (ledger.Source{}) {
		j.reportUnhashed()
	}
}

// reportUnhashed reports a step that ended without an event that has the record's hash.
func (j *journal) reportUnhashed() {
	j.Report.Breach(findings.RuleStates, "organization %v: an event of %s before event %d has no hash of its record, and is not the last of its step",
		j.organization.ID, scan.NameOf(j.unhashedRecord), j.lastSeq)
}

// checkStoredHash compares a record's row, including all parts of a long record, with the hash in
// the record's last event. It also records the hash of the sealed row beside the record.
func (c *orgCheck) checkStoredHash(r *scan.Record, row []byte) {
	h, seed := r.History, r.Organization.Histories.Seed
	h.SealedHash = hash64(seed, r.Header.Sealed)
	if r.Header.FurtherRows > 0 {
		fullRow, _, err := c.View.StoredRecord(r.Organization.ID, r.Source)
		if err != nil {
			c.Report.Breach(findings.RuleStates, "organization %v: %v", r.Organization.ID, err)
			return
		}
		row = fullRow
	}
	if hash64(seed, sha256.Sum256(row)) != h.RecordHash {
		c.Fault(r, "is not what was stored with event %d", h.LastSeq)
	}
}

// checkSealed compares a sealed row with the hash of the row in its record.
func (c *orgCheck) checkSealed(source ledger.Source, h *scan.History, row []byte) {
	o := c.organization
	if hash64(o.Histories.Seed, sha256.Sum256(row)) != h.SealedHash {
		c.Report.Breach(findings.RuleStates, "organization %v: the sealed row of %s is not the one that its record names", o.ID, scan.NameOf(source))
	}
}

// reportMissingSealedRows reports records whose sealed row is missing, except rows with cards, which checkSealedRows
// reports.
func (c *orgCheck) reportMissingSealedRows() {
	o := c.organization
	for source, h := range o.Histories.All() {
		if h.SealedHash != 0 && h.Marks&(scan.RequiresCard|scan.CardSealed) == 0 {
			c.Report.Breach(findings.RuleStates, "organization %v: the sealed row of %s is missing", o.ID, scan.NameOf(source))
		}
	}
}

// addStoredClaim adds a stored claim to claimsStored, which must equal the sum of the claims in the events.
func (c *checker) addStoredClaim(key, owner []byte) {
	if hash, ok := c.hashOfClaim(key, owner); ok {
		c.claimsStored.Add(c.seed, hash[:])
	}
}

// hashOfClaim returns the hash that an event must contain for this claim. It returns false for a claim that contains only a
// record's id: events have no hashes of such claims.
func (c *checker) hashOfClaim(key, owner []byte) (ledger.Hash, bool) {
	if !store.ClaimIsHashed(owner) {
		return ledger.Hash{}, false
	}
	c.hashInput = store.AppendHashedClaim(c.hashInput[:0], key, owner)
	return store.HashClaim(c.hashInput), true
}

// checkClaimsStored compares the stored claims with the claims in events. A claim and its event may belong to two
// organizations, and claims and events are stored in different orders, so only sums of hashes are compared. If the
// sums differ, and no other check of claims has reported why, explainClaims reads all events and claims again.
func (c *checker) checkClaimsStored() error {
	if c.claimsStored == c.claimsOfEvents || c.Report.Rules[findings.RuleClaims-1].Outcome == findings.Broken {
		return nil
	}
	return c.ReadSection(findings.RuleClaims, c.explainClaims)
}

// claimEvent is the event that made a claim.
type claimEvent struct {
	org ledger.ID
	seq uint64
}

// explainClaims reads all events and claims again and reports each claim that has no event, and each
// event whose claim is missing.
func (c *checker) explainClaims() error {
	claimEvents := make(map[ledger.Hash]claimEvent)
	orgs := scan.SortedIDs(keysOf(c.Organizations))
	for _, org := range orgs {
		err := c.View.EventsAscending(org, 1, func(e ledger.Event, _ []byte) (bool, error) {
			for _, claim := range e.StoredHashes.Claims {
				claimEvents[claim] = claimEvent{org, e.Seq}
			}
			return true, c.Interrupted()
		})
		if err != nil {
			return err
		}
	}
	for _, org := range orgs {
		err := c.View.Rows(org, posting.Claims, func(key, owner []byte) (bool, error) {
			hash, ok := c.hashOfClaim(key, owner)
			if _, known := claimEvents[hash]; ok && !known {
				c.Report.Breach(findings.RuleClaims, "organization %v: a claim was not made with any event", org)
			}
			delete(claimEvents, hash)
			return true, c.Interrupted()
		})
		if err != nil {
			return err
		}
	}
	for _, event := range claimEvents {
		c.Report.Breach(findings.RuleClaims, "organization %v: a claim that was made with event %d is missing or changed", event.org, event.seq)
	}
	if c.Report.Rules[findings.RuleClaims-1].Outcome != findings.Broken {
		c.Report.Breach(findings.RuleClaims, "the claims are not those that were made with events")
	}
	return nil
}

func keysOf(organizations map[ledger.ID]*scan.Organization) map[ledger.ID]bool {
	ids := make(map[ledger.ID]bool, len(organizations))
	for id := range organizations {
		ids[id] = true
	}
	return ids
}
