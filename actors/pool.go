package actors

// Pool runs slow work beside the runtime's own pool, so that one kind of it never
// waits for another.
type Pool struct {
	rt   *Runtime
	pool *pool
}

// NewPool makes a pool of so many goroutines at most. It ends with the runtime.
func (rt *Runtime) NewPool(size int) *Pool {
	p := &Pool{rt: rt, pool: newPool(size)}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.pools = append(rt.pools, p.pool)
	return p
}

// Go runs a job; ErrBusy when too many wait (MaxCalls). It is work under way: a
// manual clock, and the end, wait for it.
func (p *Pool) Go(job func()) error { return p.rt.runOn(p.pool, job) }
