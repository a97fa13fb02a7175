package actors

import (
	"sync"
	"sync/atomic"
)

// work counts the units of work in progress.
type work struct {
	n       atomic.Int64
	waiters atomic.Int32
	mu      sync.Mutex
	idle    *sync.Cond
}

func (w *work) add() { w.n.Add(1) }

func (w *work) done() {
	if w.n.Add(-1) == 0 && w.waiters.Load() > 0 {
		w.mu.Lock()
		if w.idle != nil {
			w.idle.Broadcast()
		}
		w.mu.Unlock()
	}
}

// wait returns when no work is in progress.
func (w *work) wait() {
	w.waiters.Add(1)
	defer w.waiters.Add(-1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idle == nil {
		w.idle = sync.NewCond(&w.mu)
	}
	for w.n.Load() > 0 {
		w.idle.Wait()
	}
}

// pool runs jobs on a bounded number of goroutines, first in, first out.
type pool struct {
	mu      sync.Mutex
	jobs    []func() // guarded by mu
	running int
	size    int
	closed  bool
	ended   sync.WaitGroup

	busy atomic.Int32 // jobs that are running
}

func newPool(size int) *pool { return &pool{size: size} }

// add queues a job, and starts a goroutine if fewer than size are running. It returns false if the pool is
// closed or too many jobs wait.
func (p *pool) add(job func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.jobs) >= MaxCalls {
		return false
	}
	p.jobs = append(p.jobs, job)
	if p.running < p.size {
		p.running++
		p.ended.Add(1)
		go p.run()
	}
	return true
}

// waiting returns how many jobs are queued.
func (p *pool) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.jobs)
}

func (p *pool) run() {
	defer p.ended.Done()
	for {
		p.mu.Lock()
		if len(p.jobs) == 0 {
			p.running--
			p.mu.Unlock()
			return
		}
		job := p.jobs[0]
		p.jobs[0] = nil
		if p.jobs = p.jobs[1:]; len(p.jobs) == 0 {
			p.jobs = nil
		}
		p.mu.Unlock()
		p.busy.Add(1)
		job()
		p.busy.Add(-1)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.ended.Wait()
}
