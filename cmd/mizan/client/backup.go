package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// BackupFlags name the server and the caller of a command that takes a backup. They are AdminFlags without the
// organization, because a backup contains all organizations.
type BackupFlags struct {
	URL       *string `name:"url" placeholder:"URL" help:"The server, scheme and host only (default https://127.0.0.1:8443) ($MIZAN_URL)."`
	TokenFile *string `name:"token-file" placeholder:"FILE" help:"File with the admin token; - is stdin ($MIZAN_ADMIN_TOKEN has the token itself)."`
	CAFile    *string `name:"ca-file" placeholder:"FILE" help:"Certificates (PEM) to trust, and no others; the system's if absent ($MIZAN_CA_FILE)."`
	Sandbox   string  `name:"sandbox" placeholder:"DIR|FILE" help:"Take all of these from a sandbox's data directory, or from its sandbox.json."`
}

// Bounds of a backup's transfer.
const (
	backupStallTimeout = 2 * time.Minute // how long the transfer may receive no byte
	maxBackupRefusal   = 64 << 10        // bytes of a response that is not a backup
)

// Take sends the request for a backup, with this body, and copies the backup to out as it arrives. If Take returns an
// error, which is a *Fault, out has no complete backup.
func (f *BackupFlags) Take(ctx context.Context, commandName string, s *Streams, body []byte, out io.Writer) error {
	command := Command{Name: commandName, Streams: s}
	flags, noOrganization := AdminFlags{URL: f.URL, TokenFile: f.TokenFile, CAFile: f.CAFile, Sandbox: f.Sandbox}, ""
	flags.Organization = &noOrganization // the organization in the environment does not apply
	client, err := flags.Open()
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
		return command.Failed("%s: %v", client.BaseURL, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, client.BaseURL+basePath+"/backups", bytes.NewReader(body))
	if err != nil {
		return command.Misused("%v", err)
	}
	request.Header.Set("Authorization", "Bearer "+client.token)
	request.Header.Set("Content-Type", "application/json")
	client.http.Timeout = 0 // a backup may take any length of time
	response, err := client.http.Do(request)
	if err != nil {
		return failure(withoutURL(err))
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
	output := &outputWriter{out: out}
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

// stallReader resets the stall timer whenever bytes arrive.
type stallReader struct {
	io.Reader
	timer *time.Timer
}

// Read implements io.Reader.
func (w *stallReader) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.timer.Reset(backupStallTimeout)
	}
	return n, err
}

// outputWriter remembers errors of writing, to distinguish them from errors of receiving.
type outputWriter struct {
	out      io.Writer
	writeErr error
}

// Write implements io.Writer.
func (w *outputWriter) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	w.writeErr = err
	return n, err
}
