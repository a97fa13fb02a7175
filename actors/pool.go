package actors

// Pool runs one kind of slow work on goroutines of its own, so that this kind and other kinds do not
// delay each other.
type Pool struct {
	rt   *Runtime
	pool *pool
}

// NewPool makes a pool of at most size goroutines. It ends with the runtime.
func (rt *Runtime) NewPool(size int) *Pool {
	p := &Pool{rt: rt, pool: newPool(size)}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.pools = append(rt.pools, p.pool)
	return p
}

// Go runs a job; ErrBusy if too many jobs wait (MaxCalls). The job counts as work in progress: a
// manual clock and Stop wait for it.
func (p *Pool) Go(job func()) error { return p.rt.runOn(p.pool, job) }
