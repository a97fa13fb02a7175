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

// For rules 2, 4 and 5 of the checker (totals, lists, journals), this file checks page buffers. A group is the
// changes that become durable with one sync. A page is a row with lines of one account or list. A page buffer has the
// lines that one group has written and that no page has yet. Each row of a page buffer must belong to an existing
// group. The rows of a group must be numbered without a gap. The lines of a group must have been booked after the lines
// of earlier groups. If a page repeats a chunk (the lines of one account or list), the page must have the same bytes.

// bufferedLines is a chunk: the lines of one account or list in the page buffer of one group, in the stored form. A page may
// repeat these lines.
type bufferedLines struct {
	group uint64
	lines []byte
}

// CheckBuffers checks the rows of an organization's page buffers, and keeps the rows' chunks of lines in memory until
// the pages are read.
func (c *Check) CheckBuffers() error {
	o := c.organization
	c.bufferedChunks = make(map[string][]bufferedLines)
	d := &bufferReader{Check: c, groupSpans: make(map[uint64]span)}
	if err := c.Rows(o, posting.PageBuffers, d.readRow); err != nil {
		return err
	}
	d.compareGroups()
	for _, chunks := range c.bufferedChunks {
		slices.SortStableFunc(chunks, func(a, b bufferedLines) int { return cmp.Compare(a.group, b.group) })
	}
	return nil
}

// span has the booked times of the first and the last of several lines.
type span struct{ first, last ledger.Micros }

// bufferReader reads one organization's page buffers.
type bufferReader struct {
	*Check
	position   store.BufferKey // key of the row that was read last
	head       []byte          // account or list of the last chunk that was read in the current group; nil if there is none yet
	pageSpan   span            // booked times of the lines of head that were read so far in the current group
	groupSpans map[uint64]span // booked times of the lines of each group
}

// readRow checks the key of one row of a page buffer, and the row's chunks.
func (b *bufferReader) readRow(key, row []byte) error {
	org := b.organization.ID
	k, ok := store.ParseBufferKey(key)
	if !ok {
		b.Report.Breach(findings.RuleJournal, "organization %v: a page buffer row with an unknown key", org)
		return nil
	}
	followingKey := b.position
	followingKey.Part++
	if k != followingKey {
		b.head, b.pageSpan = nil, span{}
		if k.Part != 0 {
			b.Report.Breach(findings.RuleJournal, "organization %v: part %d of group %d's page buffer does not follow another", org, k.Part, k.Group)
		}
	}
	b.position = k
	if k.Group == 0 || k.Group > b.LastGroup {
		b.Report.Breach(findings.RuleJournal, "organization %v: a page buffer row of group %d, and group %d was the last", org, k.Group, b.LastGroup)
	}
	return store.EachChunk(bytes.Clone(row), b.checkChunk)
}

// checkChunk checks that a chunk's lines were booked after the previous lines. head is the stored form of the chunk's account or list.
func (b *bufferReader) checkChunk(head, lines []byte) error {
	prefix := store.PagePrefix(nil, b.organization.ID, head)
	first, last, err := store.BookedTimes(head[0], lines)
	if err != nil {
		return err
	}
	rule := ruleOf(prefix)
	sameHead := bytes.Equal(head, b.head)
	if first > last || sameHead && first <= b.pageSpan.last || !sameHead && first < b.pageSpan.first {
		b.Report.Breach(rule, "organization %v: group %d's page buffer has %s out of the order of booking", b.organization.ID, b.position.Group, NameOfPages(prefix))
	}
	if !sameHead {
		b.head, b.pageSpan.first = head, first
	}
	b.pageSpan.last = last
	b.extendGroupSpan(first, last)
	b.bufferedChunks[string(prefix)] = append(b.bufferedChunks[string(prefix)], bufferedLines{b.position.Group, lines})
	return nil
}

