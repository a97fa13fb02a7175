package actors

// Job is slow work for an actor. While a goroutine runs a job, it does not run the actor.
type Job interface {
	// Run does the work.
	Run()
	// Report sends the result to the actor. It is called after Run, even if Run has panicked.
	Report()
}

// Go runs a job on the pool. If too many jobs wait, it returns ErrBusy. A short job is one that waits only for this machine's
// memory or disk. If a caller is waiting for the actor's reply, a short job runs on the caller's goroutine, which is idle
// anyway; the caller then gets no reply before the job ends.
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

// runShort runs a job that leaveJob has queued for a waiting caller. When the job's Run has returned, runShort calls ended;
// from then on the caller may run the actor again.
func (rt *Runtime) runShort(job Job, ended func()) {
	defer rt.work.done()
	rt.shortJobs.Add(1)
	defer rt.shortJobs.Add(-1)
	rt.runJob(job, ended)
}

func (rt *Runtime) runJob(job Job, ended func()) {
	func() {
		defer func() { rt.LogPanic("a job of an actor", recover()) }()
		job.Run()
	}()
	ended()
	job.Report()
}
