package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/cmd/mizan/audit/evidence"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client"
	"mizan/internal/durable"
	"mizan/internal/filelock"
)

// stateMode is that of a watch's state: whoever can write it can make the watch
// forget.
const stateMode = 0o600

// minEvery is how often a watch may look.
const minEvery = time.Second

// watchCommand is `mizan audit watch`.
type watchCommand struct {
	client.LedgerFlags
	State string        `name:"state" required:"" placeholder:"FILE" help:"What the watch remembers; it is made the first time."`
	Key   *string       `name:"key" placeholder:"KEY" help:"Key of the heads; without it, the first time, the one that the server names."`
	Every time.Duration `name:"every" placeholder:"DURATION" help:"Look again and again, so far apart; without it once."`
}

// watching is the command under way.
type watching struct {
	*watchCommand
	server  *auditServer
	streams *cli.Streams
	key     string          // that was given; empty: none was
	state   *evidence.Watch // nil before the first look
}

const watchName = "audit watch"

// Run implements the command. With --every a server that gives no answer is asked
// again; whatever else is wrong ends it.
func (c *watchCommand) Run(s *cli.Streams) error {
	if c.Every != 0 && c.Every < minEvery {
		return misused(watchName, "--every: want %v or more", minEvery)
	}
	w := &watching{watchCommand: c, streams: s}
	var err error
	if w.key, err = givenKey(watchName, c.Key); err != nil {
		return err
	}
	if w.server, err = openAudit(&c.LedgerFlags, watchName, s); err != nil {
		return err
	}
	release, err := w.hold()
	if err != nil {
		return err
	}
	defer release()
	if err := w.load(); err != nil {
		return err
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	for {
		err := w.look()
		var unanswered *client.Fault
		if c.Every == 0 || err != nil && !(errors.As(err, &unanswered) && unanswered.Code == cli.ExitStorage) {
			return err
		}
		if err != nil {
			_ = cli.ReportExit(err, s.Err) // for the line that it prints
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

// hold keeps other watches off the state: the later of two looks would be overwritten
// by the earlier, and what it has seen forgotten. What a killed watch was writing is
// removed. A state that is a link stays one.
func (w *watching) hold() (release func(), err error) {
	if w.State == "" {
		return nil, misused(watchName, "--state: is empty")
	}
	if target, err := filepath.EvalSymlinks(w.State); err == nil {
		w.State = target
	}
	lock, err := os.OpenFile(w.State+".lock", os.O_RDWR|os.O_CREATE, stateMode)
	if err != nil {
		return nil, misused(watchName, "--state: %v", err)
	}
	if err := filelock.Try(lock); err != nil {
		_ = lock.Close() // nothing was written
		if errors.Is(err, filelock.ErrHeld) {
			return nil, &cli.Fault{Code: cli.ExitLocked, Lines: []string{"mizan: " + watchName + ": another watch is at work with " + cli.OneLine(w.State)}}
		}
		return nil, misused(watchName, "--state: %v", err)
	}
	durable.RemoveLeftovers(filepath.Dir(w.State), filepath.Base(w.State))
	return func() { _ = lock.Close() }, nil
}

// load reads the state, if there is one, and holds it against the flags.
func (w *watching) load() error {
	content, err := cli.ReadFile(w.State, evidence.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return misused(watchName, "--state: %v", err)
	}
	if w.state, err = evidence.ParseWatch(content); err != nil {
		return misused(watchName, "--state: %s: %v", w.State, err)
	}
	if w.key != "" && w.key != w.state.Key {
		return misused(watchName, "--key: %s was begun with the key %s", w.State, w.state.Key)
	}
	id := w.state.Head.Organization
	switch named := w.server.ledger.NamedOrganization(); {
	case named == "":
		w.server.ledger.SetOrganization(id.String())
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
	return w.say("extends the %d that were seen before", last)
}

// say writes what was seen, with the time if there are many such lines.
func (w *watching) say(format string, args ...any) error {
	at := ""
	if w.Every != 0 {
		at = time.Now().UTC().Format(time.RFC3339) + " "
	}
	head := w.state.Head
	_, err := fmt.Fprintf(w.streams.Out, "%sorganization %s: %d events, root %v: %s\n",
		at, head.Organization, head.Tree.N, head.Tree.Hash, fmt.Sprintf(format, args...))
	return err
}

// extension implements evidence.Extension. A server that signs a head and will not
// prove it is refused, unless it turns the session away as a whole.
func (w *watching) extension(from, to int64) (tlog.TreeProof, error) {
	proof, err := w.server.consistency(from, to)
	var f *client.Fault
	if !errors.As(err, &f) || f.Code != cli.ExitConfiguration {
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
	key, err := w.server.keyOr(w.key)
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
	if w.key == "" {
		_, _ = fmt.Fprintf(w.streams.Err, "mizan: %s: the key was taken from the server: compare it with the one that you got elsewhere: %s\n", watchName, key)
	}
	return w.say("the watch begins")
}

func (w *watching) save() error {
	if err := durable.Replace(w.State, stateMode, w.state.Encode()); err != nil {
		return misused(watchName, "--state: %v", err)
	}
	return nil
}

// accuse keeps a head that was refused beside the state: heads by one key that do not
// fit together are what whoever runs the server has to explain, and only the auditor
// has both. What that key has not signed is evidence of nothing.
func (w *watching) accuse(signed []byte, refusal *evidence.Refusal) error {
	f := unbelieved(watchName, refusal)
	say := func(format string, args ...any) *cli.Fault {
		f.Lines = append(f.Lines, "mizan: "+watchName+": "+cli.OneLine(fmt.Sprintf(format, args...)))
		return f
	}
	key, err := note.NewVerifier(w.state.Key)
	if err != nil {
		return err
	}
	if _, err := note.Open(signed, note.VerifierList(key)); err != nil {
		return say("it is not signed with the key of %s, and is not kept", w.State)
	}
	kept, err := keepBeside(w.State+".refused", signed)
	if err != nil {
		return say("the refused head could not be kept: %v", err)
	}
	return say("the head that was refused is in %s; the last that was believed stays in %s", kept, w.State)
}

// maxKept bounds how many refused heads are kept beside a state.
const maxKept = 1000

// keepBeside puts a refused head into a file of its own, unless there is one with it:
// the first that a server was caught with may be worth more than the last.
func keepBeside(first string, signed []byte) (path string, err error) {
	path = first
	for n := 2; n <= maxKept; n++ {
		if err = durable.Create(path, stateMode, signed); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
		if there, err := cli.ReadFile(path, evidence.MaxHead); err == nil && bytes.Equal(there, signed) {
			return path, nil
		}
		path = fmt.Sprintf("%s.%d", first, n)
	}
	return "", err
}
