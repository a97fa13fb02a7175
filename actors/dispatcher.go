package actors

import "github.com/asynkron/protoactor-go/actor"

// dispatcher runs mailboxes on goroutines that stay: a fresh goroutine a
// message would grow its stack from nothing each time, which profiled at a
// tenth of a payment's cost. When all are busy a mailbox gets a goroutine of
// its own, so a slow store read never holds up another actor.
type dispatcher struct {
	mailboxes chan func()
	stop      chan struct{}
}

var _ actor.Dispatcher = (*dispatcher)(nil)

const (
	dispatchers = 32  // goroutines that stay
	throughput  = 300 // messages of one mailbox before others have their turn
)

func newDispatcher() *dispatcher {
	d := &dispatcher{mailboxes: make(chan func(), 4*dispatchers), stop: make(chan struct{})}
	for range dispatchers {
		go d.run()
	}
	return d
}

func (d *dispatcher) run() {
	for {
		select {
		case mailbox := <-d.mailboxes:
			mailbox()
		case <-d.stop:
			return
		}
	}
}

// Schedule implements actor.Dispatcher. It never blocks.
func (d *dispatcher) Schedule(mailbox func()) {
	select {
	case d.mailboxes <- mailbox:
	default:
		go mailbox()
	}
}

// Throughput implements actor.Dispatcher.
func (d *dispatcher) Throughput() int { return throughput }

// close ends the goroutines once nothing is scheduled any more.
func (d *dispatcher) close() { close(d.stop) }
