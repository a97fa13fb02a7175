package check

import (
	"encoding/binary"
	"iter"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// groups checks that the store's groups are a chain without a gap, up to the
// group that was durable last.
func (c *checker) groups(last uint64, hash [32]byte) error {
	var n uint64
	var chain [32]byte
	return c.reading(ruleJournal, func() error {
		err := c.view.Groups(func(g posting.GroupRow) (bool, error) {
			if g.N != n+1 || g.Previous != chain {
				c.report.breach(ruleJournal, "group %d does not follow group %d", g.N, n)
			}
			n, chain = g.N, g.Hash
			return true, c.alive()
		})
		if err == nil && (n != last || chain != hash) {
			c.report.breach(ruleJournal, "the last group is %d, and group %d was durable", n, last)
		}
		return err
	})
}

// journal reads an organization's events in order: it checks their order and
// their tree, and lets the books and the histories follow them.
func (c *orgCheck) journal() error {
	o := c.organization
	trees, stop := iter.Pull(c.treeRows())
	defer stop()
	j := &journal{orgCheck: c, notices: c.deliveries.noticesOf()}
	j.months = c.books.monthsOf()
	j.checkpoints = c.books.checkpointsOf()
	defer j.notices.stop()
	defer j.checkpoints.stop()
	tree, more := trees()
	err := c.view.Rows(o.id, posting.Blocks, func(key, row []byte) (bool, error) {
		block, err := store.DecodeBlock(key, row)
		if err != nil {
			c.report.breach(ruleJournal, "organization %v: %v", o.id, err)
			return true, nil
		}
		for more && tree.first < block.First {
			c.report.breach(ruleJournal, "organization %v: a tree row at %d without a block", o.id, tree.first)
			tree, more = trees()
		}
		var own []byte
		if more && tree.first == block.First {
			own = tree.row
		}
		if err := j.block(&block, own); err != nil {
			return false, err
		}
		if own != nil {
			tree, more = trees()
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for ; more; tree, more = trees() {
		if tree.err != nil {
			return tree.err
		}
		c.report.breach(ruleJournal, "organization %v: a tree row at %d without a block", o.id, tree.first)
	}
	j.endStored()
	j.notices.end()
	j.checkpoints.end()
	root, err := j.forest.tree.root()
	c.digest.head(uint64(j.forest.tree.size), root)
	c.report.Counts.Events += j.events
	c.report.count(ruleJournal, j.events)
	return err
}

type treeRow struct {
	first uint64
	row   []byte // until the next one is asked for
	err   error
}

// treeRows are an organization's tree rows, and at the end the scan's error.
func (c *orgCheck) treeRows() iter.Seq[treeRow] {
	return func(yield func(treeRow) bool) {
		err := c.view.Rows(c.organization.id, posting.Trees, func(key, row []byte) (bool, error) {
			return yield(treeRow{first: binary.BigEndian.Uint64(key[len(key)-8:]), row: row}), nil
		})
		if err != nil {
			yield(treeRow{first: ^uint64(0), err: err})
		}
	}
}

// journal is the reading of one organization's journal.
type journal struct {
	*orgCheck
	forest      forest
	last        uint64 // seq
	time        ledger.Micros
	events      uint64
	notices     *notices
	months      *months
	checkpoints *checkpoints
	awaited     ledger.Source // whose next event must come at once; zero: none's
}

// block checks one block and all events in it.
func (j *journal) block(block *store.BlockRow, tree []byte) error {
	org := j.organization.id
	if block.First != j.last+1 {
		j.report.breach(ruleJournal, "organization %v: the block at %d follows event %d", org, block.First, j.last)
	}
	j.forest.begin(block.First)
	err := block.Each(func(seq uint64, canonical []byte) (bool, error) {
		j.last = seq
		if err := j.forest.add(canonical); err != nil {
			return false, err
		}
		j.event(seq, canonical)
		return true, j.alive()
	})
	if err != nil {
		return err
	}
	if j.forest.lost {
		return nil
	}
	if wrong := j.forest.compare(block.Root, tree); wrong != "" {
		j.report.breach(ruleJournal, "organization %v: the block at %d has %s", org, block.First, wrong)
	}
	return nil
}

func (j *journal) event(seq uint64, canonical []byte) {
	j.events++
	org := j.organization.id
	e, err := ledger.ParseCanonical(canonical)
	if err != nil {
		j.report.breach(ruleJournal, "organization %v: event %d: %v", org, seq, err)
		return
	}
	if e.Seq != seq {
		j.report.breach(ruleJournal, "organization %v: event %d calls itself %d", org, seq, e.Seq)
	}
	if e.Booked <= j.time {
		j.report.breach(ruleJournal, "organization %v: event %d is not later than the one before", org, seq)
	}
	j.time = e.Booked
	closed := j.books.book(&e)
	j.followStored(&e)
	j.follow(&e, closed)
	j.months.follow(&e, closed)
	j.contracts.keep(&e)
	j.notices.follow(&e)
	j.checkpoints.follow(&e)
}
