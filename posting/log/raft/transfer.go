package raft

import (
	"errors"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"
)

// Bounds of a transfer.
const (
	transferTime = time.Second
	transferLook = 2 * time.Millisecond // time between two looks at whether the other node has all entries, and whether it leads
)

// Transfer makes another node the leader; an empty name: whichever member is furthest. The other node must have all entries, so
// Propose waits meanwhile. The error is ErrNotLeader if the replica does not lead.
//
// Raft's own transfer is not used: if the lead is lost during one, version 1.8.0 may take it for unfinished for ever, and then
// refuses all entries whenever the replica leads again.
func (r *Replica) Transfer(to Member) error {
	ended := make(chan struct{})
	if !r.transfer.CompareAndSwap(nil, &ended) {
		return errors.New("raft: another transfer is under way")
	}
	defer func() {
		r.transfer.Store(nil)
		close(ended)
	}()
	if !r.IsLeader() {
		return ErrNotLeader
	}
	term := r.Term()
	var candidates []hraft.Server
	for _, s := range r.configuration() {
		if s.Suffrage == hraft.Voter && s.ID != r.name && (to.Name == "" || string(s.ID) == to.Name) {
			candidates = append(candidates, s)
		}
	}
	if len(candidates) == 0 {
		return fmt.Errorf("raft: no member %s can take over", to.Name)
	}
	timeout, looks := time.NewTimer(transferTime), time.NewTicker(transferLook)
	defer timeout.Stop()
	defer looks.Stop()
	answer := make(chan error, 1)
	for isAsked := false; ; {
		if !r.IsLeader() || r.Term() != term {
			return nil
		}
		if target, hasAll := r.confirmations.furthest(candidates, term, r.raft.LastIndex()); hasAll && !isAsked {
			isAsked = true
			go func() { answer <- r.standForElection(target) }()
		}
		select {
		case err := <-answer:
			if err != nil {
				return fmt.Errorf("raft: asking the node to take over: %w", err)
			}
		case <-looks.C:
		case <-r.closed:
			return ErrNotLeader
		case <-timeout.C:
			return fmt.Errorf("raft: no node has taken over within %v", transferTime)
		}
	}
}

// standForElection asks a replica, which may be this one, to stand for election at once. The others vote although they have a leader.
func (r *Replica) standForElection(target hraft.Server) error {
	own := r.transport.LocalAddr()
	return r.transport.TimeoutNow(target.ID, target.Address, &hraft.TimeoutNowRequest{
		RPCHeader: hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte(r.name), Addr: r.transport.EncodePeer(r.name, own)},
	}, new(hraft.TimeoutNowResponse))
}

// awaitTransfer waits until no transfer is under way.
func (r *Replica) awaitTransfer() {
	if ended := r.transfer.Load(); ended != nil {
		<-*ended
	}
}
