package check

import (
	"bytes"
	"math/big"
	"strings"

	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// limit is what the checker knows of a limit that bounds transactions.
type limit struct {
	setting
	id       ledger.ID
	active   bool
	kind     words.LimitKind
	scope    words.Scope
	partner  int64
	terminal []byte
	kindOf   string // payment or payout; empty: both
	asset    money.Asset
}

// sums are the two counters of a volume as transactions make them.
type sums struct{ counted, settled big.Int }

// bounds tells whether the limit is about transactions like this one.
func (l *limit) bounds(p *payment.Record) bool {
	return l.partner == p.Partner && l.asset == p.Asset && (l.kindOf == "" || l.kindOf == p.Type.String()) &&
		(len(l.terminal) == 0 || bytes.Equal(l.terminal, p.Terminal[:]))
}

// inForceFor tells whether a transaction was surely judged by the limit: it has
// been in force since before, and whose it is is in the record.
func (l *limit) inForceFor(p *payment.Record) bool {
	known := l.scope == words.ScopePartner || l.scope == words.ScopeCard && p.CardPrint != "" || l.scope == words.ScopeIP && p.PayerIP.IsValid()
	return l.active && l.kind.Volume() && known && p.Attempted >= l.updated+inFlight
}

// countsFor tells whether a transaction counts towards volumes, and whether that
// has settled.
func countsFor(p *payment.Record) (counts, settled bool) {
	switch p.Status {
	case payment.Charged, payment.Refunding, payment.Refunded, payment.Reversed:
		return p.ReversalOf == ledger.ID{}, true
	}
	return unsettled(p) && p.Status != payment.Created, false
}

// checkVolumes checks which volumes a transaction counts towards, and adds it to
// these: the limits in force for it each once, and no other's.
func (c *checker) checkVolumes(r *record, p *payment.Record) {
	counts, settled := countsFor(p)
	if !counts && len(p.Volumes) > 0 {
		c.faulty(r, "is %q, and counts towards volumes", p.Status)
	}
	org := r.organization.id
	seen := make(map[ledger.ID]bool, len(p.Volumes))
	for i := range p.Volumes {
		v := &p.Volumes[i]
		if seen[v.Limit] {
			c.faulty(r, "counts twice towards limit %v", v.Limit)
		}
		seen[v.Limit] = true
		c.checkVolume(r, p, v)
		if !counts {
			continue
		}
		amount, s := settledAmount(p), r.organization.volume(v.Limit.String()+"/"+v.Window+"/"+v.Subject)
		if s.counted.Add(&s.counted, amount); settled {
			s.settled.Add(&s.settled, amount)
		}
	}
	for _, l := range c.directory.limits[numbered{org, p.Partner}] {
		if counts && !seen[l.id] && l.bounds(p) && l.inForceFor(p) {
			c.faulty(r, "does not count towards limit %v, which bounds it", l.id)
		}
	}
}

// checkVolume checks one volume that a transaction counts towards. Of a partner
// whom the directory does not have nobody knows the limits.
func (c *checker) checkVolume(r *record, p *payment.Record, v *payment.Volume) {
	var of *limit
	for _, l := range c.directory.limits[numbered{r.organization.id, p.Partner}] {
		if l.id == v.Limit {
			of = l
		}
	}
	if of == nil {
		if c.directory.partner(r.organization.id, p.Partner) != nil {
			c.faulty(r, "counts towards limit %v, which its partner does not have", v.Limit)
		}
		return
	}
	form := map[words.LimitKind]string{words.DailyVolume: "2006-01-02", words.MonthlyVolume: "2006-01"}[of.kind]
	from, to := (r.stamp.Started - inFlight).Time().Format(form), r.stamp.Updated.Time().Format(form)
	switch {
	case !of.bounds(p):
		c.faulty(r, "counts towards limit %v, which does not bound it", of.id)
	case form == "" || v.Window < from || v.Window > to || len(v.Window) != len(form):
		c.faulty(r, "counts in the window %q of limit %v, and was not routed then", v.Window, of.id)
	case !subjectOf(of.scope, p, v.Subject):
		c.faulty(r, "counts towards limit %v as somebody else", of.id)
	}
}

// subjectOf tells whether the subject may be the transaction's in the scope. A
// card's is in the record; the others are hashes of what a partner sent.
func subjectOf(scope words.Scope, p *payment.Record, subject string) bool {
	switch scope {
	case words.ScopePartner:
		return subject == ""
	case words.ScopeCard:
		return subject == p.CardPrint && subject != ""
	case words.ScopeIP:
		of := words.Payer{IP: p.PayerIP.Unmap().WithZone("")}
		want, known := of.Subject(words.ScopeIP)
		return known && subject == want
	}
	return len(subject) == 32 && strings.Trim(subject, "0123456789abcdef") == ""
}

// volume finds the sums of a volume.
func (o *organization) volume(name string) *sums {
	s := o.volumes[name]
	if s == nil {
		s = new(sums)
		o.volumes[name] = s
	}
	return s
}

// counters compares the stored counters of volumes with what the transactions
// make of them. What the headroom is to be only its guards' owners know.
func (c *checker) counters(o *organization) error {
	const head = 1 + 16
	stored := make(map[string]bool)
	err := c.rows(o, posting.Counters, func(key, row []byte) error {
		name, window, _ := strings.Cut(string(key[min(head, len(key)):]), "\x00")
		if c.contractCounter(o, name, window, row) {
			return nil
		}
		kind, volume, _ := strings.Cut(name, "/")
		if window != "" || kind != "volume" && kind != "settled" {
			return nil
		}
		c.report.count(ruleTotals, 1)
		stored[name] = true
		amount, rest, err := money.ReadAmount(row)
		if err != nil || len(rest) != 0 {
			c.report.breach(ruleTotals, "organization %v: counter %s can't be read", o.id, name)
			return nil
		}
		want := new(big.Int)
		if s := o.volumes[volume]; s != nil && kind == "volume" {
			want = &s.counted
		} else if s != nil {
			want = &s.settled
		}
		if large(amount).Cmp(want) != 0 {
			c.report.breach(ruleTotals, "organization %v: counter %s is %v, and its transactions make it %v", o.id, name, amount, want)
		}
		return nil
	})
	for volume, s := range o.volumes {
		for name, want := range map[string]*big.Int{"volume/" + volume: &s.counted, "settled/" + volume: &s.settled} {
			if want.Sign() != 0 && !stored[name] {
				c.report.breach(ruleTotals, "organization %v: there is no counter %s, and its transactions make it %v", o.id, name, want)
			}
		}
	}
	c.missingCounters(o)
	return err
}
