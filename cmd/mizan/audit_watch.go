package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"mizan/cmd/mizan/admin"
	"mizan/cmd/mizan/evidence"
	"mizan/internal/durable"
)

// stateMode is that of a watch's state: whoever can write it can make the watch
// forget.
const stateMode = 0o600

// minEvery is how often a watch may look.
const minEvery = time.Second

// watchCommand is `mizan audit watch`.
type watchCommand struct {
	admin.LedgerFlags
	State string        `name:"state" required:"" placeholder:"FILE" help:"What the watch remembers; it is made the first time."`
	Key   string        `name:"key" placeholder:"KEY" help:"Key of the heads; without it, the first time, the one that the server names."`
	Every time.Duration `name:"every" placeholder:"DURATION" help:"Look again and again, so far apart; without it once."`
}

// watching is the command under way.
type watching struct {
	*watchCommand
	server  *auditServer
	streams *streams
	state   *evidence.Watch // nil before the first look
}

const watchName = "audit watch"

// Run implements the command. With --every a server that gives no answer is asked
// again; whatever else is wrong ends it.
func (c *watchCommand) Run(s *streams) error {
	if c.Every != 0 && c.Every < minEvery {
		return misused(watchName, "--every: want %v or more", minEvery)
	}
	if err := wellFormed(watchName, c.Key); err != nil {
		return err
	}
	w := &watching{watchCommand: c, streams: s}
	var err error
	if w.server, err = openAudit(&c.LedgerFlags, watchName, s); err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	for {
		err := w.look()
		var unanswered *admin.Fault
		if c.Every == 0 || err != nil && !(errors.As(err, &unanswered) && unanswered.Code == exitStorage) {
			return err
		}
		if err != nil {
			_ = exitCode(ofAdmin(err), s.err) // for the line that it prints
		}
		if !pause(ctx, c.Every) {
			return nil
		}
	}
}

// pause waits; false if the command is to end.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// load reads the state, if there is one, and holds it against the flags.
func (w *watching) load() error {
	content, err := readBounded(w.State, evidence.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return misused(watchName, "--state: %v", err)
	}
	if w.state, err = evidence.ParseWatch(content); err != nil {
		return misused(watchName, "--state: %s: %v", w.State, err)
	}
	if w.Key != "" && w.Key != w.state.Key {
		return misused(watchName, "--key: %s was begun with the key %s", w.State, w.state.Key)
	}
	id := w.state.Head.Organization
	switch named := w.server.ledger.Named(); {
	case named == "":
		w.server.ledger.Name(id.String())
	case !sameID(id, named):
		return misused(watchName, "--organization: %s is of organization %s", w.State, id)
	}
	return nil
}

// look asks the server once.
func (w *watching) look() error {
	if w.state == nil {
		return w.begin()
	}
	signed, err := w.server.head()
	if err != nil {
		return err
	}
	last := w.state.Head.Tree.N
	err = w.state.Advance(signed, w.extension)
	var refusal *evidence.Refusal
	if errors.As(err, &refusal) {
		return w.accuse(signed, refusal)
	}
	if err != nil {
		return err
	}
	if err := w.save(); err != nil {
		return err
	}
	t := &w.state.Head.Tree
	_, err = fmt.Fprintf(w.streams.out, "organization %s: %d events, root %v: extends the %d that were seen before\n",
		w.state.Head.Organization, t.N, t.Hash, last)
	return err
}

// extension implements evidence.Extension. A server that signs a head and will not
// prove it is refused, unless it turns the session away as a whole.
func (w *watching) extension(from, to int64) (tlog.TreeProof, error) {
	proof, err := w.server.consistency(from, to)
	var f *admin.Fault
	if !errors.As(err, &f) || f.Code != exitConfiguration {
		return proof, err
	}
	if _, turnedAway := w.server.head(); turnedAway != nil {
		return nil, err
	}
	return nil, &evidence.Refusal{Why: fmt.Sprintf("the server signs %d events and does not prove that they begin with the %d that were seen", to, from)}
}

// begin takes the first head. A key that the server names is worth something from
// the second look on: the first trusts it.
func (w *watching) begin() error {
	key, err := w.server.keyOr(w.Key)
	if err != nil {
		return err
	}
	head, err := w.server.ownHead(key)
	var refusal *evidence.Refusal
	if errors.As(err, &refusal) {
		return unbelieved(watchName, err)
	}
	if err != nil {
		return err
	}
	w.state = &evidence.Watch{Key: key, Head: head}
	if err := w.save(); err != nil {
		return err
	}
	if w.Key == "" {
		_, _ = fmt.Fprintf(w.streams.err, "mizan: %s: the key was taken from the server: compare it with the one that you got elsewhere: %s\n", watchName, key)
	}
	_, err = fmt.Fprintf(w.streams.out, "organization %s: %d events, root %v: the watch begins\n", head.Organization, head.Tree.N, head.Tree.Hash)
	return err
}

func (w *watching) save() error {
	if err := durable.Replace(w.State, stateMode, w.state.Encode()); err != nil {
		return misused(watchName, "--state: %v", err)
	}
	return nil
}

// accuse keeps what was refused beside the state: two heads by one key that do not
// fit together are the proof against the server, and only the auditor has both.
func (w *watching) accuse(signed []byte, refusal *evidence.Refusal) error {
	f := unbelieved(watchName, refusal)
	kept := w.State + ".refused"
	if err := durable.Replace(kept, stateMode, signed); err != nil {
		f.lines = append(f.lines, "mizan: "+watchName+": the refused head could not be kept: "+folded(err.Error()))
		return f
	}
	f.lines = append(f.lines, "mizan: "+watchName+": the head that was refused is in "+folded(kept)+"; the last that was believed stays in "+folded(w.State))
	return f
}
