package actors_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
)

// request is a command whose caller waits for its reply.
type request struct {
	actors.Waiter[error]
	task task
	key  actors.RecordKey // key of the actor to which the request was sent
}

// Refuse implements actors.Refusable.
func (r *request) Refuse(err error) { r.Answer(err) }

// task is the work that a request makes its actor do before the reply.
type task uint8

const (
	replyAtOnce task = iota
	commitFirst
	panicFirst
	taskCount
)

// responder is an actor that carries out the tasks of requests.
type responder struct {
	key     actors.RecordKey
	version uint64
	pending *request // the request whose Change is being made durable
}

func (a *responder) Receive(c *actors.Context, message any) {
	r := message.(*request)
	if r.key != a.key {
		r.Answer(errors.New("a message of another key"))
		return
	}
	switch r.task {
	case replyAtOnce:
		r.Answer(nil)
	case commitFirst:
		a.pending = r
		source := ledger.Source{Kind: ledger.Settlement, ID: a.key.ID}
		if a.version == 0 {
			v := c.Runtime.Journal.View()
			stored, _, _ := v.Record(org, source)
			v.Close()
			a.version = stored.Header.Version
		}
		c.Commit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{Org: org, Source: source, Expect: a.version, Record: []byte{1}, Events: []ledger.Event{{Name: "w", To: "x"}}}}})
	default:
		panic("a bug")
	}
}

func (a *responder) Committed(_ *actors.Context, _ *posting.Change, r posting.Receipt) {
	if r.Err == nil {
		a.version = r.Headers[0].Version
	}
	a.pending.Answer(r.Err)
}

func (a *responder) Idle() bool             { return true }
func (a *responder) Failed(*actors.Context) {}

// Actors come and go while callers wait, give up, and see panics. Each caller that waits long enough gets the reply to its
// own request, and nothing is left in the end.
func TestCallersOfActorsThatComeAndGoGetTheirReplies(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := open(t, 0)
	for _, keepIdle := range []time.Duration{0, time.Hour} {
		registry := actors.NewRegistry(f.Runtime, "responder", keepIdle, func(k actors.RecordKey) actors.Behaviour { return &responder{key: k} })
		const callers, requestsEach, keys = 32, 300, 5
		var group sync.WaitGroup
		var replies atomic.Int64
		for caller := range callers {
			random := rand.New(rand.NewPCG(seed, uint64(caller)))
			group.Go(func() {
				for range requestsEach {
					r := &request{task: task(random.IntN(int(taskCount))), key: key(byte(random.IntN(keys)))}
					if err := registry.Command(r.key, r); err != nil {
						t.Error(err)
						return
					}
					if random.IntN(4) == 0 {
						r.Wait(time.Now().Add(time.Duration(random.IntN(500)) * time.Microsecond))
						continue
					}
					if err, ok := r.Wait(time.Now().Add(2 * patience)); !ok || !errors.Is(err, actors.ErrBusy) && (err == nil) != (r.task != panicFirst) {
						t.Errorf("task %d: %v, %v", r.task, err, ok)
						return
					}
					replies.Add(1)
				}
			})
		}
		mustReturn(t, "the callers", group.Wait)
		mustReturn(t, "at rest", f.Quiesce)
		if f.ActorsWithWork() != 0 || f.Outstanding() != 0 {
			t.Errorf("%d actors and %d units of work are left", f.ActorsWithWork(), f.Outstanding())
		}
		if replies.Load() < callers*requestsEach/2 {
			t.Errorf("only %d replies", replies.Load())
		}
	}
}
