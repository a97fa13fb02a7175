package posting

import (
	"mizan/ledger"
	"mizan/posting/store"
)

// size is a number of rows and a number of bytes, counted in the same way as in store.Group. The sizes of rows that are not in
// a group yet are upper bounds. So a group (changes that become durable together) is ended before it exceeds what the store
// accepts in one transaction.
type size struct{ rows, bytes int }

func (s *size) add(rows, bytes int) {
	s.rows += rows
	s.bytes += bytes
}

func (s size) plus(other size) size { return size{s.rows + other.rows, s.bytes + other.bytes} }

// take subtracts part from s if part fits into s, and otherwise returns false.
func (s *size) take(part size) bool {
	if !part.within(*s) {
		return false
	}
	s.add(-part.rows, -part.bytes)
	return true
}

func (s size) within(limit size) bool { return s.rows <= limit.rows && s.bytes <= limit.bytes }

// Upper bounds of sizes in bytes. An encoded number takes up to ten bytes, and an encoded amount up to 33.
const (
	rowSize    = 16 + 1 + 16                                 // in each row: the store's overhead, the kind, the organization
	claimSize  = rowSize + 1                                 // row of a claim, without the claim's key and owner
	countSize  = rowSize + 1 + 33                            // row of a counter, without the counter's key and window
	recordSize = rowSize + 18 + 12*10 + hashSize             // row of a record, without the payload
	partSize   = rowSize + 25                                // each further row of a long payload, without the payload
	sealedSize = rowSize + 17                                // sealed row, without the ciphertext
	dueSize    = rowSize + 1                                 // due row, without its items
	noticeRow  = rowSize + 1 + 8 + 1                         // row of notices, without the notices
	noticeMax  = 10 + 17 + 17 + 3                            // each notice in such a row, without its body
	itemSize   = 10 + 16 + 1 + 16                            // item of a due row
	listSize   = chunkSize + 17 + 2 + ledger.ListOwnerLength // new page of a list, without the rows on it
	listRow    = 10 + 16                                     // each row of a list on such a page
	pageSize   = chunkSize + 21                              // new page of an account, without path, currency and network
	lineSize   = 3*10 + 1 + 5*33                             // line of an account

	// A page-buffer row with a single chunk, without the prefix of the page's keys and without the lines. (A chunk contains the
	// lines of one page in one page-buffer row.) A stored page takes fewer bytes.
	chunkSize    = 16 + 28 + chunkLengths - 16
	chunkLengths = 2 + 3                   // length of the head, and length of the lines
	removalSize  = 16 + 28                 // removal of a page-buffer row
	shiftSize    = rowSize + 18 + lineSize // row with a line whose effective day is not its booked day

	// The row of a block (consecutive events) and the block's tree row, without the events. A tree of 2^40 events has 40
	// levels. On each level there may be one subtree on the tree's edge, and one that the block completes.
	blockSize = 2*(rowSize+8) + 1 + 10 + 32 + 3 + 2*40*(1+10+32)

	hashSize    = 32
	eventSize   = 3 + 2 + 5*10 + 18 + 3*3 + 1 // event without texts, entry and hashes
	entrySize   = 1 + 4*10
	postingSize = 1 + 2 + 3 + 33 // posting in an event, without path, currency and network

	// Upper bounds of the rows and bytes that a group needs for removing passed due rows and writing the low-water mark.
	removalRows  = maxDueRemovals + 1
	removalBytes = removalRows * (rowSize + 17)
)

// size returns an upper bound of the size that the Change adds to a group.
func (c *Change) size() (total size) {
	if c.Move != nil {
		return c.Move.size()
	}
	for i := range c.Claims {
		total.add(1, claimSize+len(c.Claims[i].Key)+len(c.Claims[i].Owner)+hashSize)
	}
	for i := range c.Counters {
		total.add(1, countSize+len(c.Counters[i].Key)+len(c.Counters[i].Window))
	}
	for i := range c.KVs {
		total.add(1, rowSize+len(c.KVs[i].Key)+len(c.KVs[i].Value))
	}
	blocks, events := 0, hashSize*len(c.Claims)
	for i := range c.Steps {
		s := &c.Steps[i]
		if i == 0 || s.Org != c.Steps[i-1].Org {
			blocks += 2 // the block with the Change's events, and the block that was open before and becomes full
		}
		total = total.plus(s.rowsSize())
		for k := range s.Events {
			bound := eventBound(&s.Events[k])
			total = total.plus(bound)
			events += bound.bytes
		}
		hashes := hashSize * (1 + len(s.Notices)) // for the record, and for the notices of each event that has any
		total.add(0, hashes)
		events += hashes
	}
	blocks += events / (store.MaxBlock / 2) // together, two consecutive blocks are always longer than MaxBlock
	total.add(2*blocks, blocks*blockSize)
	return total
}

// rowsSize returns an upper bound of the size of the rows that the Step adds, without its events.
func (s *Step) rowsSize() (total size) {
	if s.Record != nil {
		parts := len(s.Record) / store.MaxPart
		total.add(1+parts, recordSize+len(s.Record)+parts*partSize)
	}
	if s.Sealed != nil || s.RemoveSealed {
		total.add(1, sealedSize+len(s.Sealed))
	}
	if s.Due != 0 {
		total.add(1, dueSize+itemSize)
	}
	if s.List != (ledger.List{}) {
		total.add(1, listSize+listRow)
	}
	if s.Source.Kind.IsAdministration() {
		total.add(len(s.Events), (listSize+listRow)*len(s.Events))
	}
	for range s.FurtherLists {
		total.add(1, listSize+listRow)
	}
	if s.Sequence != "" {
		total.add(1, countSize+len(SequenceKey(s.Sequence)))
	}
	for i := range s.Notices {
		total.add(1, noticeRow+noticeMax+len(s.Notices[i].Body))
	}
	return total
}

func eventBound(e *ledger.Event) size {
	total := size{bytes: eventSize + len(e.Name) + len(e.From) + len(e.To)}
	if e.Entry != nil {
		total = total.plus(entryBound(e.Entry))
	}
	return total
}

// entryBound returns an upper bound of the size that an entry adds. Each posting is stored in the event and, in the worst case,
// on a new page. If the entry has an effective day, each posting may also need a row for a shifted line (a line whose effective
// day is not its booked day). A posting that may be split counts as two.
func entryBound(entry *ledger.Entry) (total size) {
	total.add(0, entrySize)
	isShifted := entry.Effective != 0
	for _, list := range [2][]ledger.Posting{entry.Postings, entry.Released} {
		for i := range list {
			p := &list[i]
			assetLength := len(p.Asset.Currency) + len(p.Asset.Network)
			total = total.plus(postingBound(len(p.Account)+assetLength, isShifted))
			if p.SplitWith != "" {
				total = total.plus(postingBound(len(p.SplitWith)+assetLength, isShifted))
			}
		}
	}
	return total
}

func postingBound(accountLength int, isShifted bool) size {
	bound := size{rows: 1, bytes: postingSize + accountLength + pageSize + accountLength + lineSize}
	if isShifted {
		bound.add(1, shiftSize+accountLength)
	}
	return bound
}
