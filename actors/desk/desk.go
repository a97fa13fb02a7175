package desk

import (
	"fmt"
	"sync"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/watch"
)

// MaxWatched is for how many terminals spikes are counted at a time, in 100 bytes each
// and 16 for an outcome, at most 14 KB. Beyond, those of which nothing was heard for long
// make room.
const MaxWatched = 16_384

// Directory finds terminals and who runs them; actors/directory implements it.
type Directory interface {
	Organization(org ledger.ID) (*directory.Organization, bool)
	Partner(org ledger.ID, number int64) (*directory.Partner, bool)
	// Operated is the terminal whose operators are told of a transaction there, or of
	// one that has no terminal (the zero value); false: nobody wants to be told.
	Operated(org ledger.ID, partner int64, env money.Env, terminal ledger.ID) (*directory.Terminal, bool)
	// AllOperated calls fn with each organization's terminals whose operators want to be
	// told, a partner's together.
	AllOperated(fn func(org ledger.ID, terminals []*directory.Terminal) error) error
}

// Board tells operators what is no event of a record; actors/notifier implements it.
type Board interface {
	// Post makes a message to a terminal's operators durable and has it carried. A key
	// that was used before in the organization is no error, and tells nothing again.
	Post(org, to ledger.ID, body []byte, key string) error
}

// Options of a Desk.
type Options struct {
	Runtime   *actors.Runtime
	Directory Directory
	Board     Board
	Read      func(payload []byte) (*payment.Record, error) // a stored transaction
	Reaches   func(n *directory.Notification) bool          // whether any of these can be told
}

// Desk watches over terminals.
type Desk struct {
	rt        *actors.Runtime
	directory Directory
	board     Board
	read      func([]byte) (*payment.Record, error)
	reaches   func(*directory.Notification) bool

	mu     sync.Mutex
	spikes map[actors.RecordKey]*watch.Spike // guarded by mu, by terminal
	swept  ledger.Micros                     // guarded by mu: when room was made last
	next   ledger.Date                       // guarded by mu: the day to be summed up next
	marked bool                              // guarded by mu: the store says which day that is
}

// New makes a desk that sums up days; where none is marked, today is the first. The
// runtime is started afterwards. The error is the store's.
func New(o Options) (*Desk, error) {
	d := &Desk{
		rt: o.Runtime, directory: o.Directory, board: o.Board, read: o.Read, reaches: o.Reaches,
		spikes: make(map[actors.RecordKey]*watch.Spike),
	}
	last, found, err := d.mark()
	if err != nil {
		return nil, err
	}
	today := ledger.DateOf(o.Runtime.Clock.Now())
	if d.next, d.marked = today, found; found {
		d.next = min(last+1, today)
	}
	o.Runtime.Poll(actors.Poll{Next: d.ends, Run: d.sumUp})
	return d, nil
}

// Observe hears of a durable change of a transaction's status; it is what
// payment.Options.Observe wants, and does not block.
func (d *Desk) Observe(org ledger.ID, from payment.Status, r *payment.Record) {
	failed, concluded := r.Concludes(from)
	if !concluded {
		return
	}
	t, operated := d.directory.Operated(org, r.Partner, r.Asset.Env, r.Terminal)
	if !operated || !d.reaches(&t.Notification) {
		return
	}
	key, at := actors.RecordKey{Org: org, ID: t.ID}, ledger.MicrosOf(d.rt.Clock.Now())
	if alarm, raised := d.hear(key, at, failed); raised {
		d.tell(key, alarm, t)
	}
}

// hear counts an outcome in.
func (d *Desk) hear(key actors.RecordKey, at ledger.Micros, failed bool) (watch.Alarm, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	spike := d.spikes[key]
	if spike == nil {
		if len(d.spikes) >= MaxWatched && !d.makeRoom(at) {
			return watch.Alarm{}, false
		}
		spike = new(watch.Spike)
		d.spikes[key] = spike
	}
	return spike.Hear(at, failed)
}

// makeRoom forgets the terminals that nothing is left to count of. It looks at all,
// so it does so once a minute.
func (d *Desk) makeRoom(at ledger.Micros) bool {
	if at < d.swept+ledger.Micros(time.Minute/time.Microsecond) {
		return false
	}
	d.swept = at
	for key, spike := range d.spikes {
		if spike.Idle(at) {
			delete(d.spikes, key)
		}
	}
	if len(d.spikes) < MaxWatched {
		return true
	}
	d.rt.Log.Warn("spikes of failures are not counted for all terminals: there are too many", "counted", MaxWatched)
	return false
}

// tell posts a spike. One that cannot be posted is told with the next outcome.
func (d *Desk) tell(key actors.RecordKey, alarm watch.Alarm, t *directory.Terminal) {
	once := fmt.Sprintf("spike/%s/%s", t.ID, alarm.At.Time().Truncate(watch.SpikeWindow).Format(time.RFC3339))
	body := alarm.Message(placeOf(t)).Append(nil)
	err := d.rt.Go(func() {
		if err := d.board.Post(key.Org, t.ID, body, once); err != nil {
			d.untold(key, err)
		}
	})
	if err != nil {
		d.untold(key, err)
	}
}

func (d *Desk) untold(key actors.RecordKey, err error) {
	d.rt.Log.Error("operators were not told of a spike of failures", "terminal", key.ID.String(), "error", err)
	d.mu.Lock()
	defer d.mu.Unlock()
	if spike := d.spikes[key]; spike != nil {
		spike.Unsay()
	}
}

// placeOf is a terminal as its operators know it.
func placeOf(t *directory.Terminal) watch.Place {
	return watch.Place{Terminal: t.ID, Name: t.Name, Partner: t.Partner, Env: t.Env}
}
