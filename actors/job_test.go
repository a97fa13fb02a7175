package actors_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	"mizan/posting"
)

// requestedJob is a job of a test; its result is a jobResult.
type requestedJob struct {
	registry *actors.Registry[actors.RecordKey]
	run      func()
	request  *request // the request whose caller gets the result
}

func (e *requestedJob) Run() { e.run() }

func (e *requestedJob) Report() {
	e.registry.Tell(e.request.key, jobResult{e.request})
}

type jobResult struct{ request *request }

// Expected implements actors.AnnouncedMessage.
func (jobResult) Expected() {}

// runner is an actor that runs a job for each request before the reply.
type runner struct {
	registry *actors.Registry[actors.RecordKey]
	isShort  bool
	run      func()
}

func (a *runner) Receive(c *actors.Context, message any) {
	switch m := message.(type) {
	case *request:
		if m.task == replyAtOnce {
			m.Answer(nil)
			return
		}
		if err := c.Go(&requestedJob{a.registry, a.run, m}, a.isShort); err != nil {
			m.Answer(err)
			return
		}
		c.Expect()
	case jobResult:
		m.request.Answer(nil)
	}
}

func (a *runner) Committed(*actors.Context, *posting.Change, posting.Receipt) {}
func (a *runner) Idle() bool                                                  { return true }
func (a *runner) Failed(*actors.Context)                                      {}

func (f *fixture) runners(isShort bool, run func()) (registry *actors.Registry[actors.RecordKey]) {
	registry = actors.NewRegistry(f.Runtime, "runner", 0, func(actors.RecordKey) actors.Behaviour {
		return &runner{registry, isShort, run}
	})
	return registry
}

// While the pool is full, only the caller itself can run the job.
func TestShortJobRunsOnTheGoroutineOfTheCallerThatWaits(t *testing.T) {
	f := open(t, 0)
	release := make(chan struct{})
	f.FillPool(release)
	for _, c := range []struct{ isShort, isAwaited, wantRun bool }{{true, true, true}, {false, true, false}, {true, false, false}} {
		var runs, calling atomic.Int64
		before := f.RunningJobs()
		registry := f.runners(c.isShort, func() { runs.Add(1); calling.Store(int64(f.RunningJobs() - before)) })
		r := &request{task: commitFirst, key: key(1)}
		if c.isAwaited {
			if err := registry.Command(r.key, r); err != nil {
				t.Fatal(err)
			}
		} else {
			registry.Tell(r.key, r)
		}
		err, ok := r.Wait(time.Now().Add(patience))
		if !ok || (err == nil) != c.wantRun || (runs.Load() == 1) != c.wantRun || errors.Is(err, actors.ErrBusy) == c.wantRun {
			t.Errorf("%+v: %d runs; %v, %v", c, runs.Load(), err, ok)
		}
		if c.wantRun && calling.Load() != 1 {
			t.Errorf("Calling counts %d jobs while it runs", calling.Load())
		}
	}
	close(release)
	mustReturn(t, "at rest", f.Quiesce)
}

func TestActorAnswersOthersWhileAJobRuns(t *testing.T) {
	for _, isShort := range []bool{false, true} {
		f := open(t, 0)
		running, release := make(chan struct{}), make(chan struct{})
		registry := f.runners(isShort, func() { close(running); <-release })
		first, second := &request{task: commitFirst, key: key(1)}, &request{task: replyAtOnce, key: key(1)}
		firstReply := make(chan error, 1)
		go func() {
			err := registry.Command(first.key, first)
			if err == nil {
				err, _ = first.Wait(time.Now().Add(2 * patience))
			}
			firstReply <- err
		}()
		mustReturn(t, "the job begins", func() { <-running })
		registry.Tell(second.key, second) // Tell, because the caller of Command would run the actor itself
		if err, ok := second.Wait(time.Now().Add(patience)); err != nil || !ok {
			t.Errorf("short %v: another caller got %v, %v during the job", isShort, err, ok)
		}
		close(release)
		mustReturn(t, "the first reply", func() {
			if err := <-firstReply; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestJobThatPanicsIsReported(t *testing.T) {
	for _, isShort := range []bool{false, true} {
		f := open(t, 0)
		registry := f.runners(isShort, func() { panic("4242424242424242") })
		r := &request{task: commitFirst, key: key(1)}
		if err := registry.Command(r.key, r); err != nil {
			t.Fatal(err)
		}
		if err, ok := r.Wait(time.Now().Add(patience)); err != nil || !ok {
			t.Errorf("short %v: %v, %v", isShort, err, ok)
		}
		mustReturn(t, "at rest", f.Quiesce)
		if f.ActorsWithWork() != 0 || f.Outstanding() != 0 {
			t.Errorf("short %v: %d actors and %d units of work are left", isShort, f.ActorsWithWork(), f.Outstanding())
		}
	}
}

// The caller's deadline may pass before the caller has begun the job, during the job, or just when the job begins or
// ends.
func TestJobOfACallerThatLeavesIsDone(t *testing.T) {
	f := open(t, 0)
	var runs atomic.Int64
	registry := f.runners(true, func() { runs.Add(1) })
	const requests = 2_000
	for i := range requests {
		r := &request{task: commitFirst, key: wideKey(i)}
		if err := registry.Command(r.key, r); err != nil {
			t.Fatal(err)
		}
		r.Wait(time.Now().Add(time.Duration(i%10) * time.Microsecond))
	}
	mustReturn(t, "at rest", f.Quiesce)
	if runs.Load() != requests || f.ActorsWithWork() != 0 {
		t.Errorf("%d of %d jobs ran; %d actors are left", runs.Load(), requests, f.ActorsWithWork())
	}
}
