package actors

// Pool runs one kind of slow work on goroutines of its own, so that this kind and other kinds do not
// delay each other.
type Pool struct {
	rt   *Runtime
	pool *pool
}

// NewPool makes a pool of at most size goroutines. The pool ends when the runtime stops.
func (rt *Runtime) NewPool(size int) *Pool {
	p := &Pool{rt: rt, pool: newPool(size)}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.pools = append(rt.pools, p.pool)
	return p
}

// Go runs a job. If MaxCalls jobs already wait for the pool, it returns ErrBusy. The job counts as
// work in progress: a manual clock and Stop wait for it.
func (p *Pool) Go(job func()) error { return p.rt.runOn(p.pool, job) }
