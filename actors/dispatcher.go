package actors

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// dispatcher runs mailboxes on permanent goroutines: with a new goroutine per message, each would
// grow its stack from nothing, which in a profile was a tenth of a payment's cost. If the queue is
// full, a mailbox gets its own goroutine. If the queue makes no progress for a while, each queued
// mailbox gets one, so actors that wait for a slow disk do not hold up others for long.
type dispatcher struct {
	mailboxes chan func()
	dequeued  atomic.Uint64 // mailboxes that have left the queue
	nonEmpty  chan struct{} // signals that the queue is not empty
	closed    atomic.Bool   // no goroutine reads the queue any more
	stop      chan struct{}
	ended     sync.WaitGroup
}

var _ actor.Dispatcher = (*dispatcher)(nil)

const (
	dispatchers = 32                   // permanent goroutines
	throughput  = 300                  // messages of one mailbox before other mailboxes have their turn
	stalled     = 2 * time.Millisecond // time without progress after which all permanent goroutines count as held up
)

func newDispatcher() *dispatcher {
	d := &dispatcher{mailboxes: make(chan func(), 4*dispatchers), nonEmpty: make(chan struct{}, 1), stop: make(chan struct{})}
	d.ended.Add(dispatchers + 1)
	for range dispatchers {
		go d.run()
	}
	go d.watch()
	return d
}

func (d *dispatcher) run() {
	defer d.ended.Done()
	for {
		select {
		case mailbox := <-d.mailboxes:
			d.dequeued.Add(1)
			mailbox()
		case <-d.stop:
			return
		}
	}
}

// Schedule implements actor.Dispatcher. It never blocks.
func (d *dispatcher) Schedule(mailbox func()) {
	if d.closed.Load() {
		go mailbox()
		return
	}
	select {
	case d.mailboxes <- mailbox:
	default:
		go mailbox()
		return
	}
	if len(d.mailboxes) > 0 {
		select {
		case d.nonEmpty <- struct{}{}:
		default:
		}
	}
}

// Throughput implements actor.Dispatcher.
func (d *dispatcher) Throughput() int { return throughput }

// watch gives every queued mailbox its own goroutine whenever the queue makes no progress for a while.
func (d *dispatcher) watch() {
	defer d.ended.Done()
	timer := time.NewTimer(stalled)
	defer timer.Stop()
	for {
		select {
		case <-d.nonEmpty:
		case <-d.stop:
			return
		}
		for len(d.mailboxes) > 0 {
			before := d.dequeued.Load()
			timer.Reset(stalled)
			select {
			case <-timer.C:
			case <-d.stop:
				return
			}
			if d.dequeued.Load() == before {
				d.empty()
			}
		}
	}
}

func (d *dispatcher) empty() {
	for {
		select {
		case mailbox := <-d.mailboxes:
			d.dequeued.Add(1)
			go mailbox()
		default:
			return
		}
	}
}

// close ends the permanent goroutines; no work may be in progress. A mailbox that is scheduled
// later runs on its own goroutine.
func (d *dispatcher) close() {
	d.closed.Store(true)
	close(d.stop)
	d.ended.Wait()
	d.empty()
}
