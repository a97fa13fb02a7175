package check

import (
	"strconv"
	"strings"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 4 of the checker (claims, lists, numbers), this file checks idempotency keys. A claim (the row that makes
// a key unique) must name the record for which the key was used: an existing record of the key's partner, or a
// contract or a closed month of the organization. Every cached reply must belong to such a key.

// crossOrgKey is a claim on an idempotency key that may name a record of another organization. Claims of
// administration requests may do so, because these claims belong to the platform's organization.
type crossOrgKey struct {
	org       ledger.ID // the organization to which the claim belongs
	record    ledger.Source
	recordOrg ledger.ID // the organization to which the record belongs
	reply     ledger.ID // the id of the cached reply, which belongs to recordOrg; zero if there is none
}

// readCrossOrgKey parses a claim that may belong to an administration request. The owner is the claim's stored value.
// It ends with the id of the organization to which the record and the cached reply belong. If this id is missing, the
// record is itself an organization.
func readCrossOrgKey(org ledger.ID, source ledger.Source, key string, owner []byte) crossOrgKey {
	const prefixLen = 32 + 1 + 16 // the owner begins with the hash of the request and the kind and id of the record
	k := crossOrgKey{org: org, record: source, recordOrg: source.ID}
	if len(owner) == prefixLen+len(k.recordOrg) {
		k.recordOrg, k.reply = ledger.ID(owner[prefixLen:]), directory.CachedReplyID(key)
	}
	return k
}

// checkKey checks that a claim on an idempotency key names an existing record. If a partner
// used the key for a transaction, the transaction must belong to that partner.
func (c *orgCheck) checkKey(key string, owner []byte) {
	o := c.organization
	if c.transactions.CheckRenewalKey(key, owner) || c.contracts.CheckStaffKey(key, owner) {
		return
	}
	source, ok := scan.KeyOwner(owner)
	partner, text, hasScope := cutScope(key)
	if !ok || !hasScope || text == "" {
		c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) of an unknown form", o.ID, ledger.ClaimIdempotency)
		return
	}
	h := o.Histories.Find(source)
	if h == nil || h.Marks&scan.HasRow == 0 || o.ID == directory.PlatformOrg {
		c.crossOrgKeys = append(c.crossOrgKeys, readCrossOrgKey(o.ID, source, key, owner))
		return
	}
	if source.Kind == ledger.Subscription && partner != 0 {
		c.transactions.CheckSubscriptionKey(key, partner, source, owner)
	}
	if source.Kind != ledger.Transaction || partner == 0 {
		return
	}
	c.replies.Keys[scan.RecordKey{Org: o.ID, ID: paymentactor.ReplyID(o.ID, key)}] = source.ID
	if !o.Histories.BelongsToPartner(payment.Transactions, partner, h) {
		c.Report.Breach(findings.RuleClaims, "organization %v: a key of partner %d was used for %s, which is another's", o.ID, partner, scan.NameOf(source))
	}
}

// checkReply checks that a cached reply shows an earlier state of an existing transaction or
// contract.
func (c *orgCheck) checkReply(r *scan.Record) {
	c.CheckState(r, string(directory.StateReplyStored))
	switch {
	case actors.ContractReply.Has(r.Payload):
		c.contracts.CheckContractReply(r)
	case !actors.PaymentReply.Has(r.Payload):
		c.Fault(r, "is of an unknown form")
	case c.Keyring == nil:
		c.replies.Shown[scan.RecordKey{Org: r.Organization.ID, ID: r.Source.ID}] = ledger.ID{}
	default:
		c.checkPaymentReply(r)
	}
}

// checkPaymentReply opens the cached reply and compares it with the transaction's history.
func (c *orgCheck) checkPaymentReply(r *scan.Record) {
	reply, err := paymentactor.OpenReply(c.Keyring, r.Organization.ID, r.Source.ID, r.Payload)
	if err != nil {
		c.Fault(r, "can't be read: %v", err)
		return
	}
	h := r.Organization.Histories.Find(ledger.Source{Kind: ledger.Transaction, ID: reply.Record.ID})
	if h == nil || uint64(h.Version) < reply.Header.Version || h.LastSeq < reply.Header.LastSeq || h.StartedAt != reply.Header.StartedAt {
		c.Fault(r, "shows transaction %v as it never was", reply.Record.ID)
	}
	c.replies.Shown[scan.RecordKey{Org: r.Organization.ID, ID: r.Source.ID}] = reply.Record.ID
}

// checkAdminReply opens the cached reply to an administration request.
func (c *orgCheck) checkAdminReply(r *scan.Record) {
	if c.Keyring == nil {
		return
	}
	if _, err := directoryactor.OpenCachedReply(c.Keyring, r.Organization.ID, r.Source.ID, r.Payload); err != nil {
		c.Fault(r, "can't be read: %v", err)
	}
}

// cutScope splits a key into its partner's number and the text that the client sent. For a key of the administration
// the number is 0.
func cutScope(key string) (partner int64, text string, ok bool) {
	if text, ok = strings.CutPrefix(key, actors.AdminKeyScope+"/"); ok {
		return 0, text, true
	}
	rest, ok := strings.CutPrefix(key, "partner/")
	if !ok {
		return 0, "", false
	}
	digits, text, ok := strings.Cut(rest, "/")
	partner, err := strconv.ParseInt(digits, 10, 64)
	return partner, text, ok && err == nil && partner > 0
}

// checkKeys checks that the record in each crossOrgKey exists, and that every cached reply belongs to a key.
func (c *checker) checkKeys() error {
	for place, shownID := range c.replies.Shown {
		if recordID, found := c.replies.Keys[place]; !found || recordID != shownID && shownID != (ledger.ID{}) {
			c.Report.Breach(findings.RuleClaims, "organization %v: %s belongs to no idempotency key", place.Org, scan.NameOf(ledger.Source{Kind: ledger.Reply, ID: place.ID}))
		}
	}
	claimedReplies := make(map[scan.RecordKey]bool)
	for _, k := range c.crossOrgKeys {
		if history := c.StoredIn(k.recordOrg, k.record); history == nil || k.reply == (ledger.ID{}) && k.record.Kind != ledger.Organization {
			c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) names %s, which does not exist", k.org, ledger.ClaimIdempotency, scan.NameOf(k.record))
			continue
		}
		if k.reply == (ledger.ID{}) {
			continue
		}
		reply := ledger.Source{Kind: ledger.AdminReply, ID: k.reply}
		if c.StoredIn(k.recordOrg, reply) == nil {
			c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) has %s, which does not exist", k.org, ledger.ClaimIdempotency, scan.NameOf(reply))
			continue
		}
		claimedReplies[scan.RecordKey{Org: k.recordOrg, ID: k.reply}] = true
	}
	for _, place := range c.adminReplies {
		if !claimedReplies[place] {
			c.Report.Breach(findings.RuleClaims, "organization %v: %s belongs to no idempotency key", place.Org, scan.NameOf(ledger.Source{Kind: ledger.AdminReply, ID: place.ID}))
		}
	}
	return nil
}
