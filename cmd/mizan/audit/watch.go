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

// stateMode is the permission mode of the state file. Other users must not be able to write this file, because they could
// remove a head from it.
const stateMode = 0o600

// minInterval is the shortest interval of --every.
const minInterval = time.Second

// watchCommand is `mizan audit watch`. It stores the server's last head (a signed statement of the number of events and their
// root hash). If the server can't prove that a later head extends the stored head, the command refuses the later head.
type watchCommand struct {
	client.LedgerFlags
	File  string        `name:"state" required:"" placeholder:"FILE" help:"File in which the watch stores the last head; the first run creates it."`
	Key   *string       `name:"key" placeholder:"KEY" help:"Public key that verifies the heads; default on the first run: the key that the server reports."`
	Every time.Duration `name:"every" placeholder:"DURATION" help:"Poll the server at this interval; default: poll once."`
}

// watchRun is one run of `mizan audit watch`.
type watchRun struct {
	*watchCommand
	server  *auditServer
	streams *cli.Streams
	keyFlag string          // value of --key; empty if the flag is absent
	state   *evidence.Watch // nil until the first head is stored
}

const watchName = "audit watch"

// Run implements the command. With --every, the command continues while the server is unreachable, and polls it again after the
// interval. Every other fault ends the command.
func (c *watchCommand) Run(s *cli.Streams) error {
	if c.Every != 0 && c.Every < minInterval {
		return misused(watchName, "--every: want %v or more", minInterval)
	}
	w := &watchRun{watchCommand: c, streams: s}
	var err error
	if w.keyFlag, err = keyFromFlag(watchName, c.Key); err != nil {
		return err
	}
	if w.server, err = openAudit(&c.LedgerFlags, watchName, s); err != nil {
		return err
	}
	release, err := w.lock()
	if err != nil {
		return err
	}
	defer release()
	if err := w.load(); err != nil {
		return err
	}
	ctx, stop := cli.SignalContext()
	defer stop()
	for {
		err := w.poll()
		var fault *client.Fault
		if c.Every == 0 || err != nil && !(errors.As(err, &fault) && fault.Code == cli.ExitStorage) {
			return err
		}
		if err != nil {
			_ = cli.ReportExit(err, s.Err) // print the error; the returned exit code is not used
		}
		if !waitFor(ctx, c.Every) {
			return nil
		}
	}
}

// waitFor waits for the time d and returns true. If the command must end, it returns false at once.
func waitFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// lock locks the state file. Without the lock, another watch that polls at the same time could overwrite a later head with an
// earlier head. lock also removes the temporary files of a killed watch. If the state file is a symbolic link, the watch uses
// the file to which the link leads, and the link remains.
func (w *watchRun) lock() (release func(), err error) {
	if w.File == "" {
		return nil, misused(watchName, "--state: is empty")
	}
	if target, err := filepath.EvalSymlinks(w.File); err == nil {
		w.File = target
	}
	lock, err := os.OpenFile(w.File+".lock", os.O_RDWR|os.O_CREATE, stateMode)
	if err != nil {
		return nil, misused(watchName, "--state: %v", err)
	}
	if err := filelock.Try(lock); err != nil {
		_ = lock.Close() // nothing was written
		if errors.Is(err, filelock.ErrHeld) {
			return nil, &cli.Fault{Code: cli.ExitLocked, Lines: []string{"mizan: " + watchName + ": another watch is at work with " + cli.OneLine(w.File)}}
		}
		return nil, misused(watchName, "--state: %v", err)
	}
	durable.RemoveLeftovers(filepath.Dir(w.File), filepath.Base(w.File))
	return func() { _ = lock.Close() }, nil
}

// load reads the state file if it exists. It checks that the flags do not name another key or another organization than the
// file.
func (w *watchRun) load() error {
	content, err := cli.ReadFile(w.File, evidence.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return misused(watchName, "--state: %v", err)
	}
	if w.state, err = evidence.ParseWatch(content); err != nil {
		return misused(watchName, "--state: %s: %v", w.File, err)
	}
	if w.keyFlag != "" && w.keyFlag != w.state.Key {
		return misused(watchName, "--key: %s was begun with the key %s", w.File, w.state.Key)
	}
	id := w.state.Head.Organization
	switch requested := w.server.ledger.NamedOrganization(); {
	case requested == "":
		w.server.ledger.SetOrganization(id.String())
	case !sameID(id, requested):
		return misused(watchName, "--organization: %s is of organization %s", w.File, id)
	}
	return nil
}

