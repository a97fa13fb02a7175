package check

import (
	"hash/maphash"
	"slices"
	"strings"

	"mizan/actors"
	acting "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
)

// staffKey looks at a claim on a key of an organization's people; false: it is
// another key's. It names a closed month of its own organization, a contract of which
// what was answered is kept, or a screening.
func (c *contractsCheck) staffKey(key string, owner []byte) bool {
	o := c.organization
	text, ok := strings.CutPrefix(key, actors.KeyOfStaff+"/")
	if !ok {
		return false
	}
	made, well := keyOwner(owner)
	if !well || text == "" {
		c.report.breach(ruleClaims, "organization %v: a claim (%c) of an unknown form", o.id, ledger.ClaimIdempotency)
		return true
	}
	h := o.histories.find(made)
	if (made.Kind == ledger.Period || made.Kind == ledger.Screening) && h != nil && h.marks&stored != 0 {
		return true // neither ever changes, so that it is its own answer
	}
	if made.Kind != ledger.Contract || h == nil || h.marks&stored == 0 {
		c.report.breach(ruleClaims, "organization %v: a claim (%c) names %s, which is not there", o.id, ledger.ClaimIdempotency, named(made))
		return true
	}
	reply := placed{o.id, acting.ReplyID(o.id, key)}
	c.kept.keys[reply] = made.ID
	if _, kept := c.kept.shown[reply]; !kept {
		c.report.breach(ruleClaims, "organization %v: a claim (%c) has %s, which is not there",
			o.id, ledger.ClaimIdempotency, named(ledger.Source{Kind: ledger.Reply, ID: reply.id}))
	}
	return true
}

// checkContractReply checks that what somebody was answered with is a contract as it
// was directly after the event before the reply's own. Contracts are read before
// replies.
func (c *contractsCheck) checkContractReply(r *record) {
	o := r.organization
	if r.history.contract < 0 {
		c.faulty(r, "is behind no contract's event")
		return
	}
	was := c.replies.at(r.history.contract)
	c.kept.shown[placed{o.id, r.source.ID}] = was.id
	if c.keyring == nil {
		return
	}
	id, stored, err := acting.OpenReply(c.keyring, o.id, r.source.ID, r.payload)
	if err != nil {
		c.faulty(r, "can't be read: %v", err)
		return
	}
	if id != was.id {
		c.faulty(r, "shows contract %v and is behind an event of %v", id, was.id)
		return
	}
	p, err := contract.ReadRecord(id, stored)
	if err != nil {
		c.faulty(r, "can't be read: %v", err)
		return
	}
	h := o.histories.find(ledger.Source{Kind: ledger.Contract, ID: was.id}) // it has an event
	l := c.lifeOf(h)
	state := o.histories.statesOf(ledger.Contract).names[was.state]
	switch {
	case variantOf(p) != l.own, string(p.Status) != state:
		c.faulty(r, "shows contract %v as it never was", was.id)
	case was.seq == h.last && maphash.Bytes(o.histories.seed, stored) != l.payload:
		c.faulty(r, "shows contract %v with other columns than it has", was.id)
	}
}

// checkScreening does a screening again, by the rules of its version, for what it was
// given.
func (c *contractsCheck) checkScreening(r *record) {
	s, err := acting.ReadScreening(r.source.ID, r.payload)
	if err != nil {
		c.faulty(r, "can't be read: %v", err)
		return
	}
	c.checkState(r, string(s.Decision))
	if s.Ruleset != contract.RulesetVersion {
		c.faulty(r, "is by the unknown rules %d", s.Ruleset)
		return
	}
	if decision, findings := contract.Screen(&s.Given); decision != s.Decision || !slices.Equal(findings, s.Findings) {
		c.faulty(r, "says %q, and its rules say %q of what was given", s.Decision, decision)
	}
	if r.stamp.Due != 0 || r.stamp.Finished != r.stamp.Updated {
		c.faulty(r, "is not over")
	}
}
