package actors

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// dispatcher runs mailboxes (actors' queues of messages) on permanent goroutines: a new goroutine per
// message would each time grow its stack from nothing, which in a profile was a tenth of a payment's cost.
// A mailbox that finds the dispatcher's queue full gets its own goroutine. If the queue makes no progress
// for a while, each queued mailbox gets its own goroutine too, so actors that wait for a slow disk do not
// hold up others for long.
type dispatcher struct {
	queue      chan func()   // functions that run a mailbox
	dequeued   atomic.Uint64 // mailboxes that have left the queue
	nonEmpty   chan struct{} // signals that the queue is not empty
	isClosed   atomic.Bool   // no goroutine reads the queue any more
	stop       chan struct{}
	goroutines sync.WaitGroup
}

var _ actor.Dispatcher = (*dispatcher)(nil)

const (
	goroutineCount  = 32                   // permanent goroutines
	messagesPerTurn = 300                  // messages of one mailbox before other mailboxes have their turn
	stallTime       = 2 * time.Millisecond // time without progress after which all permanent goroutines count as held up
)

func newDispatcher() *dispatcher {
	d := &dispatcher{queue: make(chan func(), 4*goroutineCount), nonEmpty: make(chan struct{}, 1), stop: make(chan struct{})}
	d.goroutines.Add(goroutineCount + 1)
	for range goroutineCount {
		go d.run()
	}
	go d.watch()
	return d
}

func (d *dispatcher) run() {
	defer d.goroutines.Done()
	for {
		select {
		case mailbox := <-d.queue:
			d.dequeued.Add(1)
			mailbox()
		case <-d.stop:
			return
		}
	}
}

// Schedule implements actor.Dispatcher. It never blocks.
func (d *dispatcher) Schedule(mailbox func()) {
	if d.isClosed.Load() {
		go mailbox()
		return
	}
	select {
	case d.queue <- mailbox:
	default:
		go mailbox()
		return
	}
	if len(d.queue) > 0 {
		select {
		case d.nonEmpty <- struct{}{}:
		default:
		}
	}
}

// Throughput implements actor.Dispatcher.
func (d *dispatcher) Throughput() int { return messagesPerTurn }

// watch calls runQueued whenever the queue makes no progress for a while.
func (d *dispatcher) watch() {
	defer d.goroutines.Done()
	timer := time.NewTimer(stallTime)
	defer timer.Stop()
	for {
		select {
		case <-d.nonEmpty:
		case <-d.stop:
			return
		}
		for len(d.queue) > 0 {
			oldCount := d.dequeued.Load()
			timer.Reset(stallTime)
			select {
			case <-timer.C:
			case <-d.stop:
				return
			}
			if d.dequeued.Load() == oldCount {
				d.runQueued()
			}
		}
	}
}

// runQueued gives every queued mailbox its own goroutine.
func (d *dispatcher) runQueued() {
	for {
		select {
		case mailbox := <-d.queue:
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
	d.isClosed.Store(true)
	close(d.stop)
	d.goroutines.Wait()
	d.runQueued()
}
