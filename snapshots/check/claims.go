package check

import (
	"encoding/binary"
	"strconv"

	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/books"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 4, claims. Every claim names one existing record that has that key, and every record
// with such a key has its claim.

// owners are the kinds of records that claims of a kind may name, in the
// claim's own organization.
var owners = map[ledger.ClaimKind][]ledger.Kind{
	ledger.ClaimTxID:       {ledger.Transaction},
	ledger.ClaimLogin:      {ledger.Partner, ledger.User},
	ledger.ClaimSettlement: {ledger.Settlement},
	ledger.ClaimKeyHash:    {ledger.APIKey, ledger.Session},
}

// claims checks that every claim names one existing thing that has the key, and
// that every thing with a key has its claim.
func (c *orgCheck) claims() error {
	o := c.organization
	const head = 1 + 16
	err := c.Rows(o, posting.Claims, func(key, row []byte) error {
		c.Report.Counts.Claims++
		c.Report.Count(findings.RuleClaims, 1)
		if len(key) <= head+1 {
			c.Report.Breach(findings.RuleClaims, "organization %v: a claim without a key", o.ID)
			return nil
		}
		c.claimStored(key, row)
		c.claim(ledger.ClaimKind(key[head]), string(key[head+1:]), row)
		return nil
	})
	if err != nil {
		return err
	}
	for source, at := range o.Histories.Index {
		h := o.Histories.Slab.At(at)
		if h.ClaimKind != 0 && h.Marks&scan.HasClaim == 0 {
			c.Report.Breach(findings.RuleClaims, "organization %v: %s has a key (%c) and no claim on it", o.ID, scan.Named(source), h.ClaimKind)
		}
	}
	return nil
}

func (c *orgCheck) claim(kind ledger.ClaimKind, key string, owner []byte) {
	o := c.organization
	if kind == ledger.ClaimIdempotency {
		c.keyUsed(key, owner)
		return
	}
	if len(owner) != len(ledger.ID{}) {
		c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) that names nothing", o.ID, kind)
		return
	}
	id := ledger.ID(owner)
	if kind == ledger.ClaimNumber && o.ID == words.PlatformOrg {
		c.directory.Claimed[key] = id
		return
	}
	hash := o.Histories.Hash(byte(kind), key)
	for _, k := range owners[kind] {
		h := o.Histories.Find(ledger.Source{Kind: k, ID: id})
		if h == nil || h.Marks&scan.HasRow == 0 {
			continue
		}
		if h.ClaimKind != kind || h.ClaimHash != hash {
			c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) names %s, which has another key", o.ID, kind, scan.Named(ledger.Source{Kind: k, ID: id}))
			return
		}
		h.Marks |= scan.HasClaim
		return
	}
	c.Report.Breach(findings.RuleClaims, "organization %v: a claim (%c) names %v, which is not there", o.ID, kind, id)
}

// checkNumbers compares the platform's claims on partner numbers with the
// partners of all organizations.
func (c *checker) checkNumbers() error {
	for number, id := range c.directory.Numbers {
		text := strconv.FormatInt(number, 10)
		if owner, found := c.directory.Claimed[text]; !found || owner != id {
			c.Report.Breach(findings.RuleClaims, "partner %v has number %d and no claim on it", id, number)
		}
		delete(c.directory.Claimed, text)
	}
	for _, id := range c.directory.Claimed {
		c.Report.Breach(findings.RuleClaims, "a claim on a partner number names %v, which has it not", id)
	}
	return nil
}

// lists checks that the lists of transactions show every transaction of a partner,
// at its creation and at its last event, and nobody else's; and that those of
// settlements, of subscriptions and of contracts show each once.
func (c *orgCheck) lists() error {
	o := c.organization
	var order books.ListOrder
	err := c.Rows(o, posting.Lists, func(key, row []byte) error {
		prefix := key[:max(0, len(key)-8)]
		c.books.DropPaged(prefix, row)
		listed := c.list(&order, prefix, row)
		if len(listed) > 0 && ledger.Micros(binary.BigEndian.Uint64(key[len(prefix):])) != listed[0].Booked {
			c.Report.Breach(findings.RuleClaims, "organization %v: a list lies at another time than its first row", o.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.View.Gathered(o.ID, func(prefix, rows []byte) error {
		if _, ok := store.ParsePagePrefix(prefix); !ok {
			c.list(&order, prefix, rows)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for source, at := range o.Histories.Index {
		h := o.Histories.Slab.At(at)
		shown := source.Kind == ledger.Transaction || source.Kind == ledger.Settlement && h.ListHash != 0
		rows := scan.ListedAtCreation | scan.ListedAtLastEvent
		if source.Kind == ledger.Subscription {
			shown, rows = true, scan.ListedAtCreation // it is listed as it was created, and never again
		}
		if source.Kind == ledger.Contract {
			shown, rows = true, scan.ListedAtCreation
			if h.Marks&scan.HasRow != 0 && c.contracts.LifecycleOf(h).ListBalance != 0 {
				c.Report.Breach(findings.RuleClaims, "organization %v: %s is not once in the lists of its environment and of each who has a part in it, and in no other", o.ID, scan.Named(source))
			}
		}
		if shown && h.Marks&scan.HasRow != 0 && h.Marks&rows != rows {
			c.Report.Breach(findings.RuleClaims, "organization %v: %s is not listed", o.ID, scan.Named(source))
		}
	}
	return nil
}

// list checks rows of the list whose keys begin with the prefix, and returns them.
func (c *orgCheck) list(order *books.ListOrder, prefix, row []byte) []store.Listed {
	o := c.organization
	listed, err := store.DecodeListed(row)
	partner, env, ok := store.ParseListPrefix(prefix)
	if err != nil || !ok || len(listed) == 0 {
		c.Report.Breach(findings.RuleClaims, "organization %v: a list of an unknown form", o.ID)
		return nil
	}
	if !order.Follows(prefix, listed) {
		c.Report.Breach(findings.RuleClaims, "organization %v: %s is out of the order of booking", o.ID, books.NameOfPages(prefix))
	}
	if env == scan.ListOfPerson {
		c.contracts.CheckListedPeople(partner, listed)
		return listed
	}
	list := o.Histories.ListOf(partner, money.Env(env))
	for i := range listed {
		c.listed(scan.KindListed(env), list, &listed[i])
	}
	return listed
}

func (c *orgCheck) listed(kind ledger.Kind, list uint32, row *store.Listed) {
	o := c.organization
	source := ledger.Source{Kind: kind, ID: row.ID}
	h := o.Histories.Find(source)
	switch {
	case h == nil || h.Marks&scan.HasRow == 0:
		c.Report.Breach(findings.RuleClaims, "organization %v: a list shows %s, which is not there", o.ID, scan.Named(source))
		return
	case h.ListHash != list:
		c.Report.Breach(findings.RuleClaims, "organization %v: %s is listed where it does not belong", o.ID, scan.Named(source))
	case row.First && h.Marks&scan.ListedAtCreation != 0, kind != ledger.Transaction && !row.First:
		c.Report.Breach(findings.RuleClaims, "organization %v: %s is listed twice", o.ID, scan.Named(source))
	}
	if row.First {
		h.Marks |= scan.ListedAtCreation
	}
	if row.Booked == h.Updated {
		h.Marks |= scan.ListedAtLastEvent
	}
}
