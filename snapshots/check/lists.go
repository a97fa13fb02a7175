package check

import (
	"encoding/binary"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/books"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 4, lists. Lists show each transaction twice, at its creation and at its last event, and
// each settlement, subscription and contract once, in the right list. Their rows are in the
// order of booking, on pages and in page buffers.

// lists checks an organization's lists, and that every record is in the lists that must show
// it.
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
	err = c.View.BufferedPages(o.ID, func(prefix, rows []byte) error {
		if _, ok := store.ParsePagePrefix(prefix); !ok {
			c.list(&order, prefix, rows)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for source, h := range o.Histories.All() {
		shown := source.Kind == ledger.Transaction || source.Kind == ledger.Settlement && h.ListHash != 0
		rows := scan.ListedAtCreation | scan.ListedAtLastEvent
		if source.Kind == ledger.Subscription {
			shown, rows = true, scan.ListedAtCreation // a subscription is listed at its creation only
		}
		if source.Kind == ledger.Contract {
			shown, rows = true, scan.ListedAtCreation
			if h.Marks&scan.HasRow != 0 && c.contracts.LifecycleOf(h).ListHash != 0 {
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
		c.contracts.CheckListedParties(partner, listed)
		return listed
	}
	list := o.Histories.ListOf(partner, money.Env(env))
	for i := range listed {
		c.listed(scan.KindListed(env), list, &listed[i])
	}
	return listed
}

// listed checks one row of a list.
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
