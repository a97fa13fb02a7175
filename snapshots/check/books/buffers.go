package books

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
)

// Rules 2, 4 and 5, page buffers. A page buffer holds the lines of one group, of accounts
// and of lists, that are on no page yet. Its rows belong to groups that there were, in
// parts without a gap, divided into shards or not, and hold what was booked after the lines
// of earlier groups. Each chunk of lines is where a reader looks for it, and what a page
// repeats of it is equal.

// bufferedLines is what one group's daybook has of an account or a list: its lines as
// they are stored. The same lines may be on a page by now.
type bufferedLines struct {
	group uint64
	lines []byte
}

// CheckBuffers checks an organization's daybook as it is stored, and keeps what it has
// of each account and list for the scans of their pages: rows are in the order of
// their parts and groups, and sections where a reader looks for them, in the order
// of booking.
func (c *Check) CheckBuffers() error {
	o := c.organization
	c.gathered = make(map[string][]bufferedLines)
	d := &bufferReader{Check: c, dealt: make(map[uint64]bool), times: make(map[uint64]span)}
	if err := c.Rows(o, posting.Daybooks, d.read); err != nil {
		return err
	}
	d.compareGroups()
	for _, sections := range c.gathered {
		slices.SortStableFunc(sections, func(a, b bufferedLines) int { return cmp.Compare(a.group, b.group) })
	}
	return nil
}

// span is from when to when lines were booked.
type span struct{ first, last ledger.Micros }

// bufferReader is the reading of one organization's daybook.
type bufferReader struct {
	*Check
	at    store.DayKey    // of the row that was read last
	head  []byte          // of the section that was read last; nil: none in that share and group
	page  span            // of what that share and group have of its page so far
	dealt map[uint64]bool // groups with rows of shares
	times map[uint64]span // of each group
}

func (d *bufferReader) read(key, row []byte) error {
	org := d.organization.ID
	k, ok := store.ParseDaybookKey(key)
	if !ok {
		d.Report.Breach(findings.RuleJournal, "organization %v: a daybook row with an unknown key", org)
		return nil
	}
	next := d.at
	next.Part++
	if k != next {
		d.head, d.page = nil, span{}
		if k.Part != 0 {
			d.Report.Breach(findings.RuleJournal, "organization %v: part %d of group %d's daybook does not follow another", org, k.Part, k.Group)
		}
	}
	d.at = k
	if k.Group == 0 || k.Group > d.LastGroup {
		d.Report.Breach(findings.RuleJournal, "organization %v: a daybook row of group %d, and group %d was the last", org, k.Group, d.LastGroup)
	}
	if k.Share != store.Undealt {
		d.dealt[k.Group] = true
	} else if d.dealt[k.Group] { // shares come first
		d.Report.Breach(findings.RuleJournal, "organization %v: group %d's daybook is dealt into shares, and has a row of all", org, k.Group)
	}
	return store.EachSection(bytes.Clone(row), d.section)
}

// section checks that a section is where a reader looks for it, and after what was
// booked before it.
func (d *bufferReader) section(head, lines []byte) error {
	prefix := store.PagePrefix(nil, d.organization.ID, head)
	first, last, err := store.Span(head[0], lines)
	if err != nil {
		return err
	}
	rule := ruleOf(prefix)
	if d.at.Share != store.Undealt && d.at.Share != store.Share(head) {
		d.Report.Breach(rule, "organization %v: group %d's daybook has %s in share %d, where no reader looks for it",
			d.organization.ID, d.at.Group, NameOfPages(prefix), d.at.Share)
	}
	same := bytes.Equal(head, d.head)
	if first > last || same && first <= d.page.last || !same && first < d.page.first {
		d.Report.Breach(rule, "organization %v: group %d's daybook has %s out of the order of booking", d.organization.ID, d.at.Group, NameOfPages(prefix))
	}
	if !same {
		d.head, d.page.first = head, first
	}
	d.page.last = last
	d.extend(first, last)
	d.gathered[string(prefix)] = append(d.gathered[string(prefix)], bufferedLines{d.at.Group, lines})
	return nil
}

// extend notes that lines of the group were booked then.
func (d *bufferReader) extend(first, last ledger.Micros) {
	whole, known := d.times[d.at.Group]
	if !known {
		whole = span{first, last}
	}
	d.times[d.at.Group] = span{min(whole.first, first), max(whole.last, last)}
}

// compareGroups checks that what a group's daybook has was booked after all that
// the daybooks of earlier groups have.
func (d *bufferReader) compareGroups() {
	var before uint64
	for _, group := range slices.Sorted(maps.Keys(d.times)) {
		if before != 0 && d.times[group].first <= d.times[before].last {
			d.Report.Breach(findings.RuleJournal, "organization %v: the daybook of group %d has lines that were booked before those of group %d", d.organization.ID, group, before)
		}
		before = group
	}
}

// paged strikes out what a stored page has, or should have, of the daybook: a page
// is as long as what was carried to it, in one piece.
func (c *Check) DropPaged(prefix, page []byte) {
	sections, n := c.gathered[string(prefix)], 0
	for n < len(sections) && bytes.Contains(page, sections[n].lines) {
		n++
	}
	if n > 0 {
		c.gathered[string(prefix)] = sections[n:]
	}
}

// CheckLeftInBuffers checks that what is left of the daybook, when all pages have been read,
// is what readers are shown: what they pass over because the account or the list
// has a later page must be on a page, word by word.
func (c *Check) CheckLeftInBuffers() error {
	o := c.organization
	var left []byte
	err := c.View.Gathered(o.ID, func(prefix, lines []byte) error {
		left = left[:0]
		for _, section := range c.gathered[string(prefix)] {
			left = append(left, section.lines...)
		}
		if bytes.Equal(left, lines) {
			delete(c.gathered, string(prefix))
		}
		return c.Interrupted()
	})
	if err != nil {
		return err
	}
	for _, prefix := range slices.Sorted(maps.Keys(c.gathered)) {
		if sections := c.gathered[prefix]; len(sections) > 0 {
			c.Report.Breach(ruleOf([]byte(prefix)), "organization %v: group %d's daybook has lines of %s that its pages have otherwise",
				o.ID, sections[0].group, NameOfPages([]byte(prefix)))
		}
	}
	return nil
}

// ruleOf is the rule about the lines of a page: an account's or a list's.
func ruleOf(prefix []byte) int {
	if _, ok := store.ParsePagePrefix(prefix); ok {
		return findings.RuleTotals
	}
	return findings.RuleClaims
}

// NameOfPages names the account or the list whose pages' keys begin with the prefix.
func NameOfPages(prefix []byte) string {
	if at, ok := store.ParsePagePrefix(prefix); ok {
		return fmt.Sprintf("account %s %v", at.Path, at.Asset)
	}
	partner, env, _ := store.ParseListPrefix(prefix)
	return fmt.Sprintf("the list of partner %d, %d", partner, env)
}

// ListOrder is how far the rows of a list have been read.
type ListOrder struct {
	prefix []byte
	last   ledger.Micros
}

// Follows tells whether rows are in the order of booking, and after those of the
// same list that were read right before: who looks through a list from its end
// stops at the first row that is too old.
func (s *ListOrder) Follows(prefix []byte, rows []store.Listed) bool {
	if !bytes.Equal(s.prefix, prefix) {
		s.prefix, s.last = append(s.prefix[:0], prefix...), 0
	}
	inOrder := true
	for i := range rows {
		inOrder = inOrder && rows[i].Booked > s.last
		s.last = rows[i].Booked
	}
	return inOrder
}
