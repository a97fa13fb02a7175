package follower

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
)

// Limits of one run.
const (
	busyTime    = 20 * time.Millisecond  // a run begins no further chunk after this time
	quietTime   = 250 * time.Millisecond // used instead of busyTime if at most fewEvents events were booked since the last run
	fewEvents   = 2_500
	ChunkEvents = 1_000 // maximum number of events that consumers get at once
)

// Pauses between two runs. A value n is a pause of 2^n seconds.
const (
	pause           = 0 // 1 s
	pauseAfterError = 6 // 64 s
)

// Consumer computes something from the events of transactions and keeps it. The Follower never calls two methods of a consumer
// at the same time.
type Consumer interface {
	// Name returns what the consumer keeps, as a name for log messages.
	Name() string

	// Position returns the seq of the last event of an organization that the consumer has processed. If the consumer does not
	// know the organization yet, it reads its stored position from the view.
	Position(view *posting.View, org ledger.ID) (seq uint64, err error)

	// Consume processes a chunk of events that begins after the consumer's position. Afterwards the consumer's position is
	// the chunk's Last. If Consume fails, the consumer gets the events after its old position again.
	Consume(c *Chunk) error

	// Flush makes durable what the consumer has only in memory, if it is enough to be worth a write.
	Flush() error
}

// Follower passes durable events of transactions to its consumers.
type Follower struct {
	rt        *actors.Runtime
	consumers []Consumer

	running   sync.Mutex // held during a run; guards the fields below
	size      uint64     // events in all journals when the last run began
	lastGroup uint64     // number of the journal's last durable group when the last complete run began
	turn      int        // chunks read so far; selects whose turn is next
	chunk     Chunk      // memory that read reuses

	mu  sync.Mutex // guards lag
	lag map[Consumer]uint64
}

// New returns a Follower without consumers. It reads nothing until Start, Follow or CatchUp is called.
func New(rt *actors.Runtime) *Follower {
	return &Follower{rt: rt, chunk: Chunk{transactions: make(map[ledger.ID]*Transaction)}, lag: make(map[Consumer]uint64)}
}

// Add adds a consumer. All consumers must be added before the Follower reads any event.
func (f *Follower) Add(c Consumer) { f.consumers = append(f.consumers, c) }

// Start begins to make runs. They continue until the runtime stops.
func (f *Follower) Start() { f.schedule(pause) }

// Lag returns the number of events that the consumer had not processed yet when the last run ended.
func (f *Follower) Lag(c Consumer) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lag[c]
}

// View returns a view of everything that is durable now. The caller closes it.
func (f *Follower) View() *posting.View { return f.rt.Journal.View() }

// IsElsewhere tells whether an organization was moved to another store, so that nothing about it can be made durable any more.
func (f *Follower) IsElsewhere(org ledger.ID) bool { return f.rt.Journal.IsElsewhere(org) }

// Submit makes rows durable.
func (f *Follower) Submit(rows []posting.KV) error {
	if err := f.rt.Context().Err(); err != nil {
		return err
	}
	return f.rt.Journal.SubmitAndWait(&posting.Change{KVs: rows}).Err
}

func (f *Follower) schedule(delay int) { f.rt.ScheduleRetry(delay, f.begin) }

// begin makes a run on the pool. When the run has ended, the next one is scheduled.
func (f *Follower) begin() {
	err := f.rt.Go(func() {
		delay := pauseAfterError // applies after an error or a panic
		defer func() { f.schedule(delay) }()
		err := f.run(runTime)
		switch {
		case err == nil:
			delay = pause
		case f.rt.Context().Err() == nil:
			f.rt.Log.Warn("the journal is read later", "error", err)
		}
	})
	if err != nil { // the pool is full
		f.schedule(pauseAfterError)
	}
}

// runTime returns how long a run may take, given the number of events booked since the last run. If
// they are few, the run may take longer, so that it catches up after a start or a time of heavy load.
func runTime(booked uint64) time.Duration {
	if booked > fewEvents {
		return busyTime
	}
	return quietTime
}

// Follow passes all events that are durable to the consumers.
func (f *Follower) Follow() error {
	return f.run(func(uint64) time.Duration { return time.Hour })
}

// run passes new events to the consumers until none is left or the run's time is over, and then calls Flush of each consumer.
// runTime returns the run's time; it is called with the number of events that were booked since the last run.
func (f *Follower) run(timeFor func(booked uint64) time.Duration) error {
	f.running.Lock()
	defer f.running.Unlock()
	group, _ := f.rt.Journal.LastGroup()
	if group == f.lastGroup {
		return nil
	}
	complete, err := f.readAll(timeFor)
	for _, c := range f.consumers {
		if flushErr := c.Flush(); flushErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", c.Name(), flushErr))
		}
	}
	if err == nil && complete {
		f.lastGroup = group
	}
	return err
}

