package raft

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// heldChange is a change of members that ends when its channel gets an error.
type heldChange chan error

func (c heldChange) Error() error { return <-c }

// A change whose confirmation was lost is committed together with the next entry, so the leader writes one.
func TestChangeOfMembersIsNotLeftWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		for _, want := range []error{nil, refused} {
			change, nudges := make(heldChange), 0
			begun := time.Now()
			err := await(change, 20*time.Second, func() {
				if nudges++; nudges == 3 {
					change <- want
				}
			})
			if waited := time.Since(begun); err != want || nudges != 3 || waited != 3*nudgeTime {
				t.Errorf("after %d entries and %v: %v, want %v", nudges, waited, err, want)
			}
		}
		never, begun := make(heldChange), time.Now()
		if err := await(never, 20*time.Second, func() {}); err != errUnconfirmed || time.Since(begun) != 20*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		never <- nil // the bubble ends when its goroutines have ended
	})
}
