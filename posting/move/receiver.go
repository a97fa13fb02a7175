package move

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
	"mizan/posting/store"
)

// Identity identifies a move.
type Identity struct {
	Move  ledger.ID         `json:"move"`
	From  int               `json:"from"` // the shard that has the organization
	Order posting.MoveOrder `json:"order"`
}

// Head describes an organization's ledger after its last event.
type Head struct {
	Events uint64   // number of events
	Root   [32]byte // root of the hash tree
	Booked ledger.Micros
	Sums   [32]byte // SHA-256 of the trial balance's sums over groups of accounts, as of Booked
}

// headOf reads the head from a view.
func headOf(reader *balances.Reader, view *posting.View, org ledger.ID) (h Head, err error) {
	if h.Events, h.Root, err = view.Head(org); err != nil || h.Events == 0 {
		return h, err
	}
	last, _, found, err := view.Event(org, h.Events)
	if err != nil || !found {
		return h, err
	}
	h.Booked = last.Booked
	sum := sha256.New()
	var row []byte
	for _, env := range []money.Env{money.Prod, money.Test} {
		err := reader.Groups(view, org, balances.Query{Env: env, At: h.Booked}, func(group ledger.Account, t *ledger.Totals) (bool, error) {
			row = append(row[:0], byte(env))
			for _, text := range []string{string(group.Path), string(group.Asset.Currency), string(group.Asset.Network)} {
				row = append(append(row, text...), 0)
			}
			for _, a := range []money.Amount{t.DebitsPosted, t.CreditsPosted, t.DebitsPending, t.CreditsPending} {
				row = append(append(row, a.String()...), 0)
			}
			_, _ = sum.Write(row) // never fails
			return true, nil
		})
		if err != nil {
			return h, err
		}
	}
	sum.Sum(h.Sums[:0])
	return h, nil
}

// Receiver takes organizations over into one shard's store. Its methods may be called at the same time.
//
// All steps of a copy must reach the same Receiver, in their order: a step that is repeated is not carried out again, and a step
// out of order is refused, so that a message that was late cannot undo later ones. If the shard gets another leader during a copy,
// the move is given up.
type Receiver struct {
	journal *posting.Journal
	reader  balances.Reader

	beginning sync.Mutex // held while a copy begins or is given up, so that a repeated call waits for the first one

	mu     sync.Mutex
	copies map[ledger.ID]*incoming // guarded by mu
}

// incoming is a copy under way.
type incoming struct {
	placement posting.Placement

	mu   sync.Mutex        // held during a step
	next uint64            // number of the next step
	tree posting.TreeCheck // as far as the hash tree was recomputed
}

// NewReceiver returns a Receiver.
func NewReceiver(j *posting.Journal) *Receiver {
	return &Receiver{journal: j, copies: make(map[ledger.ID]*incoming)}
}

// IsReceiving tells whether copies are under way.
func (r *Receiver) IsReceiving() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.copies) > 0
}

// Begin prepares the store for a copy of the organization. The error is a Conflict if the organization belongs to this store, if
// the move was given up, or if a later one or one from another shard has begun.
func (r *Receiver) Begin(org ledger.ID, m Identity) error {
	r.beginning.Lock()
	defer r.beginning.Unlock()
	next := posting.Placement{State: store.Arriving, Shard: m.From, Move: m.Move, Order: m.Order}
	if c := r.copyOf(org, m.Move); c != nil {
		return nil // a repeated call
	}
	current := r.journal.Placement(org)
	if err := r.mayBegin(org, current, next); err != nil {
		return err
	}
	if current != next {
		if err := submit(r.journal, &posting.Move{Org: org, Expect: current, Next: &next}); err != nil {
			return err
		}
	}
	if err := r.removeLeftovers(org, next); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copies[org] = &incoming{placement: next, next: 1}
	return nil
}

// copyOf returns the copy that belongs to a move, or nil.
func (r *Receiver) copyOf(org, move ledger.ID) *incoming {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.copies[org]; c != nil && c.placement.Move == move {
		return c
	}
	return nil
}

