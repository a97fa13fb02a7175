package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"mizan/internal/progress"
)

// BackupFlags are the flags of a command that takes a backup. They name the server and the administration token. There is no
// flag for an organization, because a backup contains all organizations.
type BackupFlags struct {
	ConnectionFlags
	TokenFile *string `name:"token-file" placeholder:"FILE" help:"File with the admin token; - is stdin ($MIZAN_ADMIN_TOKEN has the token itself)."`
	Shard     *int    `kong:"-"` // the shard of a cluster to back up; nil: a single server
}

// Open returns a client for the server that the flags name. It does not connect to the server. Every error is a mistake of the
// user.
func (f *BackupFlags) Open() (*Client, error) {
	noOrganization := "" // set, so that the environment variable for the organization is ignored
	flags := AdminFlags{ServerFlags: ServerFlags{ConnectionFlags: f.ConnectionFlags, Organization: &noOrganization}, TokenFile: f.TokenFile}
	return flags.Open()
}

// Bounds for the transfer of a backup.
const (
	backupStallTimeout = 2 * time.Minute // if no byte arrives for this time, the transfer fails
	maxBackupRefusal   = 64 << 10        // if the response is not a backup, at most this number of bytes is read
)

// Take requests a backup and copies the backup to out while it arrives. body is the body of the request. If Take returns an
// error, the backup in out is not complete. The error is a *Fault.
func (f *BackupFlags) Take(ctx context.Context, commandName string, s *Streams, body []byte, out io.Writer) error {
	command := Command{Name: commandName, Streams: s}
	client, err := f.Open()
	if err != nil {
		return command.Misused("%v", err)
	}
	errStalled := errors.New("nothing came for " + backupStallTimeout.String())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stallTimer := time.AfterFunc(backupStallTimeout, func() { cancel(errStalled) })
	defer stallTimer.Stop()
	failure := func(err error) error {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return command.Failed("%s: %v", client.BaseURL, client.withSandboxHint(err))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, client.BaseURL+basePath+"/backups", bytes.NewReader(body))
	if err != nil {
		return command.Misused("%v", err)
	}
	client.authorize(request)
	request.Header.Set("Content-Type", "application/json")
	if f.Shard != nil {
		request.Header.Set("X-Mizan-Shard", strconv.Itoa(*f.Shard))
	}
	client.http.Timeout = 0 // a backup may take any length of time
	response, err := client.http.Do(request)
	if err != nil {
		return failure(withoutURL(err, 0))
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		reply := &Reply{Status: response.StatusCode, Header: response.Header}
		if reply.Body, err = io.ReadAll(io.LimitReader(response.Body, maxBackupRefusal)); err != nil {
			return failure(err)
		}
		_, err := command.Check(reply)
		if err == nil {
			err = command.Failed("%s: the answer is no backup: status %d", client.BaseURL, reply.Status)
		}
		return err
	}
	meter := s.Progress(commandName)
	defer meter.End()
	meter.Begin("", "", estimatedBytes(response.Header))
	output := &outputWriter{out: out, meter: meter}
	if _, err := io.Copy(output, &stallReader{response.Body, stallTimer}); err != nil {
		if output.writeErr != nil {
			return command.Failed("%v", output.writeErr)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return failure(errors.New("the server broke off the backup"))
		}
		return failure(fmt.Errorf("the backup broke off: %w", err))
	}
	return nil
}

// estimatedBytes returns the server's estimate of the backup's size. If the response contains no estimate, it returns 0.
func estimatedBytes(header http.Header) uint64 {
	n, err := strconv.ParseUint(header.Get("X-Estimated-Bytes"), 10, 63)
	if err != nil {
		return 0
	}
	return n
}

// stallReader reads the backup. Whenever bytes arrive, it restarts the timer that ends a stalled transfer.
type stallReader struct {
	io.Reader
	timer *time.Timer
}

// Read implements io.Reader.
func (r *stallReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.timer.Reset(backupStallTimeout)
	}
	return n, err
}

// outputWriter remembers errors of writing, so that the caller can tell them from errors of receiving.
type outputWriter struct {
	out      io.Writer
	meter    *progress.Meter
	writeErr error
}

// Write implements io.Writer.
func (w *outputWriter) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	w.writeErr = err
	w.meter.Count(uint64(n))
	return n, err
}
