package contracts

import (
	"hash/maphash"
	"slices"
	"strings"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rules 3 and 4 of the checker (states of records, claims), this file checks cached replies and screenings. In the
// journal, the event of a contract must come directly before the event of a cached reply. The reply must show the
// contract as it was after that event of the contract. A screening stores its input, its decision and the version of
// the rules that were applied. These rules must give the same decision if they are applied to this input again. If a
// contract names a screening, the screening must exist.

// CheckStaffKey checks a claim on an idempotency key of an organization's staff. The claim must name a closed month of the
// organization, a contract with a cached reply, or a screening. CheckStaffKey returns false if the key is not a staff key.
func (c *Check) CheckStaffKey(key string, owner []byte) bool {
	o := c.organization
	text, ok := strings.CutPrefix(key, actors.UserKeyScope+"/")
	if !ok {
		return false
	}
	source, valid := scan.KeyOwner(owner)
	if !valid || text == "" {
		c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) of an unknown form", o.ID, ledger.ClaimIdempotency)
		return true
	}
	h := o.Histories.Find(source)
	if (source.Kind == ledger.Period || source.Kind == ledger.Screening) && h != nil && h.Marks&scan.HasRow != 0 {
		return true // this record never changes, so the record itself serves as the cached reply
	}
	if source.Kind != ledger.Contract || h == nil || h.Marks&scan.HasRow == 0 {
		c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) names %s, which does not exist", o.ID, ledger.ClaimIdempotency, scan.NameOf(source))
		return true
	}
	reply := scan.RecordKey{Org: o.ID, ID: contractactor.ReplyID(o.ID, key)}
	c.cachedReplies.Keys[reply] = source.ID
	if _, found := c.cachedReplies.Shown[reply]; !found {
		c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) has %s, which does not exist",
			o.ID, ledger.ClaimIdempotency, scan.NameOf(ledger.Source{Kind: ledger.Reply, ID: reply.ID}))
	}
	return true
}

// CheckContractReply checks that a cached reply shows a contract as it was after a certain event: the contract's event that
// directly precedes the reply's event. Contracts must have been read before replies.
func (c *Check) CheckContractReply(r *scan.Record) {
	o := r.Organization
	if r.History.ContractIndex < 0 {
		c.Fault(r, "does not follow a contract's event")
		return
	}
	moment := c.repliedMoments.At(r.History.ContractIndex)
	c.cachedReplies.Shown[scan.RecordKey{Org: o.ID, ID: r.Source.ID}] = moment.id
	if c.Keyring == nil {
		return
	}
	id, stored, err := contractactor.OpenReply(c.Keyring, o.ID, r.Source.ID, r.Payload)
	if err != nil {
		c.Fault(r, "can't be read: %v", err)
		return
	}
	if id != moment.id {
		c.Fault(r, "shows contract %v and follows an event of %v", id, moment.id)
		return
	}
	shownContract, err := contract.ReadRecord(id, stored)
	if err != nil {
		c.Fault(r, "can't be read: %v", err)
		return
	}
	h := o.Histories.Find(ledger.Source{Kind: ledger.Contract, ID: moment.id}) // not nil: the contract has at least the event before the reply
	l := c.LifecycleOf(h)
	state := o.Histories.StatesOf(ledger.Contract).Names[moment.state]
	switch {
	case variantOf(shownContract) != l.recordVariant, string(shownContract.Status) != state:
		c.Fault(r, "shows contract %v as it never was", moment.id)
	case moment.seq == h.LastSeq && maphash.Bytes(o.Histories.Seed, stored) != l.payloadHash:
		c.Fault(r, "shows contract %v with other columns than it has", moment.id)
	}
}

// CheckScreening repeats a screening and compares the decision and the findings with the stored ones.
func (c *Check) CheckScreening(r *scan.Record) {
	screening, err := contractactor.ReadScreening(r.Source.ID, r.Payload)
	if err != nil {
		c.Fault(r, "can't be read: %v", err)
		return
	}
	c.CheckState(r, string(screening.Decision))
	if screening.Ruleset != contract.RulesetVersion {
		c.Fault(r, "has the unknown ruleset %d", screening.Ruleset)
		return
	}
	if decision, findings := contract.Screen(&screening.Input); decision != screening.Decision || !slices.Equal(findings, screening.Findings) {
		c.Fault(r, "has the decision %q, and its rules give %q for the same input", screening.Decision, decision)
	}
	if r.Header.Due != 0 || r.Header.FinishedAt != r.Header.UpdatedAt {
		c.Fault(r, "is not over")
	}
}
