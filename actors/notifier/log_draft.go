package notifier

import (
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// draft is a Change of a delivery log, with the actions that follow once it is durable.
type draft struct {
	change         posting.Change
	bytes          int
	marks          map[ledger.Micros]*markRow    // by page
	pageMarks      map[ledger.Micros]map[ID]bool // marks of pages that were looked up, including the draft's own marks
	kept           map[ID]*Delivery              // deliveries as the Change leaves them
	callbacks      []func(error)
	release        map[key][]ID  // deliveries that destinations have read from the store; the destinations learn that the results are stored
	postponedCount int           // number of notices that wait in memory until the Change is durable
	postedKeys     []string      // keys of bulletins
	cursor         ledger.Micros // the cursor's new page; 0: it does not move
	mayBeRefused   bool          // it has one command only, which the writer may refuse
}

func newDraft() *draft {
	return &draft{
		marks: make(map[ledger.Micros]*markRow), pageMarks: make(map[ledger.Micros]map[ID]bool),
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

// mark adds an acknowledged first attempt.
func (d *draft) mark(m *mark) {
	row := d.marks[m.page]
	if row == nil {
		row = &markRow{first: m.ID}
		d.marks[m.page] = row
	}
	row.row = appendMark(row.row, m)
	if markedIDs := d.pageMarks[m.page]; markedIDs != nil {
		markedIDs[m.ID] = true
	}
}

// end answers the callers that wait for the Change.
func (d *draft) end(err error) {
	for _, fn := range d.callbacks {
		fn(err)
	}
	d.callbacks = nil
}

// logCommand is a command to a delivery log from outside the package.
type logCommand struct {
	decide       func(l *deliveryLog, d *draft, now ledger.Micros) error
	mayBeRefused bool // it has a Change of its own, because the writer may refuse it
	done         chan error
}

// Refuse implements actors.Refusable.
func (e *logCommand) Refuse(err error) {
	select {
	case e.done <- err:
	default: // it already has a result
	}
}

// run adds the command's writes to the draft. The caller gets its reply when the Change is durable.
func (e *logCommand) run(l *deliveryLog, d *draft, now ledger.Micros) {
	d.callbacks = append(d.callbacks, e.Refuse) // before the decision, which may panic
	if err := e.decide(l, d, now); err != nil {
		if e.mayBeRefused {
			d.change = posting.Change{}
			clear(d.kept)
		}
		e.Refuse(err)
	}
}

// askBound is how long a caller waits for a delivery log, in real time.
const askBound = 30 * time.Second

// writeLog makes a delivery log write what decide puts into its draft, and returns when that is durable.
// decide sees the state after everything submitted before.
func (s *Service) writeLog(org ledger.ID, decide func(l *deliveryLog, d *draft, now ledger.Micros) error) error {
	return s.send(org, &logCommand{decide: decide, done: make(chan error, 1)})
}

// writeLogAlone does what writeLog does, for a Change that the writer may refuse. If decide returns an error, the
// draft is dropped.
func (s *Service) writeLogAlone(org ledger.ID, decide func(l *deliveryLog, d *draft, now ledger.Micros) error) error {
	return s.send(org, &logCommand{decide: decide, mayBeRefused: true, done: make(chan error, 1)})
}

func (s *Service) send(org ledger.ID, e *logCommand) error {
	if err := s.logs.Command(org, e); err != nil {
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
