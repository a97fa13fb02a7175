package check

import (
	"bytes"
	"fmt"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
)

// In a cluster, a store may have organizations that were moved to another shard, and copies of organizations that were to be moved
// to this one. An organization that has left is checked like others, but nothing of it becomes due. A copy means nothing until it
// is complete, so it is not checked; the report says how many there are.

// readPlacements reads which organizations have moved or were to move.
func (c *checker) readPlacements() (err error) {
	c.placements, err = c.View.Placements()
	left := 0
	for _, p := range c.placements {
		switch {
		case isCopy(p):
			c.Report.Counts.Copies++
		case p.State == store.Left:
			left++
		}
	}
	if n := c.Report.Counts.Copies; n > 0 || left > 0 {
		c.Report.Rules[findings.RuleJournal-1].Note = fmt.Sprintf("%d organizations were moved to other shards; %d are copies of moves that have not ended, and are not checked", left, n)
	}
	return err
}

func isCopy(p posting.Placement) bool { return p.State == store.Arriving || p.State == store.Abandoned }

func (c *checker) isCopy(org ledger.ID) bool { return isCopy(c.placements[org]) }

// belongsToCopy tells whether a claim of the platform belongs to a copy of an organization.
func (c *checker) belongsToCopy(kind ledger.ClaimKind, owner []byte) (bool, error) {
	for org, p := range c.placements {
		if !isCopy(p) {
			continue
		}
		switch kind {
		case ledger.ClaimNumber:
			if len(owner) != len(ledger.ID{}) {
				return false, nil
			}
			_, found, err := c.View.StoredRecord(org, ledger.Source{Kind: ledger.Partner, ID: ledger.ID(owner)})
			if found || err != nil {
				return found, err
			}
		case ledger.ClaimAddress, ledger.ClaimIdempotency:
			if bytes.HasSuffix(owner, org[:]) {
				return true, nil
			}
		}
	}
	return false, nil
}

// skipsClaim tells whether a claim is not checked, because it is the platform's and belongs to a copy.
func (c *orgCheck) skipsClaim(kind ledger.ClaimKind, owner []byte) (bool, error) {
	if c.organization.ID != directory.PlatformOrg || c.Report.Counts.Copies == 0 {
		return false, nil
	}
	return c.belongsToCopy(kind, owner)
}
