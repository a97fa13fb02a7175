package simulation

import (
	"errors"
	"io"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"mizan/posting/log/raft"
)

// messageTime is how long a node waits for the answer to one message of Raft, as with the connections of package posting/log/raft.
const messageTime = 10 * time.Second

// transport carries Raft's messages between one process and the processes on the other machines. It implements
// raft.ClosingTransport, hraft.WithPreVote and cluster.Transports. In place of bytes it carries the messages themselves.
type transport struct {
	cluster  *clusterWorld
	machine  *machine
	process  *process
	received chan hraft.RPC
	closed   chan struct{}
	closing  sync.Once

	mu        sync.Mutex
	heartbeat func(hraft.RPC) // guarded by mu
}

func newTransport(c *clusterWorld, m *machine, p *process) *transport {
	return &transport{cluster: c, machine: m, process: p, received: make(chan hraft.RPC), closed: make(chan struct{})}
}

// Transport implements cluster.Transports: the cluster has one shard.
func (t *transport) Transport(uint32, string) raft.ClosingTransport { return t }

// Know implements cluster.Transports.
func (t *transport) Know(raft.Member) {}

// Seek implements cluster.Transports.
func (t *transport) Seek(func()) {}

// Close implements hraft.WithClose and cluster.Transports.
func (t *transport) Close() error {
	t.closing.Do(func() { close(t.closed) })
	return nil
}

// Consumer implements hraft.Transport.
func (t *transport) Consumer() <-chan hraft.RPC { return t.received }

// LocalAddr implements hraft.Transport.
func (t *transport) LocalAddr() hraft.ServerAddress { return hraft.ServerAddress(t.machine.name) }

// EncodePeer implements hraft.Transport.
func (t *transport) EncodePeer(_ hraft.ServerID, a hraft.ServerAddress) []byte { return []byte(a) }

// DecodePeer implements hraft.Transport.
func (t *transport) DecodePeer(b []byte) hraft.ServerAddress { return hraft.ServerAddress(b) }

// SetHeartbeatHandler implements hraft.Transport.
func (t *transport) SetHeartbeatHandler(handle func(hraft.RPC)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heartbeat = handle
}

var errRefused = errors.New("no process accepts connections")

// accept hands a message to Raft and waits for the answer.
func (t *transport) accept(rpc hraft.RPC, deadline time.Time) (any, error) {
	answer := make(chan hraft.RPCResponse, 1)
	rpc.RespChan = answer
	t.mu.Lock()
	heartbeat := t.heartbeat
	t.mu.Unlock()
	timeout := time.NewTimer(time.Until(deadline))
	defer timeout.Stop()
	if a, ok := rpc.Command.(*hraft.AppendEntriesRequest); ok && heartbeat != nil && a.PrevLogEntry == 0 && a.PrevLogTerm == 0 && len(a.Entries) == 0 && a.LeaderCommitIndex == 0 {
		heartbeat(rpc)
	} else if err := t.deliver(rpc, timeout.C); err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		return a.Response, a.Error
	case <-t.closed:
		return nil, errRefused
	case <-t.process.ended:
		return nil, errRefused
	case <-timeout.C:
		return nil, errLost
	}
}

func (t *transport) deliver(rpc hraft.RPC, timeout <-chan time.Time) error {
	select {
	case t.received <- rpc:
		return nil
	case <-t.closed:
		return errRefused
	case <-t.process.ended:
		return errRefused
	case <-timeout:
		return errLost
	}
}

// call sends a message and waits for the answer.
func (t *transport) call(target hraft.ServerAddress, command any, content io.Reader) (any, error) {
	deadline := time.Now().Add(messageTime)
	to, f, err := t.send(target, deadline)
	if err != nil {
		return nil, err
	}
	if f.isTwice && content == nil {
		again := copyOf(command)
		go func() {
			time.Sleep(f.doubled)
			if to.process.isAlive() {
				_, _ = to.accept(hraft.RPC{Command: again}, time.Now().Add(messageTime)) // nobody waits for this answer
			}
		}()
	}
	answer, err := to.accept(hraft.RPC{Command: copyOf(command), Reader: content}, deadline)
	return t.receive(to, answer, err, deadline)
}

// send takes the time of a message's way, and returns the transport that it has reached.
func (t *transport) send(target hraft.ServerAddress, deadline time.Time) (to *transport, f fate, err error) {
	m := t.cluster.machineNamed(string(target))
	f, err = t.cluster.network.carry(t.machine.number, m.number, deadline)
	if errors.Is(err, errLost) { // a broken connection is noticed at once, or not before the time is over
		if f.isTwice || f.delay%2 == 0 {
			time.Sleep(time.Until(deadline))
		}
		return nil, f, err
	}
	if !t.process.isAlive() {
		return nil, f, errRefused
	}
	p := m.running()
	if p == nil || !p.isAlive() || p.transport == nil {
		return nil, f, errRefused
	}
	return p.transport, f, nil
}

