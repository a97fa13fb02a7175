package check

import (
	"strconv"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 4 of the checker (claims, lists, numbers), this file checks claims. A claim is a row that makes a key,
// such as a partner's txid, unique. Every claim must name one existing record that has the claimed key, and every
// record with a key that must be unique must have a claim. If a claim contains more than the record's id, exactly one
// event must have the claim's hash (this is checked in row_hashes.go).

// ownerKinds has, for each kind of claim, the kinds of records that such a claim may name. The records belong
// to the same organization as the claim.
var ownerKinds = map[ledger.ClaimKind][]ledger.Kind{
	ledger.ClaimTxID:       {ledger.Transaction},
	ledger.ClaimLogin:      {ledger.Partner, ledger.User},
	ledger.ClaimSettlement: {ledger.Settlement},
	ledger.ClaimKeyHash:    {ledger.APIKey, ledger.Session},
}

// checkClaims compares the claims with the unique keys of the records.
func (c *orgCheck) checkClaims() error {
	o := c.organization
	const headLength = 1 + 16 // a key begins with the kind of its row and the organization's id
	err := c.Rows(o, posting.Claims, func(key, row []byte) error {
		c.Report.Counts.Claims++
		c.Report.Count(findings.RuleClaims, 1)
		if len(key) <= headLength+1 {
			c.Report.Breach(findings.RuleClaims, "organization %v: a claim without a key", o.ID)
			return nil
		}
		kind := ledger.ClaimKind(key[headLength])
		if isSkipped, err := c.skipsClaim(kind, row); isSkipped || err != nil {
			return err
		}
		c.addStoredClaim(key, row)
		c.checkClaim(kind, string(key[headLength+1:]), row)
		return nil
	})
	if err != nil {
		return err
	}
	c.transactions.CheckMissingReferences()
	c.reconciled.CheckMissingClaims()
	for source, h := range o.Histories.All() {
		if h.ClaimKind != 0 && h.Marks&scan.HasClaim == 0 {
			c.Report.Breach(findings.RuleClaims, "organization %v: %s has a key (%c) and no claim on it", o.ID, scan.NameOf(source), h.ClaimKind)
		}
	}
	return nil
}

// checkClaim checks one claim. owner is the claim's value, which names the record that has the key.
func (c *orgCheck) checkClaim(kind ledger.ClaimKind, key string, owner []byte) {
	o := c.organization
	if kind == ledger.ClaimIdempotency {
		c.checkKey(key, owner)
		return
	}
	if len(owner) != len(ledger.ID{}) {
		c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) that names nothing", o.ID, kind)
		return
	}
	id := ledger.ID(owner)
	if kind == ledger.ClaimNumber && o.ID == directory.PlatformOrg {
		c.directory.ClaimedNumbers[key] = id
		return
	}
	if kind == ledger.ClaimAddress && o.ID == directory.PlatformOrg {
		c.directory.ClaimedAddresses[key] = id
		return
	}
	if kind == ledger.ClaimReference {
		c.transactions.CheckReference(key, id)
		return
	}
	if c.reconciled.CheckClaim(kind, key, id) {
		return
	}
	hash := o.Histories.Hash(byte(kind), key)
	for _, k := range ownerKinds[kind] {
		h := o.Histories.Find(ledger.Source{Kind: k, ID: id})
		if h == nil || h.Marks&scan.HasRow == 0 {
			continue
		}
		if h.ClaimKind != kind || h.ClaimHash != hash {
			c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) names %s, which has another key", o.ID, kind, scan.NameOf(ledger.Source{Kind: k, ID: id}))
			return
		}
		h.Marks |= scan.HasClaim
		return
	}
	c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) names %v, which does not exist", o.ID, kind, id)
}

// checkPlatformClaims compares the platform's claims, on partner numbers and on public addresses, with the records of
// all organizations.
func (c *checker) checkPlatformClaims() error {
	for number, id := range c.directory.Numbers {
		text := strconv.FormatInt(number, 10)
		if owner, found := c.directory.ClaimedNumbers[text]; !found || owner != id {
			c.Report.Breach(findings.RuleClaims, "partner %v has number %d and no claim on it", id, number)
		}
		delete(c.directory.ClaimedNumbers, text)
	}
	c.directory.CheckAddresses()
	for _, id := range c.directory.ClaimedNumbers {
		c.Report.Breach(findings.RuleClaims, "a claim on a partner number names %v, which does not have it", id)
	}
	return nil
}
