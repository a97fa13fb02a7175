package actors

// Job is slow work for an actor. The goroutine that runs a job does not run the actor meanwhile.
type Job interface {
	// Run does the work.
	Run()
	// Report sends the result to the actor. It is called after Run, even if Run has panicked.
	Report()
}

// Go runs a job on the pool; ErrBusy if too many jobs wait. A short job waits only for this machine's memory or disk. If a caller
// waits for the actor's reply, the caller's goroutine runs the short job, because it is idle anyway; the caller gets no reply
// before the job ends.
func (c *Context) Go(job Job, isShort bool) error {
	rt := c.Runtime
	if isShort {
		rt.work.add()
		if c.mailbox.leaveJob(job) {
			return nil
		}
		rt.work.done()
	}
	return rt.Go(func() { rt.runJob(job, func() {}) })
}

// runShort runs a job that was left to a waiting caller. It calls the function ended after the job's Run; from then on the
// caller may run the actor again.
func (rt *Runtime) runShort(job Job, ended func()) {
	defer rt.work.done()
	rt.shortJobs.Add(1)
	defer rt.shortJobs.Add(-1)
	rt.runJob(job, ended)
}

func (rt *Runtime) runJob(job Job, ended func()) {
	func() {
		defer func() { rt.Recovered("a job of an actor", recover()) }()
		job.Run()
	}()
	ended()
	job.Report()
}