// receive takes the time of an answer's way.
func (t *transport) receive(from *transport, answer any, err error, deadline time.Time) (any, error) {
	if !from.process.isAlive() {
		return nil, errRefused
	}
	if f, err := t.cluster.network.carry(from.machine.number, t.machine.number, deadline); err != nil {
		if f.delay%2 == 0 {
			time.Sleep(time.Until(deadline))
		}
		return nil, err
	}
	if !t.process.isAlive() {
		return nil, errRefused
	}
	return answer, err
}

// copyOf returns a copy of a message, as the receiver would decode it. The entries' data is shared, because nobody changes it.
func copyOf(command any) any {
	switch c := command.(type) {
	case *hraft.AppendEntriesRequest:
		copied := *c
		copied.Entries = make([]*hraft.Log, len(c.Entries))
		for i, e := range c.Entries {
			copied.Entries[i] = new(*e)
		}
		return &copied
	case *hraft.RequestVoteRequest:
		return new(*c)
	case *hraft.RequestPreVoteRequest:
		return new(*c)
	case *hraft.TimeoutNowRequest:
		return new(*c)
	}
	return command
}

// AppendEntries implements hraft.Transport.
func (t *transport) AppendEntries(_ hraft.ServerID, target hraft.ServerAddress, args *hraft.AppendEntriesRequest, resp *hraft.AppendEntriesResponse) error {
	answer, err := t.call(target, args, nil)
	if a, ok := answer.(*hraft.AppendEntriesResponse); ok && err == nil {
		*resp = *a
	}
	return err
}

// AppendEntriesPipeline implements hraft.Transport. Replicas do not use it.
func (t *transport) AppendEntriesPipeline(hraft.ServerID, hraft.ServerAddress) (hraft.AppendPipeline, error) {
	return nil, hraft.ErrPipelineReplicationNotSupported
}

// RequestVote implements hraft.Transport.
func (t *transport) RequestVote(_ hraft.ServerID, target hraft.ServerAddress, args *hraft.RequestVoteRequest, resp *hraft.RequestVoteResponse) error {
	answer, err := t.call(target, args, nil)
	if a, ok := answer.(*hraft.RequestVoteResponse); ok && err == nil {
		*resp = *a
	}
	return err
}

// RequestPreVote implements hraft.WithPreVote.
func (t *transport) RequestPreVote(_ hraft.ServerID, target hraft.ServerAddress, args *hraft.RequestPreVoteRequest, resp *hraft.RequestPreVoteResponse) error {
	answer, err := t.call(target, args, nil)
	if a, ok := answer.(*hraft.RequestPreVoteResponse); ok && err == nil {
		*resp = *a
	}
	return err
}

// TimeoutNow implements hraft.Transport.
func (t *transport) TimeoutNow(_ hraft.ServerID, target hraft.ServerAddress, args *hraft.TimeoutNowRequest, resp *hraft.TimeoutNowResponse) error {
	answer, err := t.call(target, args, nil)
	if a, ok := answer.(*hraft.TimeoutNowResponse); ok && err == nil {
		*resp = *a
	}
	return err
}

// InstallSnapshot implements hraft.Transport.
func (t *transport) InstallSnapshot(_ hraft.ServerID, target hraft.ServerAddress, args *hraft.InstallSnapshotRequest, resp *hraft.InstallSnapshotResponse, data io.Reader) error {
	m := t.cluster.machineNamed(string(target))
	content := &copiedStore{Reader: io.LimitReader(data, args.Size), transport: t, to: m.number}
	answer, err := t.call(target, new(*args), content)
	content.end()
	if a, ok := answer.(*hraft.InstallSnapshotResponse); ok && err == nil {
		*resp = *a
		t.cluster.copiesSent.Add(1)
	}
	return err
}

// copiedStore is the content of a snapshot on its way.
type copiedStore struct {
	io.Reader
	transport *transport
	to        int

	mu      sync.Mutex
	isEnded bool // guarded by mu; the sender no longer waits
}

// Read implements io.Reader.
func (c *copiedStore) Read(b []byte) (int, error) {
	t := c.transport
	if _, err := t.cluster.network.carry(t.machine.number, c.to, time.Now().Add(messageTime)); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isEnded || !t.process.isAlive() {
		return 0, io.ErrUnexpectedEOF
	}
	return c.Reader.Read(b)
}

func (c *copiedStore) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isEnded = true
}

// standForElection makes the process stand for election, as a replica does that takes the process of the leader for dead.
func (t *transport) standForElection() {
	name := []byte(t.machine.name)
	_, _ = t.accept(hraft.RPC{Command: &hraft.TimeoutNowRequest{
		RPCHeader: hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: name, Addr: name},
	}}, time.Now().Add(messageTime)) // it may fail, as the connection may
}
