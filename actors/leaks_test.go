package actors_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/posting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A runtime that is started and stopped leaves no goroutine, whether it did nothing, worked, ran a job,
// kept an actor or ran a clock.
func TestAStoppedRuntimeLeavesNoGoroutine(t *testing.T) {
	f := open(t, time.Hour) // the store stays open: only the runtimes are examined
	for name, use := range map[string]func(*actors.Runtime, *actors.Registry[actors.RecordKey]){
		"nothing": func(*actors.Runtime, *actors.Registry[actors.RecordKey]) {},
		"a kept actor": func(_ *actors.Runtime, r *actors.Registry[actors.RecordKey]) {
			r.Tell(key(1), call(func() {}))
		},
		"a job that ends with the runtime": func(rt *actors.Runtime, _ *actors.Registry[actors.RecordKey]) {
			if err := rt.Go(func() { <-rt.Context().Done() }); err != nil {
				t.Error(err)
			}
		},
		"more actors than permanent goroutines": func(_ *actors.Runtime, r *actors.Registry[actors.RecordKey]) {
			release := make(chan struct{})
			for i := range 500 {
				r.Tell(wideKey(i), blockUntil{release})
			}
			close(release)
		},
	} {
		for _, testClock := range []clock.Clock{clock.NewManual(start), clock.Real{}} {
			ignoreEarlier := goleak.IgnoreCurrent()
			rt := actors.New(actors.Options{Clock: testClock, Journal: f.Journal, Log: f.Log})
			registry := actors.NewRegistry(rt, "probe", time.Hour, func(k actors.RecordKey) actors.Behaviour {
				return &probe{fixture: f, key: k}
			})
			rt.Start(func(posting.DueItem) bool { return false })
			use(rt, registry)
			mustReturn(t, name+": stopped", rt.Stop)
			if err := goleak.Find(ignoreEarlier); err != nil {
				t.Errorf("%s, %T: %v", name, testClock, err)
			}
		}
	}
}

// Calls after Stop neither hang nor leak: the runtime accepts no jobs, and an actor that gets a message
// still handles it.
func TestStoppedRuntimeRefusesJobsAtOnce(t *testing.T) {
	f := open(t, 0)
	rt := actors.New(actors.Options{Clock: f.clock, Journal: f.Journal, Log: f.Log})
	registry := actors.NewRegistry(rt, "probe", 0, func(k actors.RecordKey) actors.Behaviour { return &probe{fixture: f, key: k} })
	rt.Start(func(posting.DueItem) bool { return false })
	rt.Stop()
	if err := rt.Go(func() {}); err == nil {
		t.Error("a job was taken")
	}
	handled := make(chan struct{})
	for range 1_000 {
		registry.Tell(key(1), call(func() {}))
	}
	registry.Tell(key(1), call(func() { close(handled) }))
	mustReturn(t, "handled", func() { <-handled })
}