// extendGroupSpan records the booked times of more lines of the current group.
func (b *bufferReader) extendGroupSpan(first, last ledger.Micros) {
	groupSpan, known := b.groupSpans[b.position.Group]
	if !known {
		groupSpan = span{first, last}
	}
	b.groupSpans[b.position.Group] = span{min(groupSpan.first, first), max(groupSpan.last, last)}
}

// compareGroups checks that the lines in a group's buffer rows were booked after the lines of all earlier groups.
func (b *bufferReader) compareGroups() {
	var previous uint64
	for _, group := range slices.Sorted(maps.Keys(b.groupSpans)) {
		if previous != 0 && b.groupSpans[group].first <= b.groupSpans[previous].last {
			b.Report.Breach(findings.RuleJournal, "organization %v: the page buffer of group %d has lines that were booked before those of group %d", b.organization.ID, group, previous)
		}
		previous = group
	}
}

// DropFlushedChunks removes from memory the chunks that a stored page repeats. The writer appends lines to a
// page in whole chunks, so a page that repeats a chunk contains it byte for byte.
func (c *Check) DropFlushedChunks(prefix, page []byte) {
	chunks, n := c.bufferedChunks[string(prefix)], 0
	for n < len(chunks) && bytes.Contains(page, chunks[n].lines) {
		n++
	}
	if n > 0 {
		c.bufferedChunks[string(prefix)] = chunks[n:]
	}
}

// CheckLeftInBuffers must be called after all pages have been read. It checks that the chunks left in memory are exactly the
// chunks that readers of the store show. Readers ignore a chunk if its account or list has a later page. A page must repeat
// such a chunk byte for byte, so the chunk is not in memory any more.
func (c *Check) CheckLeftInBuffers() error {
	o := c.organization
	var inMemory []byte
	err := c.View.BufferedPages(o.ID, func(prefix, lines []byte) error {
		inMemory = inMemory[:0]
		for _, chunk := range c.bufferedChunks[string(prefix)] {
			inMemory = append(inMemory, chunk.lines...)
		}
		if bytes.Equal(inMemory, lines) {
			delete(c.bufferedChunks, string(prefix))
		}
		return c.Interrupted()
	})
	if err != nil {
		return err
	}
	for _, prefix := range slices.Sorted(maps.Keys(c.bufferedChunks)) {
		if chunks := c.bufferedChunks[prefix]; len(chunks) > 0 {
			c.Report.Breach(ruleOf([]byte(prefix)), "organization %v: group %d's page buffer has lines of %s that its pages have otherwise",
				o.ID, chunks[0].group, NameOfPages([]byte(prefix)))
		}
	}
	return nil
}

// ruleOf returns the number of the rule that is broken if there is a fault in the pages with this prefix: 2 (totals)
// for an account, 4 (lists) for a list.
func ruleOf(prefix []byte) int {
	if _, ok := store.ParsePagePrefix(prefix); ok {
		return findings.RuleTotals
	}
	return findings.RuleClaims
}

// NameOfPages names the account or the list whose pages have keys with the prefix.
func NameOfPages(prefix []byte) string {
	if accountID, ok := store.ParsePagePrefix(prefix); ok {
		return fmt.Sprintf("account %s %v", accountID.Path, accountID.Asset)
	}
	list, _ := store.ParseListPrefix(prefix)
	return fmt.Sprintf("list %v", list)
}

// ListOrder is the position up to which the rows of a list have been read.
type ListOrder struct {
	prefix     []byte
	lastBooked ledger.Micros
}

// Follows tells whether rows are in the order of booking and were booked after the previous rows of the same list. A reader
// goes backward through the list and stops at the first row that is older than the rows that it looks for. If rows were out of
// order, the reader would stop too early.
func (o *ListOrder) Follows(prefix []byte, rows []store.ListRow) bool {
	if !bytes.Equal(o.prefix, prefix) {
		o.prefix, o.lastBooked = append(o.prefix[:0], prefix...), 0
	}
	inOrder := true
	for i := range rows {
		inOrder = inOrder && rows[i].Booked > o.lastBooked
		o.lastBooked = rows[i].Booked
	}
	return inOrder
}