// poll requests the server's head once and checks it.
func (w *watchRun) poll() error {
	if w.state == nil {
		return w.storeFirstHead()
	}
	signed, err := w.server.head()
	if err != nil {
		return err
	}
	oldSize := w.state.Head.Tree.N
	err = w.state.Advance(signed, w.proveExtension)
	var refusal *evidence.Refusal
	if errors.As(err, &refusal) {
		return w.storeRefused(signed, refusal)
	}
	if err != nil {
		return err
	}
	if err := w.save(); err != nil {
		return err
	}
	return w.report("extends the %d that were seen before", oldSize)
}

// report prints a line about the last head. With --every, the line begins with the time, because the command prints a line at
// each poll.
func (w *watchRun) report(format string, args ...any) error {
	timePrefix := ""
	if w.Every != 0 {
		timePrefix = time.Now().UTC().Format(time.RFC3339) + " "
	}
	head := w.state.Head
	_, err := fmt.Fprintf(w.streams.Out, "%sorganization %s: %d events, root %v: %s\n",
		timePrefix, head.Organization, head.Tree.N, head.Tree.Hash, fmt.Sprintf(format, args...))
	return err
}

// proveExtension implements evidence.ExtensionProver. If the server refuses the proof although it still answers requests for
// heads, the new head is refused. If the server also refuses requests for heads, for example because the session has expired,
// an ordinary error is returned.
func (w *watchRun) proveExtension(from, to int64) (tlog.TreeProof, error) {
	proof, err := w.server.consistencyProof(from, to)
	var f *client.Fault
	if !errors.As(err, &f) || f.Code != cli.ExitConfiguration {
		return proof, err
	}
	if _, sessionErr := w.server.head(); sessionErr != nil {
		return nil, err
	}
	return nil, &evidence.Refusal{Reason: fmt.Sprintf("the server signs %d events and does not prove that they begin with the %d that were seen", to, from)}
}

// storeFirstHead stores the first head. If no flag names the key, the key comes from the server. In that case the first poll
// must trust the server, and the key protects only later polls.
func (w *watchRun) storeFirstHead() error {
	key, err := w.server.keyOrServersKey(w.keyFlag)
	if err != nil {
		return err
	}
	head, err := w.server.verifiedHead(key)
	var refusal *evidence.Refusal
	if errors.As(err, &refusal) {
		return refusedEvidence(watchName, err)
	}
	if err != nil {
		return err
	}
	w.state = &evidence.Watch{Key: key, Head: head}
	if err := w.save(); err != nil {
		return err
	}
	if w.keyFlag == "" {
		_, _ = fmt.Fprintf(w.streams.Err, "mizan: %s: the key was taken from the server: compare it with the one that you got elsewhere: %s\n", watchName, key)
	}
	return w.report("the watch begins")
}

func (w *watchRun) save() error {
	if err := durable.Replace(w.File, stateMode, w.state.Encode()); err != nil {
		return misused(watchName, "--state: %v", err)
	}
	return nil
}

// storeRefused stores a refused head in a file beside the state file. If two heads with the same signing key contradict each
// other, they are evidence against the server's operator, and only the auditor has both heads. A head that the key did not sign
// proves nothing and is not stored.
func (w *watchRun) storeRefused(signed []byte, refusal *evidence.Refusal) error {
	fault := refusedEvidence(watchName, refusal)
	withLine := func(format string, args ...any) *cli.Fault {
		fault.Lines = append(fault.Lines, "mizan: "+watchName+": "+cli.OneLine(fmt.Sprintf(format, args...)))
		return fault
	}
	key, err := note.NewVerifier(w.state.Key)
	if err != nil {
		return err
	}
	if _, err := note.Open(signed, note.VerifierList(key)); err != nil {
		return withLine("it is not signed with the key of %s, and is not kept", w.File)
	}
	path, err := storeRefusedHead(w.File+".refused", signed)
	if err != nil {
		return withLine("the refused head could not be kept: %v", err)
	}
	return withLine("the head that was refused is in %s; the last that was believed stays in %s", path, w.File)
}

// maxRefusedHeads bounds the number of refused heads that are stored beside a state file.
const maxRefusedHeads = 1000

// storeRefusedHead stores a refused head in a new file. If a file already contains the head, it returns the path of that file.
// It never overwrites a file, because the first contradiction may matter more than the last.
func storeRefusedHead(firstPath string, signed []byte) (path string, err error) {
	path = firstPath
	for n := 2; n <= maxRefusedHeads; n++ {
		if err = durable.Create(path, stateMode, signed); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
		if stored, err := cli.ReadFile(path, evidence.MaxHead); err == nil && bytes.Equal(stored, signed) {
			return path, nil
		}
		path = fmt.Sprintf("%s.%d", firstPath, n)
	}
	return "", err
}
