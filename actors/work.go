package actors

import (
	"sync"
	"sync/atomic"
)

// work counts the units of work in progress.
type work struct {
	count      atomic.Int64
	waiters    atomic.Int32 // number of goroutines that are in the method wait
	mu         sync.Mutex
	becameIdle *sync.Cond // guarded by mu: wakes these goroutines when count becomes 0; nil before the first call of wait
}

func (w *work) add() { w.count.Add(1) }

func (w *work) done() {
	if w.count.Add(-1) == 0 && w.waiters.Load() > 0 {
		w.mu.Lock()
		if w.becameIdle != nil {
			w.becameIdle.Broadcast()
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
	if w.becameIdle == nil {
		w.becameIdle = sync.NewCond(&w.mu)
	}
	for w.count.Load() > 0 {
		w.becameIdle.Wait()
	}
}

// pool runs jobs on a bounded number of goroutines, first in, first out.
type pool struct {
	mu         sync.Mutex
	jobs       []func()       // guarded by mu
	goroutines int            // guarded by mu: number of running goroutines
	size       int            // maximum number of goroutines
	isClosed   bool           // guarded by mu
	wg         sync.WaitGroup // waits for the goroutines

	runningJobs atomic.Int32
}

func newPool(size int) *pool { return &pool{size: size} }

// add queues a job, and starts a goroutine if fewer than size are running. It returns false if the pool is
// closed or too many jobs wait.
func (p *pool) add(job func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isClosed || len(p.jobs) >= MaxCalls {
		return false
	}
	p.jobs = append(p.jobs, job)
	if p.goroutines < p.size {
		p.goroutines++
		p.wg.Add(1)
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
	defer p.wg.Done()
	for {
		p.mu.Lock()
		if len(p.jobs) == 0 {
			p.goroutines--
			p.mu.Unlock()
			return
		}
		job := p.jobs[0]
		p.jobs[0] = nil
		if p.jobs = p.jobs[1:]; len(p.jobs) == 0 {
			p.jobs = nil
		}
		p.mu.Unlock()
		p.runningJobs.Add(1)
		job()
		p.runningJobs.Add(-1)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	p.isClosed = true
	p.mu.Unlock()
	p.wg.Wait()
}
