package check

import (
	"encoding/binary"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/books"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 4 of the checker (claims, lists, numbers), this file checks lists. A transaction has several rows in each
// of its lists: one for its creation and one for each later change, with the booked time of the change. A settlement,
// subscription or contract has one row in each of its lists. The list of the administration's changes (authors.go) has a row for
// each event. The rows of a list must be in the order of booking. They are on the list's pages or, until a page has them, in
// page buffers, which many lists share.

// checkLists checks an organization's lists, and that every record is in the lists that must show the record.
func (c *orgCheck) checkLists() error {
	o := c.organization
	var order books.ListOrder
	err := c.Rows(o, posting.Lists, func(key, row []byte) error {
		prefix := key[:max(0, len(key)-8)]
		c.books.DropFlushedChunks(prefix, row)
		listed := c.checkListRows(&order, prefix, row)
		if len(listed) > 0 && ledger.Micros(binary.BigEndian.Uint64(key[len(prefix):])) != listed[0].Booked {
			c.Report.Breach(findings.RuleClaims, "organization %v: a list has another time in its key than its first row", o.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.View.BufferedPages(o.ID, func(prefix, rows []byte) error {
		if _, ok := store.ParsePagePrefix(prefix); !ok {
			c.checkListRows(&order, prefix, rows)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.checkChangesListed()
	for source, h := range o.Histories.All() {
		if h.Marks&scan.HasRow == 0 {
			continue
		}
		if source.Kind == ledger.Contract && c.contracts.LifecycleOf(h).ListHash != 0 {
			c.Report.Breach(findings.RuleClaims, "organization %v: %s is not exactly once in the list of its environment and of each of its parties, or is in another list", o.ID, scan.NameOf(source))
		}
		if !o.Histories.IsListed(h, source.Kind == ledger.Transaction) {
			c.Report.Breach(findings.RuleClaims, "organization %v: %s is not listed", o.ID, scan.NameOf(source))
		}
	}
	return nil
}

// checkListRows checks one stored row of the list with this key prefix, and returns the entries in the row.
func (c *orgCheck) checkListRows(order *books.ListOrder, prefix, row []byte) []store.ListRow {
	o := c.organization
	listed, err := store.DecodeListed(row)
	list, ok := store.ParseListPrefix(prefix)
	if err != nil || !ok || len(listed) == 0 {
		c.Report.Breach(findings.RuleClaims, "organization %v: a list of an unknown form", o.ID)
		return nil
	}
	if !order.Follows(prefix, listed) {
		c.Report.Breach(findings.RuleClaims, "organization %v: %s is out of the order of booking", o.ID, books.NameOfPages(prefix))
	}
	if list.Kind() == ledger.Contract && !contractactor.IsProductList(list) {
		c.contracts.CheckListedParties(list, listed)
		return listed
	}
	for i := range listed {
		if list == ledger.AdministrationChanges {
			c.followChangeRow(&listed[i])
			continue
		}
		c.checkListed(list, &listed[i])
	}
	return listed
}

// checkListed checks one entry of a list.
func (c *orgCheck) checkListed(list ledger.List, row *store.ListRow) {
	o := c.organization
	source := ledger.Source{Kind: list.Kind(), ID: row.ID}
	h := o.Histories.Find(source)
	if h == nil || h.Marks&scan.HasRow == 0 {
		c.Report.Breach(findings.RuleClaims, "organization %v: a list shows %s, which does not exist", o.ID, scan.NameOf(source))
		return
	}
	o.Histories.FollowListed(h, row.Booked)
	listBit, ok := o.Histories.MustShow(list, h)
	switch {
	case !ok:
		c.Report.Breach(findings.RuleClaims, "organization %v: %s is listed where it does not belong", o.ID, scan.NameOf(source))
		return
	case row.IsCreation && h.ListedAtCreation&listBit != 0, source.Kind != ledger.Transaction && !row.IsCreation:
		c.Report.Breach(findings.RuleClaims, "organization %v: %s is listed twice", o.ID, scan.NameOf(source))
	}
	if row.IsCreation {
		h.ListedAtCreation |= listBit
	}
	if row.Booked == h.UpdatedAt {
		h.ListedAtLastEvent |= listBit
	}
}
