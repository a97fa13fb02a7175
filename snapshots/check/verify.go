package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
)

// The exit codes of Verify.
const (
	ExitHolds         = 0 // all rules are fulfilled
	ExitBroken        = 1 // a rule is broken, or the directory or the store can't be used
	ExitConfiguration = 2 // a named file can't be read, or has the wrong format
	ExitLocked        = 3 // the store is in use by another process, or has another schema
)

// VerifyConfig configures Verify. Answers and Canaries are paths of files (see Inputs) and may be empty.
type VerifyConfig struct {
	Data     string // data directory
	Answers  string
	Canaries string
	Log      *slog.Logger // nil: slog.Default

	Keyring   actors.Sealer // keyring of the store's server; if it is nil, cached replies are not opened
	KeyringID [32]byte      // the keyring's identity

	JSON bool // the report is printed as JSON, one object for each rule

	// Organization must exist in the store, unless it is zero. The check always covers the whole store, because it compares data
	// across organizations.
	Organization ledger.ID
}

// Verify checks a closed store. It opens the store like the command serve does, which includes recovery. Then it checks the
// store, records the result in the data directory, prints the report to out and closes the store. If one of these steps fails,
// Verify prints one line that begins with "mizan:" to problems.
func Verify(ctx context.Context, cfg VerifyConfig, out, problems io.Writer) (exit int) {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	report, err := verify(ctx, cfg)
	if report != nil {
		write := report.WriteTo
		if cfg.JSON {
			write = report.WriteJSON
		}
		if _, printErr := write(out); err == nil {
			err = printErr
		}
	}
	switch {
	case err == nil && report.Broken():
		return ExitBroken
	case err == nil:
		return ExitHolds
	case errors.Is(err, store.ErrLocked), store.IsOtherSchema(err):
		return printProblem(problems, ExitLocked, "locked", err)
	case errors.Is(err, findings.ErrInput):
		return printProblem(problems, ExitConfiguration, "configuration", err)
	}
	return printProblem(problems, ExitBroken, "storage", err)
}

// printProblem prints why the store could not be checked, in one line, and returns the exit code.
func printProblem(out io.Writer, exit int, category string, err error) int {
	text := strings.ReplaceAll(strings.TrimPrefix(err.Error(), findings.ErrInput.Error()+": "), "\n", "; ")
	_, _ = fmt.Fprintf(out, "mizan: %s: %s\n", category, text) // if printing fails, there is nowhere else to report it
	return exit
}

// verify is Verify without the output.
func verify(ctx context.Context, cfg VerifyConfig) (report *findings.Report, err error) {
	if err := RequireStore(cfg.Data); err != nil {
		return nil, err
	}
	j, err := posting.Open(posting.Options{
		Store: store.Options{Dir: cfg.Data, Log: cfg.Log, MustExist: true},
		Clock: clock.Real{},
		Log:   cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if err := requireOrganization(j, cfg.Organization); err != nil {
		return nil, err
	}
	if storeKeyring := j.BoundKeyring(); cfg.Keyring != nil && storeKeyring != cfg.KeyringID && storeKeyring != [32]byte{} {
		return nil, fmt.Errorf("%w: keyring: %w", findings.ErrInput, store.ErrOtherKeyring)
	}
	report, err = Check(ctx, j, Inputs{Data: cfg.Data, Answers: cfg.Answers, Canaries: cfg.Canaries, Keyring: cfg.Keyring, Log: cfg.Log})
	if err == nil {
		if saveErr := SaveLast(cfg.Data, report, clock.Real{}.Now()); saveErr != nil {
			cfg.Log.Warn("the result of the check can't be recorded", "error", saveErr)
		}
	}
	return report, err
}

// requireOrganization returns an error if the store has no rows of the organization.
func requireOrganization(j *posting.Journal, want ledger.ID) error {
	if want == (ledger.ID{}) {
		return nil
	}
	v := j.View()
	defer v.Close()
	found := false
	err := v.Organizations(func(id ledger.ID) (bool, error) {
		found = found || id == want
		return !found, nil
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: the store holds no organization %s", findings.ErrInput, want)
	}
	return err
}

// RequireStore returns an error for a directory in which no server was ever started. Opening such a directory would
// create an empty store, which breaks no rule, so the check would find no fault.
func RequireStore(data string) error {
	if _, err := os.Stat(data); err != nil {
		return err
	}
	for _, name := range [...]string{"log", "store", "LOCK"} {
		_, err := os.Stat(filepath.Join(data, name))
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", data, store.ErrNoStore)
}