// mayBegin refuses a copy that must not begin.
func (r *Receiver) mayBegin(org ledger.ID, current, next posting.Placement) error {
	const op = "move.Begin"
	switch current.State {
	case store.Leaving:
		return ledger.Refuse(op, ledger.Conflict, "the organization is being moved from here")
	case store.Here:
		view := r.journal.View()
		defer view.Close()
		events, _, err := view.Head(org)
		if err == nil && events > 0 {
			err = ledger.Refuse(op, ledger.Conflict, "the shard has the organization already")
		}
		return err
	case store.Abandoned:
		if current.Move == next.Move {
			return ledger.Refuse(op, ledger.Conflict, "the move was given up")
		}
	}
	if current.State == store.Arriving && current.Shard != next.Shard && r.copyOf(org, current.Move) != nil {
		// Only the shard that has an organization begins a move, so one of the two shards must have had it earlier, and its message is late.
		// The copy under way decides: if it is the late one, its sender gives it up soon.
		return ledger.Refuse(op, ledger.Conflict, "the organization is being moved from another shard")
	}
	if (current.State == store.Arriving || current.State == store.Abandoned) && current.Shard == next.Shard && next.Order.Before(current.Order) {
		return ledger.Refuse(op, ledger.Conflict, "a later move of the organization has begun")
	}
	return nil
}

// removeLeftovers removes what an earlier copy has left of the kinds of rows that the sender may have removed since.
func (r *Receiver) removeLeftovers(org ledger.ID, placement posting.Placement) error {
	view := r.journal.StoredView()
	defer view.Close()
	batch := batch{send: func(rows []posting.MovedRow) error { return r.write(org, placement, rows) }}
	for _, kind := range []posting.RowKind{posting.KVs, posting.SealedRows} {
		err := view.Rows(org, kind, func(key, _ []byte) (bool, error) {
			return true, batch.add(posting.MovedRow{Key: key})
		})
		if err != nil {
			return err
		}
	}
	return batch.flush()
}

// step carries out a step of a copy, unless it was carried out before.
func (r *Receiver) step(org, move ledger.ID, number uint64, run func(c *incoming) error) error {
	const op = "move.step"
	c := r.copyOf(org, move)
	if c == nil {
		return ledger.Refuse(op, ledger.Conflict, "the shard has another leader since the copy has begun, or the move was given up")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case number < c.next:
		return nil
	case number > c.next:
		return ledger.Refuse(op, ledger.Conflict, "step %d does not follow step %d", number, c.next-1)
	}
	if err := run(c); err != nil {
		return err
	}
	c.next++
	return nil
}

// Rows writes copied rows.
func (r *Receiver) Rows(org, move ledger.ID, number uint64, rows []posting.MovedRow) error {
	return r.step(org, move, number, func(c *incoming) error { return r.write(org, c.placement, rows) })
}

// write writes rows, in several groups if they are too many for one.
func (r *Receiver) write(org ledger.ID, placement posting.Placement, rows []posting.MovedRow) error {
	m := &posting.Move{Org: org, Expect: placement, Rows: rows}
	if err := m.Check(); err != nil {
		return ledger.Refuse("move.Rows", ledger.Invalid, "%v", err)
	}
	err := submit(r.journal, m)
	if half := len(rows) / 2; ledger.IsRefusal(err, ledger.OutOfRange) && half > 0 {
		if err = r.write(org, placement, rows[:half]); err == nil {
			err = r.write(org, placement, rows[half:])
		}
	}
	return err
}

// Check recomputes the hash tree of the events that were copied so far, so that Finish has less to do.
func (r *Receiver) Check(org, move ledger.ID, number uint64) error {
	return r.step(org, move, number, func(c *incoming) error {
		view := r.journal.View()
		defer view.Close()
		if err := c.tree.Extend(view, org); err != nil {
			return err
		}
		_, err := headOf(&r.reader, view, org)
		return err
	})
}

// Finish compares the copy with the sender's head, and takes the organization over. If this has happened already, it does nothing.
func (r *Receiver) Finish(org, move ledger.ID, number uint64, want Head) error {
	if p := r.journal.Placement(org); p.State == store.Here && p.Move == move {
		return nil
	}
	return r.step(org, move, number, func(c *incoming) error {
		if err := r.compare(org, c, want); err != nil {
			return err
		}
		next := c.placement
		next.State = store.Here
		if err := submit(r.journal, &posting.Move{Org: org, Expect: c.placement, Next: &next}); err != nil {
			return err
		}
		r.forget(org, c)
		return nil
	})
}

