package books

import (
	"bytes"
	"iter"
	"math"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 2 of the checker (totals, pages, months), this file checks checkpoints of the trial balance. A checkpoint
// belongs to an event, and may have a base, which is an earlier checkpoint. A checkpoint has what a range of events
// adds to each account's totals. The range begins after the event of the base and ends with the checkpoint's own
// event. The rows of a checkpoint are a head, which describes it, parts with the accounts, and index rows, which list
// the parts. A missing checkpoint is no fault: the server writes checkpoints when it has time.

// Checkpoints reads an organization's checkpoints along with its events. It recomputes each
// checkpoint and compares it row by row with the stored one.
//
// A checkpoint is computed from the checkpoints between its base and itself, which the check has already found to be
// right, and from the events since the last of them. So only the accounts that moved since the last checkpoint are in
// memory. If a comparison fails, a second pass over the events keeps the recomputed checkpoints in memory, and reports
// the fault.
type Checkpoints struct {
	*Check
	isSecondPass bool
	hasMismatch  bool                        // a comparison has failed in the first pass
	movements    map[string]*ledger.Movement // the accounts' movements since the last head, by the accounts' keys
	holds        map[uint64]scan.Hold        // in the second pass: open pending entries, by the seq of their event
	next         func() (scan.KV, bool)      // returns the next row with a head
	Stop         func()
	nextHead     store.CheckpointHead // the head of the next checkpoint; its Seq is 0 if there is none
	nextHeadRow  []byte               // the row with nextHead
	rows         map[uint64][]int     // key: seq of a compared head; value: number of the checkpoint's rows of each height
	lastSeq      uint64               // seq of the last head that was compared
	chain        []checkpoint         // the last compared checkpoint, preceded by its base, the base's base and so on
}

// anyRows replaces the row counts of a wrong head. It allows any number of rows, so that only the head is reported, and not
// also its rows.
var anyRows = slices.Repeat([]int{math.MaxInt}, math.MaxUint8+1)

// checkpoint is a checkpoint that was compared.
type checkpoint struct {
	store.CheckpointID
	chainAccounts uint64
	accounts      []movedAccount // the accounts in it; set in the second pass only
}

// movedAccount is an account in a checkpoint.
type movedAccount struct {
	key      string
	movement ledger.Movement
}

// ReadCheckpoints starts reading the organization's checkpoints. The caller must call Stop.
func (c *Check) ReadCheckpoints() *Checkpoints { return c.newCheckpoints(false) }

func (c *Check) newCheckpoints(isSecondPass bool) *Checkpoints {
	p := &Checkpoints{Check: c, isSecondPass: isSecondPass, rows: make(map[uint64][]int), movements: make(map[string]*ledger.Movement), holds: make(map[uint64]scan.Hold)}
	p.next, p.Stop = iter.Pull(func(yield func(scan.KV) bool) {
		err := c.View.KVsAscending(c.organization.ID, store.CheckpointHeads(), nil, func(key, row []byte) (bool, error) {
			return yield(scan.KV{Key: key, Row: row}), c.Interrupted()
		})
		if err != nil {
			yield(scan.KV{Err: err})
		}
	})
	p.advance()
	return p
}

// breach reports a fault of a checkpoint. The first pass only records that there is a mismatch, and the second pass
// reports the fault.
func (p *Checkpoints) breach(format string, args ...any) {
	if !p.isSecondPass {
		p.hasMismatch = true
		return
	}
	p.Report.Breach(findings.RuleTotals, "organization %v: "+format, append([]any{p.organization.ID}, args...)...)
}

// advance reads the next checkpoint's head.
func (p *Checkpoints) advance() {
	for {
		p.nextHead = store.CheckpointHead{}
		row, more := p.next()
		switch {
		case !more:
			return
		case row.Err != nil:
			if p.Ctx.Err() == nil {
				p.breach("%v", row.Err)
			}
			return
		}
		head, err := store.DecodeCheckpointHead(row.Key, row.Row)
		if err == nil {
			p.nextHead, p.nextHeadRow = head, bytes.Clone(row.Row)
			return
		}
		p.breach("%v", err)
	}
}

// Follow must be called with each event. It compares the checkpoint after this event, if there is one. closedHold is
// the hold that the event's entry closes.
func (p *Checkpoints) Follow(e *ledger.Event, closedHold scan.Hold) {
	p.addMovements(e, closedHold)
	for p.nextHead.Seq != 0 && p.nextHead.Seq <= e.Seq {
		switch {
		case p.hasMismatch: // the second pass compares all checkpoints
		case p.nextHead.Seq < e.Seq:
			p.breach("the checkpoint after event %d comes too late", p.nextHead.Seq)
			p.rows[p.nextHead.Seq] = anyRows
		case p.nextHead.Booked != e.Booked:
			p.breach("the checkpoint after event %d has a wrong time in its key", e.Seq)
			p.rows[e.Seq] = anyRows
		default:
			p.compare()
		}
		if !p.isSecondPass {
			p.Report.Count(findings.RuleTotals, 1)
		}
		p.advance()
	}
}

// compare recomputes the next checkpoint and compares it with the stored one.
func (p *Checkpoints) compare() {
	head := &p.nextHead
	merged := len(p.chain)
	for merged > 0 && p.chain[merged-1].Seq > head.Base.Seq {
		merged--
	}
	base := checkpoint{}
	if merged > 0 {
		base = p.chain[merged-1]
	}
	computed := checkpoint{CheckpointID: head.CheckpointID}
	rows := make([]int, head.Height+1)
	isFaultless := base.CheckpointID == head.Base
	if !isFaultless {
		p.breach("the checkpoint after event %d rests on one after event %d, which does not exist", head.Seq, head.Base.Seq)
	}
	w := store.CheckpointWriter{Head: store.CheckpointHead{CheckpointID: head.CheckpointID, Previous: head.Previous, Base: head.Base}, Write: func(key, want []byte) error {
		_, height, number, _ := store.ParseCheckpointRow(key)
		if height >= len(rows) {
			rows = append(rows, make([]int, height+1-len(rows))...)
		}
		rows[height]++
		if isFaultless {
			p.compareRow(key, height, number, want)
		}
		return nil
	}}
	for key, movement := range p.contentSince(p.chain[merged:]) {
		_ = w.Add([]byte(key), movement) // Write returns no error
		if p.isSecondPass {
			computed.accounts = append(computed.accounts, movedAccount{key, *movement})
		}
	}
	_ = w.Finish()
	w.Head.ChainAccounts = w.Head.Accounts + base.chainAccounts
	if isFaultless && !bytes.Equal(store.EncodeCheckpointHead(&w.Head), p.nextHeadRow) {
		p.breach("the checkpoint after event %d has %d accounts in %d rows with other sums than its %d accounts in %d rows",
			head.Seq, head.Accounts, head.Rows, w.Head.Accounts, w.Head.Rows)
	}
	if _, found := p.rows[head.Previous]; !found && head.Previous != 0 {
		p.breach("the checkpoint after event %d follows one after event %d, which does not exist", head.Seq, head.Previous)
	}
	computed.chainAccounts = w.Head.ChainAccounts
	p.chain = append(p.chain[:merged:merged], computed)
	p.rows[head.Seq], p.lastSeq = rows, head.Seq
	clear(p.movements)
}

// compareRow compares one stored row of a checkpoint with the computed one.
func (p *Checkpoints) compareRow(key []byte, height, number int, want []byte) {
	got, found, err := p.View.KV(p.organization.ID, key)
	switch {
	case err != nil:
		p.breach("the checkpoint after event %d: %v", p.nextHead.Seq, err)
	case !found: // no fault: readers ignore a checkpoint that lacks a row
	case bytes.Equal(got, want):
	case height > 0:
		p.breach("the checkpoint after event %d lists other rows in index row %d of height %d than its events give", p.nextHead.Seq, number, height)
	default:
		p.breach("the checkpoint after event %d has other totals in part %d than its events give%s", p.nextHead.Seq, number, firstDifference(got, want))
	}
}

// firstDifference names the first account or group in which two parts differ.
func firstDifference(got, want []byte) string {
	movements := make(map[string]ledger.Movement)
	for part := store.NewCheckpointPart(want); ; {
		if more, err := part.Next(); err != nil || !more {
			break
		}
		movements[string(part.Key)] = part.Movement
	}
	for part := store.NewCheckpointPart(got); ; {
		more, err := part.Next()
		switch wanted, found := movements[string(part.Key)]; {
		case err != nil:
			return ": it cannot be read"
		case !more:
			return ""
		case found && wanted == part.Movement:
			continue
		}
		if g, ok := store.ParseGroupKey(part.Key); ok {
			return ": group " + string(g.Path) + " " + g.Asset.String()
		}
		if a, ok := store.ParseAccountKey(part.Key); ok {
			return ": account " + string(a.Path) + " " + a.Asset.String()
		}
		return ""
	}
}

// End must be called after the last event. It reports the heads of checkpoints after events that do not exist, and
// rows that no head lists. It does not report rows after the last head: an interrupted write leaves such rows.
func (p *Checkpoints) End() {
	for ; p.nextHead.Seq != 0; p.advance() {
		p.breach("there is a checkpoint after event %d, which does not exist", p.nextHead.Seq)
	}
	err := p.View.KVKeys(p.organization.ID, store.CheckpointHeads()[:1], nil, func(key []byte) ([]byte, bool, error) {
		seq, height, number, ok := store.ParseCheckpointRow(key)
		rows := p.rows[seq]
		switch {
		case bytes.HasPrefix(key, store.CheckpointHeads()):
		case !ok:
			p.breach("a row of checkpoints of an unknown kind, with key %x", key)
		case seq <= p.lastSeq && (height >= len(rows) || number >= rows[height]):
			p.breach("part %d of height %d of the checkpoint after event %d is not one of its parts", number, height, seq)
		}
		return nil, true, p.Interrupted()
	})
	if err != nil && p.Ctx.Err() == nil {
		p.breach("%v", err)
	}
	if p.hasMismatch && p.Ctx.Err() == nil {
		p.reread()
	}
}

// reread compares all checkpoints again, in a second pass that keeps the recomputed checkpoints in memory.
func (p *Checkpoints) reread() {
	p.Report.Counts.Reread++
	secondPass := p.newCheckpoints(true)
	defer secondPass.Stop()
	err := p.View.EventsAscending(p.organization.ID, 1, func(e ledger.Event, _ []byte) (bool, error) {
		secondPass.Follow(&e, secondPass.closedHold(&e))
		return true, p.Interrupted()
	})
	if err != nil && p.Ctx.Err() == nil {
		secondPass.breach("%v", err)
	}
	secondPass.End()
}

// closedHold returns the hold that an event's entry closes. If the entry opens a hold, closedHold adds the hold to
// p.holds.
func (p *Checkpoints) closedHold(e *ledger.Event) (closedHold scan.Hold) {
	if e.Entry == nil {
		return closedHold
	}
	switch e.Entry.Phase {
	case ledger.Pending:
		p.holds[e.Seq] = scan.Hold{Postings: e.Entry.Postings}
	case ledger.Capture, ledger.Void:
		closedHold = p.holds[e.Entry.Closes]
		delete(p.holds, e.Entry.Closes)
	}
	return closedHold
}
