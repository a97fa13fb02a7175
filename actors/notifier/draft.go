package notifier

import (
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// draft is a Change of an office and what follows once it is durable.
type draft struct {
	change    posting.Change
	bytes     int
	marks     map[ledger.Micros]*markRow    // by page
	there     map[ledger.Micros]map[ID]bool // marks of pages that were asked for, with those of the draft
	kept      map[ID]*Delivery              // as they will be
	follow    []func(error)
	release   map[key][]ID  // what destinations have read from the store
	postponed int           // notices that wait in memory until it is durable
	posted    []string      // keys of bulletins
	cursor    ledger.Micros // to which it moves; 0: it doesn't
	alone     bool          // it is one errand's, and may be refused
}

func newDraft() *draft {
	return &draft{
		marks: make(map[ledger.Micros]*markRow), there: make(map[ledger.Micros]map[ID]bool),
		kept: make(map[ID]*Delivery), release: make(map[key][]ID),
	}
}

// markRow is one page's row of marks.
type markRow struct {
	first ID
	row   []byte
}

func (d *draft) put(org ledger.ID, key, value []byte) {
	d.change.KVs = append(d.change.KVs, posting.KV{Org: org, Key: key, Value: value})
	d.bytes += len(key) + len(value)
}

// mark notes a first attempt that was acknowledged.
func (d *draft) mark(m *mark) {
	row := d.marks[m.page]
	if row == nil {
		row = &markRow{first: m.ID}
		d.marks[m.page] = row
	}
	row.row = appendMark(row.row, m)
	if there := d.there[m.page]; there != nil {
		there[m.ID] = true
	}
}

// end answers whoever waits for the Change.
func (d *draft) end(err error) {
	for _, fn := range d.follow {
		fn(err)
	}
	d.follow = nil
}

// errand is something that somebody outside asks an office for.
type errand struct {
	decide func(o *office, d *draft, now ledger.Micros) error
	alone  bool // in a Change of its own, which may be refused: nothing else goes with it
	done   chan error
}

// Refuse implements actors.Refusable.
func (e *errand) Refuse(err error) {
	select {
	case e.done <- err:
	default: // it was answered
	}
}

// run puts into the draft what is asked for. Whoever asks hears when it is durable.
func (e *errand) run(o *office, d *draft, now ledger.Micros) {
	d.follow = append(d.follow, e.Refuse) // before the decision: it may panic
	if err := e.decide(o, d, now); err != nil {
		if e.alone {
			d.change = posting.Change{}
			clear(d.kept)
		}
		e.Refuse(err)
	}
}

// askBound is how long somebody waits for an office, in real time.
const askBound = 30 * time.Second

// ask has an office write what decide puts into its draft, and returns when that is
// durable. What it decides on is what everything submitted before will have left.
func (s *Service) ask(org ledger.ID, decide func(o *office, d *draft, now ledger.Micros) error) error {
	return s.send(org, &errand{decide: decide, done: make(chan error, 1)})
}

// askAlone is ask for what may be refused by the writer. What decide has put into the
// draft is dropped if it returns an error.
func (s *Service) askAlone(org ledger.ID, decide func(o *office, d *draft, now ledger.Micros) error) error {
	return s.send(org, &errand{decide: decide, alone: true, done: make(chan error, 1)})
}

func (s *Service) send(org ledger.ID, e *errand) error {
	if err := s.offices.Command(org, e); err != nil {
		return err
	}
	timer := time.NewTimer(askBound)
	defer timer.Stop()
	select {
	case err := <-e.done:
		return err
	case <-timer.C:
		return ledger.Refuse("notifier", ledger.Unavailable, "it is not written down yet")
	}
}
