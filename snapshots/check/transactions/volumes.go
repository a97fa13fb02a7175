package transactions

import (
	"math/big"
	"strings"

	"mizan/ledger"
	ledgerdirectory "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/directory"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rules 2 and 3 of the checker (totals, states of records), this file checks volumes. A volume is the sum of the
// transactions in one time window of a limit. A transaction that is under way or settled counts towards exactly those
// volume limits that cover it. Each volume has two counters: the sum of the transactions that are under way or settled,
// and the sum of the settled transactions alone.

// sums holds the required values of a volume's two counters, computed from the transactions. total includes transactions that
// are under way; settled does not.
type sums struct{ total, settled big.Int }

// countsFor tells whether a transaction counts towards volumes, and whether it has settled.
func countsFor(p *payment.Record) (counts, isSettled bool) {
	switch p.Status {
	case payment.Charged, payment.Refunding, payment.Refunded, payment.Reversed:
		return p.ReversalOf == ledger.ID{}, true
	}
	return isUnsettled(p) && p.Status != payment.Created, false
}

// checkVolumes checks the volumes in a transaction's record, and adds the transaction to the sums of these volumes. The record
// must name every limit that was in force for the transaction, each of them once, and no other limit.
func (c *Check) checkVolumes(r *scan.Record, p *payment.Record) {
	counts, isSettled := countsFor(p)
	if !counts && len(p.Volumes) > 0 {
		c.Fault(r, "is %q, and counts towards volumes", p.Status)
	}
	org := r.Organization.ID
	if p.LinkID != (ledger.ID{}) {
		c.countForLink(p, isSettled)
	}
	seen := make(map[ledger.ID]bool, len(p.Volumes))
	for i := range p.Volumes {
		v := &p.Volumes[i]
		if seen[v.Limit] {
			c.Fault(r, "counts twice towards limit %v", v.Limit)
		}
		seen[v.Limit] = true
		c.checkVolume(r, p, v)
		if !counts {
			continue
		}
		amount, s := settledAmount(p), c.sumsOf(v.Limit.String()+"/"+v.Window+"/"+v.Subject)
		if s.total.Add(&s.total, amount); isSettled {
			s.settled.Add(&s.settled, amount)
		}
	}
	for _, l := range c.directory.Limits[directory.PartnerKey{Org: org, Number: p.Partner}] {
		if counts && !seen[l.ID] && l.Covers(p) && l.InForceFor(p) {
			c.Fault(r, "does not count towards limit %v, which bounds it", l.ID)
		}
	}
}

// checkVolume checks one volume of a transaction. If the partner is not in the directory, the partner's limits are
// unknown, so an unknown limit is not reported.
func (c *Check) checkVolume(r *scan.Record, p *payment.Record, v *payment.Volume) {
	var limit *directory.Limit
	for _, l := range c.directory.Limits[directory.PartnerKey{Org: r.Organization.ID, Number: p.Partner}] {
		if l.ID == v.Limit {
			limit = l
		}
	}
	if limit == nil {
		if c.directory.Partner(r.Organization.ID, p.Partner) != nil {
			c.Fault(r, "counts towards limit %v, which its partner does not have", v.Limit)
		}
		return
	}
	layout := limit.Kind.Period()
	firstWindow, lastWindow := (r.Header.StartedAt - scan.MaxDecisionTime).Time().Format(layout), r.Header.UpdatedAt.Time().Format(layout)
	switch {
	case !limit.Covers(p):
		c.Fault(r, "counts towards limit %v, which does not bound it", limit.ID)
	case layout == "" || v.Window < firstWindow || v.Window > lastWindow || len(v.Window) != len(layout):
		c.Fault(r, "counts in the window %q of limit %v, and was not routed then", v.Window, limit.ID)
	case !isSubjectOf(limit.Scope, p, v.Subject):
		c.Fault(r, "counts towards limit %v for another subject", limit.ID)
	}
}

// isSubjectOf tells whether a limit with this scope may count the transaction for this subject. If the scope is the
// partner, the card or the IP address, the record determines the subject. For other scopes, the subject is a hash of a
// value that the partner sent, so isSubjectOf checks only the form of the subject.
func isSubjectOf(scope ledgerdirectory.Scope, p *payment.Record, subject string) bool {
	switch scope {
	case ledgerdirectory.ScopePartner:
		return subject == ""
	case ledgerdirectory.ScopeCard:
		return subject == p.CardFingerprint && subject != ""
	case ledgerdirectory.ScopeIP:
		payer := ledgerdirectory.Payer{IP: p.PayerIP.Unmap().WithZone("")}
		want, known := payer.Subject(ledgerdirectory.ScopeIP)
		return known && subject == want
	}
	return len(subject) == 32 && strings.Trim(subject, "0123456789abcdef") == ""
}

// sumsOf returns the sums of a volume. If the sums do not exist yet, sumsOf creates them.
func (c *Check) sumsOf(name string) *sums {
	s := c.volumes[name]
	if s == nil {
		s = new(sums)
		c.volumes[name] = s
	}
	return s
}

// CheckCounter compares a stored counter of a volume or of a link with the value that the transactions require. It
// ignores all other counters.
func (c *Check) CheckCounter(name, window string, row []byte) {
	if c.checkLinkCounter(name, row) {
		return
	}
	kind, volume, _ := strings.Cut(name, "/")
	if window != "" || kind != "volume" && kind != "settled" {
		return
	}
	c.Report.Count(findings.RuleTotals, 1)
	c.storedCounters[name] = true
	amount, remainder, err := money.ReadAmount(row)
	if err != nil || len(remainder) != 0 {
		c.Report.Breach(findings.RuleTotals, "organization %v: counter %s can't be read", c.organization.ID, name)
		return
	}
	want := new(big.Int)
	if s := c.volumes[volume]; s != nil && kind == "volume" {
		want = &s.total
	} else if s != nil {
		want = &s.settled
	}
	if scan.BigAmount(amount).Cmp(want) != 0 {
		c.Report.Breach(findings.RuleTotals, "organization %v: counter %s is %v, and its transactions make it %v", c.organization.ID, name, amount, want)
	}
}

// CheckMissingCounters reports counters of volumes and links that must exist but are not stored.
func (c *Check) CheckMissingCounters() {
	c.checkMissingLinkCounters()
	for volume, s := range c.volumes {
		for name, want := range map[string]*big.Int{"volume/" + volume: &s.total, "settled/" + volume: &s.settled} {
			if want.Sign() != 0 && !c.storedCounters[name] {
				c.Report.Breach(findings.RuleTotals, "organization %v: there is no counter %s, and its transactions make it %v", c.organization.ID, name, want)
			}
		}
	}
}