func (r *Receiver) compare(org ledger.ID, c *incoming, want Head) error {
	view := r.journal.View()
	defer view.Close()
	if err := c.tree.Extend(view, org); err != nil {
		return err
	}
	got, err := headOf(&r.reader, view, org)
	if err == nil && got != want {
		err = ledger.Refuse("move.Finish", ledger.Conflict, "the copy has %d events, and not %d, or another root or trial balance", got.Events, want.Events)
	}
	return err
}

// Abandon gives the copy up, and returns the placement that is durable afterwards: Abandoned, or Here if the organization has been
// taken over before.
func (r *Receiver) Abandon(org, move ledger.ID) (posting.Placement, error) {
	r.beginning.Lock()
	defer r.beginning.Unlock()
	if c := r.copyOf(org, move); c != nil {
		c.mu.Lock() // a step under way ends first
		defer c.mu.Unlock()
		r.forget(org, c)
	}
	for {
		current := r.journal.Placement(org)
		if current.Move != move || current.State != store.Arriving {
			return current, nil
		}
		next := current
		next.State = store.Abandoned
		err := submit(r.journal, &posting.Move{Org: org, Expect: current, Next: &next})
		if !ledger.IsRefusal(err, ledger.Conflict) { // otherwise another call was first
			return next, err
		}
	}
}

func (r *Receiver) forget(org ledger.ID, c *incoming) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copies[org] == c {
		delete(r.copies, org)
	}
}

// Bounds of the rows that are sent at once.
const (
	MaxBatchBytes = 1 << 20 // of keys and values, unless a single row has more
	MaxBatchRows  = 2_000
)

// batch collects rows until they are enough to be sent.
type batch struct {
	send  func([]posting.MovedRow) error
	rows  []posting.MovedRow
	bytes int
	total Progress
}

// Progress says how much was copied.
type Progress struct {
	Rows  uint64 `json:"rows"`
	Bytes uint64 `json:"bytes"`
}

// add copies the row into the batch.
func (b *batch) add(row posting.MovedRow) error {
	n := len(row.Key) + len(row.Value)
	if len(b.rows) > 0 && (len(b.rows) == MaxBatchRows || b.bytes+n > MaxBatchBytes) {
		if err := b.flush(); err != nil {
			return err
		}
	}
	copied := make([]byte, 0, n)
	copied = append(append(copied, row.Key...), row.Value...)
	kept := posting.MovedRow{Key: copied[:len(row.Key):len(row.Key)]}
	if row.Value != nil {
		kept.Value = copied[len(row.Key):]
	}
	b.rows = append(b.rows, kept)
	b.bytes += n
	return nil
}

func (b *batch) flush() error {
	if len(b.rows) == 0 {
		return nil
	}
	err := b.send(b.rows)
	b.total.Rows += uint64(len(b.rows))
	b.total.Bytes += uint64(b.bytes)
	b.rows, b.bytes = b.rows[:0:0], 0
	return err
}

// AppendRows appends the coded form of rows: for each, the lengths of key and value plus one (0: the row was removed) as unsigned
// varints, the key, and the value.
func AppendRows(dst []byte, rows []posting.MovedRow) []byte {
	for i := range rows {
		dst = binary.AppendUvarint(dst, uint64(len(rows[i].Key)))
		length := uint64(0)
		if rows[i].Value != nil {
			length = uint64(len(rows[i].Value)) + 1
		}
		dst = binary.AppendUvarint(dst, length)
		dst = append(append(dst, rows[i].Key...), rows[i].Value...)
	}
	return dst
}

// ParseRows is the inverse of AppendRows. The rows share the memory of src.
func ParseRows(src []byte) (rows []posting.MovedRow, ok bool) {
	for len(src) > 0 {
		keyLength, n := binary.Uvarint(src)
		if n <= 0 {
			return nil, false
		}
		src = src[n:]
		valueLength, n := binary.Uvarint(src)
		if n <= 0 {
			return nil, false
		}
		src = src[n:]
		isRemoved := valueLength == 0
		if !isRemoved {
			valueLength--
		}
		if keyLength > uint64(len(src)) || valueLength > uint64(len(src))-keyLength || len(rows) == MaxBatchRows {
			return nil, false
		}
		row := posting.MovedRow{Key: src[:keyLength:keyLength]}
		if src = src[keyLength:]; !isRemoved {
			row.Value = src[:valueLength:valueLength]
			src = src[valueLength:]
		}
		rows = append(rows, row)
	}
	return rows, true
}
