package notifier

import (
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// draft is a Change (the rows that become durable together) of a delivery log, with the actions that follow once it is
// durable.
type draft struct {
	change               posting.Change
	size                 int
	acknowledgementsRows map[ledger.Micros]*acknowledgementsRow // rows of acknowledgements, by page
	markedByPage         map[ledger.Micros]map[ID]bool          // by page: notices that have an acknowledgement in the store or in the draft
	deliveries           map[ID]*Delivery                       // new states of deliveries
	callbacks            []func(error)
	releasedIDs          map[destinationKey][]ID // by destination: deliveries read from the store whose results are in the draft
	postponedCount       int                     // number of notices that wait in memory until the Change is durable
	postedKeys           []string                // keys with which bulletins (messages to operators about no event) are posted
	cursor               ledger.Micros           // new cursor (a page; all notices before it have stored results); 0 if not moved
	mayBeRefused         bool                    // the draft consists of one command, which the writer may refuse
}

func newDraft() *draft {
	return &draft{
		acknowledgementsRows: make(map[ledger.Micros]*acknowledgementsRow), markedByPage: make(map[ledger.Micros]map[ID]bool),
		deliveries: make(map[ID]*Delivery), releasedIDs: make(map[destinationKey][]ID),
	}
}

// acknowledgementsRow is one page's row of acknowledgements.
type acknowledgementsRow struct {
	firstID ID
	value   []byte
}

func (d *draft) put(org ledger.ID, key, value []byte) {
	d.change.KVs = append(d.change.KVs, posting.KV{Org: org, Key: key, Value: value})
	d.size += len(key) + len(value)
}

// addAcknowledgement adds an acknowledged first attempt to the row of its page.
func (d *draft) addAcknowledgement(m *acknowledgement) {
	row := d.acknowledgementsRows[m.pageStart]
	if row == nil {
		row = &acknowledgementsRow{firstID: m.ID}
		d.acknowledgementsRows[m.pageStart] = row
	}
	row.value = appendAcknowledgement(row.value, m)
	if markedIDs := d.markedByPage[m.pageStart]; markedIDs != nil {
		markedIDs[m.ID] = true
	}
}

// reply passes the result of the Change to the callers that wait for it.
func (d *draft) reply(err error) {
	for _, fn := range d.callbacks {
		fn(err)
	}
	d.callbacks = nil
}

// logCommand asks a delivery log to write something that is no result of an attempt, such as a replay request.
type logCommand struct {
	decide       func(l *deliveryLog, d *draft, now ledger.Micros) error
	mayBeRefused bool // the command has a Change of its own, which the writer may refuse
	result       chan error
}

// Refuse implements actors.Refusable.
func (e *logCommand) Refuse(err error) {
	select {
	case e.result <- err:
	default: // the command already has a result
	}
}

// run adds the command's writes to the draft. The command's caller gets the reply when the Change is durable.
func (e *logCommand) run(l *deliveryLog, draft *draft, now ledger.Micros) {
	draft.callbacks = append(draft.callbacks, e.Refuse) // added before the decision is made, because the decision may panic
	if err := e.decide(l, draft, now); err != nil {
		if e.mayBeRefused {
			draft.change = posting.Change{}
			clear(draft.deliveries)
		}
		e.Refuse(err)
	}
}

// commandTimeout is the longest time that a caller waits for a delivery log, in real time.
const commandTimeout = 30 * time.Second

// writeLog sends a command to a delivery log and returns when the command's writes are durable. The delivery
// log calls decide, which adds the writes to the draft. decide sees the effects of all earlier writes.
func (s *Service) writeLog(org ledger.ID, decide func(l *deliveryLog, d *draft, now ledger.Micros) error) error {
	return s.send(org, &logCommand{decide: decide, result: make(chan error, 1)})
}

// writeLogAlone is writeLog for a command that the writer may refuse, so the command gets a draft of its own. If
// decide returns an error, the draft is dropped.
func (s *Service) writeLogAlone(org ledger.ID, decide func(l *deliveryLog, d *draft, now ledger.Micros) error) error {
	return s.send(org, &logCommand{decide: decide, mayBeRefused: true, result: make(chan error, 1)})
}

func (s *Service) send(org ledger.ID, e *logCommand) error {
	if err := s.deliveryLogs.Command(org, e); err != nil {
		return err
	}
	timer := time.NewTimer(commandTimeout)
	defer timer.Stop()
	select {
	case err := <-e.result:
		return err
	case <-timer.C:
		return ledger.Refuse("notifier", ledger.Unavailable, "the result is not stored yet")
	}
}