// readAll passes new events of all organizations to the consumers, a chunk of each organization in turn. complete is false if the
// time was over before the consumers had all events.
func (f *Follower) readAll(timeFor func(booked uint64) time.Duration) (complete bool, err error) {
	began := time.Now()
	view := f.View()
	defer view.Close()
	waiting, size, err := f.consumersBehind(view)
	end := began.Add(timeFor(size - cmp.Or(f.size, size)))
	f.size = size
	lag := make(map[Consumer]uint64)
	for len(waiting) > 0 {
		turn := f.turn % len(waiting)
		f.turn++
		failed, readErr := f.readChunk(view, waiting, waiting[turn])
		err = errors.Join(err, readErr)
		for i := range failed {
			lag[failed[i].Consumer] += failed[i].remaining()
		}
		waiting = slices.DeleteFunc(waiting, func(w *waitingConsumer) bool { return w.remaining() == 0 || slices.Contains(failed, w) })
		if f.rt.Context().Err() != nil || !time.Now().Before(end) {
			break
		}
	}
	for _, w := range waiting {
		lag[w.Consumer] += w.remaining()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lag = lag
	return len(waiting) == 0, errors.Join(err, f.rt.Context().Err())
}

// waitingConsumer is a consumer that has not processed all events of an organization yet.
type waitingConsumer struct {
	Consumer
	org  ledger.ID
	seq  uint64 // the consumer's position
	size uint64 // number of events in the journal
}

// remaining returns the number of events that the consumer has not processed yet.
func (w *waitingConsumer) remaining() uint64 { return w.size - w.seq }

// consumersBehind lists each pair of a consumer and an organization with events that the consumer has not processed yet. total
// is the number of events in all journals. If a consumer's position cannot be read, consumersBehind leaves the consumer out, and the
// error names the consumer.
func (f *Follower) consumersBehind(view *posting.View) (list []*waitingConsumer, total uint64, err error) {
	type journal struct {
		org  ledger.ID
		size uint64
	}
	var journals []journal
	err = view.Organizations(func(org ledger.ID) (bool, error) {
		size, _, err := view.Head(org)
		total += size
		journals = append(journals, journal{org, size})
		return true, err
	})
	if err != nil {
		return nil, 0, err
	}
	for _, c := range f.consumers { // lists all organizations of a consumer before the next consumer, so that organizations take turns
		for _, j := range journals {
			seq, positionErr := c.Position(view, j.org)
			switch {
			case positionErr != nil:
				err = errors.Join(err, fmt.Errorf("%s: %w", c.Name(), positionErr))
			case seq < j.size:
				list = append(list, &waitingConsumer{c, j.org, seq, j.size})
			}
		}
	}
	return list, total, err
}

// readChunk reads the next chunk for a consumer, and passes it to all consumers that wait for the same events. It returns the
// consumers that could not take the chunk.
func (f *Follower) readChunk(view *posting.View, waiting []*waitingConsumer, first *waitingConsumer) (failed []*waitingConsumer, err error) {
	var takers []*waitingConsumer
	until := first.size
	for _, w := range waiting {
		switch {
		case w.org != first.org:
		case w.seq == first.seq:
			takers = append(takers, w)
		case w.seq > first.seq:
			until = min(until, w.seq) // from this seq on both consumers get the same chunks
		}
	}
	c, err := f.read(view, first.org, first.seq, until)
	if err != nil {
		return takers, err
	}
	for _, w := range takers {
		if takeErr := w.Consume(c); takeErr != nil {
			failed, err = append(failed, w), errors.Join(err, fmt.Errorf("%s: %w", w.Name(), takeErr))
			continue
		}
		w.seq = c.Last
	}
	return failed, err
}

// CatchUp passes an organization's new events to a consumer if they are only a few and no run is under way. So a client sees the
// payment that it has just made, and a loaded server does no extra work. Other consumers at the same position get the events too.
func (f *Follower) CatchUp(c Consumer, org ledger.ID) error {
	if !f.running.TryLock() {
		return nil
	}
	defer f.running.Unlock()
	view := f.View()
	defer view.Close()
	size, _, err := view.Head(org)
	if err != nil {
		return err
	}
	seq, err := c.Position(view, org)
	if err != nil || size-seq > ChunkEvents {
		return err
	}
	behind := &waitingConsumer{c, org, seq, size}
	waiting := []*waitingConsumer{behind}
	for _, other := range f.consumers {
		// An error of Position is reported by the next run.
		if seq, err := other.Position(view, org); other != c && err == nil && seq < size {
			waiting = append(waiting, &waitingConsumer{other, org, seq, size})
		}
	}
	for behind.remaining() > 0 {
		if failed, err := f.readChunk(view, waiting, behind); slices.Contains(failed, behind) {
			return err
		}
	}
	return nil
}
