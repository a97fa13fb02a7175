package actors

import (
	"sync"
	"sync/atomic"
	"time"
)

// dispatcher runs mailboxes (the actors' queues of messages) on permanent goroutines. With a new
// goroutine for each message, a new stack would have to grow each time; in a profile this was a tenth of
// a payment's cost. A mailbox that finds the dispatcher's queue full gets its own goroutine. If the queue
// makes no progress for a while, each queued mailbox gets its own goroutine too, so actors that wait for
// a slow disk do not hold up other actors for long.
type dispatcher struct {
	queue      chan *mailbox // mailboxes to be run
	dequeued   atomic.Uint64 // number of mailboxes that have left the queue
	nonEmpty   chan struct{} // signals that the queue is not empty
	isClosed   atomic.Bool   // no goroutine reads the queue any more
	stop       chan struct{}
	goroutines sync.WaitGroup
}

const (
	goroutineCount = 32                   // number of permanent goroutines
	stallTime      = 2 * time.Millisecond // without progress for this time, all permanent goroutines are taken as blocked
)

func newDispatcher() *dispatcher {
	d := &dispatcher{queue: make(chan *mailbox, 4*goroutineCount), nonEmpty: make(chan struct{}, 1), stop: make(chan struct{})}
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
			mailbox.run()
		case <-d.stop:
			return
		}
	}
}

// schedule makes a goroutine run a mailbox. It never blocks.
func (d *dispatcher) schedule(mailbox *mailbox) {
	if d.isClosed.Load() {
		go mailbox.run()
		return
	}
	select {
	case d.queue <- mailbox:
	default:
		go mailbox.run()
		return
	}
	if len(d.queue) > 0 {
		select {
		case d.nonEmpty <- struct{}{}:
		default:
		}
	}
}

// watch calls runQueued whenever the queue makes no progress for stallTime.
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
			go mailbox.run()
		default:
			return
		}
	}
}

// close ends the permanent goroutines. It must not be called while work is in progress. A mailbox that is
// scheduled after close runs on its own goroutine.
func (d *dispatcher) close() {
	d.isClosed.Store(true)
	close(d.stop)
	d.goroutines.Wait()
	d.runQueued()
}
