package check

import (
	"encoding/binary"
	"iter"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/books"
	"mizan/snapshots/check/deliveries"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/turnover"
)

// For rule 5 of the checker (journals, hash trees, groups), this file checks journals. An organization's events must
// be numbered without a gap, and their booked times must strictly increase. Each block of events must begin where the
// previous block ends. Groups (a group has the changes that became durable with one sync) must be a chain of hashes
// up to the last durable group.

// checkGroups checks that the store's groups are a chain without a gap up to the last durable group, whose number
// and hash are given.
func (c *checker) checkGroups(durable uint64, durableHash [32]byte) error {
	var previous uint64
	var previousHash [32]byte
	return c.ReadSection(findings.RuleJournal, func() error {
		err := c.View.Groups(func(g posting.GroupRow) (bool, error) {
			if g.N != previous+1 || g.Previous != previousHash {
				c.Report.Breach(findings.RuleJournal, "group %d does not follow group %d", g.N, previous)
			}
			previous, previousHash = g.N, g.Hash
			return true, c.Interrupted()
		})
		if err == nil && (previous != durable || previousHash != durableHash) {
			c.Report.Breach(findings.RuleJournal, "the last group is %d, and group %d was durable", previous, durable)
		}
		return err
	})
}

// checkJournal reads an organization's events, checks their order and their hash tree, and passes each event to the
// rules that need events.
func (c *orgCheck) checkJournal() error {
	o := c.organization
	nextTreeRow, stop := iter.Pull(c.treeRows())
	defer stop()
	j := &journal{orgCheck: c, notices: c.deliveries.ReadNotices()}
	j.months = c.books.ReadMonths()
	j.checkpoints = c.books.ReadCheckpoints()
	j.turnover = turnover.New(c.Scan, o)
	defer j.notices.Stop()
	defer j.checkpoints.Stop()
	tree, hasTreeRow := nextTreeRow()
	err := c.View.Rows(o.ID, posting.Blocks, func(key, row []byte) (bool, error) {
		block, err := store.DecodeBlock(key, row)
		if err != nil {
			c.Report.Breach(findings.RuleJournal, "organization %v: %v", o.ID, err)
			return true, nil
		}
		for hasTreeRow && tree.firstSeq < block.First {
			c.Report.Breach(findings.RuleJournal, "organization %v: a tree row at %d without a block", o.ID, tree.firstSeq)
			tree, hasTreeRow = nextTreeRow()
		}
		var treeOfBlock []byte
		if hasTreeRow && tree.firstSeq == block.First {
			treeOfBlock = tree.row
		}
		if err := j.checkBlock(&block, treeOfBlock); err != nil {
			return false, err
		}
		if treeOfBlock != nil {
			tree, hasTreeRow = nextTreeRow()
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for ; hasTreeRow; tree, hasTreeRow = nextTreeRow() {
		if tree.err != nil {
			return tree.err
		}
		c.Report.Breach(findings.RuleJournal, "organization %v: a tree row at %d without a block", o.ID, tree.firstSeq)
	}
	j.checkLastStep()
	j.notices.End()
	j.checkpoints.End()
	j.turnover.End()
	root, err := j.treeRows.tree.root()
	c.Digest.AddHead(uint64(j.treeRows.tree.size), root)
	c.Report.Counts.Events += j.events
	c.events = j.events
	c.Report.Count(findings.RuleJournal, j.events)
	return err
}

// treeRow is a row of an organization's hash tree. Each block of events has one tree row.
type treeRow struct {
	firstSeq uint64 // seq of the block's first event
	row      []byte // valid until the next row is read
	err      error
}

// treeRows iterates over an organization's tree rows. If reading fails, the last element has the error.
func (c *orgCheck) treeRows() iter.Seq[treeRow] {
	return func(yield func(treeRow) bool) {
		err := c.View.Rows(c.organization.ID, posting.Trees, func(key, row []byte) (bool, error) {
			return yield(treeRow{firstSeq: binary.BigEndian.Uint64(key[len(key)-8:]), row: row}), nil
		})
		if err != nil {
			yield(treeRow{firstSeq: ^uint64(0), err: err})
		}
	}
}

// journal is the state of checkJournal after the events that it has read.
type journal struct {
	*orgCheck
	treeRows    treeRowChecker
	lastSeq     uint64        // seq of the last event
	lastBooked  ledger.Micros // booked time of the last event
	events      uint64
	notices     *deliveries.Notices
	months      *books.Months
	checkpoints *books.Checkpoints
	turnover    *turnover.Check
	// If the last event has no hash of its record, unhashedRecord is this record, and the record's next event must
	// follow immediately. Otherwise unhashedRecord is zero.
	unhashedRecord ledger.Source
}

// checkBlock checks one block and its events. tree is the block's tree row, or nil if it is missing.
func (j *journal) checkBlock(block *store.BlockRow, tree []byte) error {
	org := j.organization.ID
	if block.First != j.lastSeq+1 {
		j.Report.Breach(findings.RuleJournal, "organization %v: the block at %d follows event %d", org, block.First, j.lastSeq)
	}
	j.treeRows.beginBlock(block.First)
	err := block.Each(func(seq uint64, canonical []byte) (bool, error) {
		j.lastSeq = seq
		if err := j.treeRows.add(canonical); err != nil {
			return false, err
		}
		j.checkEvent(seq, canonical)
		return true, j.Interrupted()
	})
	if err != nil {
		return err
	}
	if j.treeRows.hasWrongRoot {
		return nil
	}
	if fault := j.treeRows.compare(block.Root, tree); fault != "" {
		j.Report.Breach(findings.RuleJournal, "organization %v: the block at %d has %s", org, block.First, fault)
	}
	return nil
}

// checkEvent checks one event and passes it to the rules that need events.
func (j *journal) checkEvent(seq uint64, canonical []byte) {
	j.events++
	j.CountWork(1)
	org := j.organization.ID
	e, err := ledger.ParseCanonical(canonical)
	if err != nil {
		j.Report.Breach(findings.RuleJournal, "organization %v: event %d: %v", org, seq, err)
		return
	}
	if e.Seq != seq {
		j.Report.Breach(findings.RuleJournal, "organization %v: event %d is stored with the number %d", org, seq, e.Seq)
	}
	if e.Booked <= j.lastBooked {
		j.Report.Breach(findings.RuleJournal, "organization %v: event %d is not later than the one before", org, seq)
	}
	j.lastBooked = e.Booked
	closedHold := j.books.Book(&e)
	j.followStoredHashes(&e)
	j.followTransition(&e, closedHold)
	j.followAuthor(&e)
	j.months.Follow(&e, closedHold)
	j.contracts.FollowOwnAccounts(&e)
	j.notices.Follow(&e)
	j.checkpoints.Follow(&e, closedHold)
	j.turnover.Follow(&e)
	j.search.Follow(&e)
}
