package raft

import (
	"errors"
	"fmt"
	"slices"
	"time"

	hraft "github.com/hashicorp/raft"
)

// Members returns the members of the group, whether their confirmations count or not.
func (r *Replica) Members() (members []Member, err error) {
	future := r.raft.GetConfiguration()
	if err := future.Error(); err != nil {
		return nil, fmt.Errorf("raft: %w", err)
	}
	for _, s := range future.Configuration().Servers {
		members = append(members, Member{string(s.ID), string(s.Address)})
	}
	return members, nil
}

// IsVoter tells whether the confirmations of a node count.
func (r *Replica) IsVoter(name string) bool {
	return slices.ContainsFunc(r.configuration(), func(s hraft.Server) bool { return string(s.ID) == name && s.Suffrage == hraft.Voter })
}

// Add adds a node to the group, or gives a member another address. Only the leader can do so. The node must have opened its
// replica with Joins. If isVoter is false, the node gets all frames, but its confirmation does not count; a node should be
// added in this way until it has caught up, because until then its confirmation would be missing. After any error the call can be
// repeated.
func (r *Replica) Add(m Member, isVoter bool, timeout time.Duration) error {
	id, address := hraft.ServerID(m.Name), hraft.ServerAddress(m.Address)
	if isVoter {
		return r.awaitChange(r.raft.AddVoter(id, address, 0, timeout), timeout)
	}
	return r.awaitChange(r.raft.AddNonvoter(id, address, 0, timeout), timeout)
}

// Remove removes a node from the group. Only the leader can do so. After any error the call can be repeated.
func (r *Replica) Remove(name string, timeout time.Duration) error {
	return r.awaitChange(r.raft.RemoveServer(hraft.ServerID(name), 0, timeout), timeout)
}

// awaitChange returns the result of a change of the group's members.
func (r *Replica) awaitChange(change hraft.Future, timeout time.Duration) error {
	switch err := await(change, timeout, func() { r.raft.Barrier(enqueueTimeout) }); {
	case err == nil:
		return nil
	case errors.Is(err, hraft.ErrNotLeader):
		return ErrNotLeader
	default:
		return fmt.Errorf("raft: %w", err)
	}
}

var errUnconfirmed = errors.New("it was not confirmed in time, and may still be carried out")

// nudgeTime is how long a change of the members may be under way before the leader writes a further entry.
const nudgeTime = time.Second

// await returns the error of the change, or errUnconfirmed after the timeout. While the change is under way, await calls nudge each
// nudgeTime, which writes a further entry to the log. Without further entries a change might never be committed: hraft 1.8.0
// writes the change to the log before it counts the confirmations of a new voter, so the new voter's confirmation is lost if
// it comes at once. The confirmation of a later entry confirms the change as well.
func await(change hraft.Future, timeout time.Duration, nudge func()) error {
	ended := make(chan error, 1)
	go func() { ended <- change.Error() }()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); nudge() {
		select {
		case err := <-ended:
			return err
		case <-time.After(nudgeTime):
		}
	}
	return errUnconfirmed
}
