package actors

// Job is slow work for an actor. It does not run on the goroutine that runs the actor at that time.
type Job interface {
	// Run does the work.
	Run()
	// Report sends the result to the actor. It is called after Run, even if Run has panicked.
	Report()
}

// Go runs a job on the pool; ErrBusy if too many jobs wait. A job that is short, because it waits for nothing but this machine, runs
// on the goroutine of the caller that waits for the actor, if there is one: the caller has nothing else to do. The caller
// is not answered before the job ends.
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

// runShort runs a job that was left to a waiting caller, which may go on as a helper when ended is called.
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
