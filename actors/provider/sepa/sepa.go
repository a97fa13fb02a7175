package sepa

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/durable"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// RootFile is the file whose presence proves that the storage is mounted.
const RootFile = "sepa-root"

// Folders of a terminal.
const (
	outFolder       = "out"
	inFolder        = "in"
	submittedFolder = "submitted"
)

const (
	folderMode = 0o700
	fileMode   = 0o600

	// inquiryInterval is the time between two inquiries about a payout. Banks send their files a few times a day.
	inquiryInterval = 15 * time.Minute

	// reportInterval is the time between two polls for returns and late bookings.
	reportInterval = 5 * time.Minute

	maxTerminals = 10_000 // folders that one poll looks at
)

// Texts for merchants and operators.
const (
	reasonUnwritable = "The payout could not be written."
	reasonReturned   = "The bank has returned the payout."

	reasonOnlyPaysOut = "A SEPA credit transfer can only pay out."
)

// Options configure a Provider.
type Options struct {
	Root  string // the directory of the terminals' folders
	Clock clock.Clock
	Log   *slog.Logger

	// Terminal finds a terminal of any organization.
	Terminal func(ledger.ID) (*directory.Terminal, bool)
}

// Provider pays out through files. It is safe for concurrent use.
type Provider struct {
	root     string
	clock    clock.Clock
	log      *slog.Logger
	terminal func(ledger.ID) (*directory.Terminal, bool)

	mu      sync.Mutex
	indexes map[ledger.ID]*bookings // guarded by mu
}

var _ actors.Provider = (*Provider)(nil)

// New makes the provider. It reads nothing.
func New(o Options) *Provider {
	return &Provider{root: o.Root, clock: o.Clock, log: o.Log, terminal: o.Terminal, indexes: make(map[ledger.ID]*bookings)}
}

// Name implements actors.Provider.
func (p *Provider) Name() string { return Name }

// Accepts implements actors.Provider.
func (p *Provider) Accepts(operation actors.Operation, method string) bool {
	return operation == actors.PayOut && method == payment.SEPA
}

// paths are the paths of one payout.
type paths struct{ part, file, marker string }

func (p *Provider) folder(terminal ledger.ID, name string) string {
	return filepath.Join(p.root, terminal.String(), name)
}

func (p *Provider) pathsOf(terminal, reference ledger.ID) paths {
	id, out := endToEndID(reference), p.folder(terminal, outFolder)
	return paths{
		part: filepath.Join(out, "."+id+".part"), file: filepath.Join(out, id+".xml"), marker: filepath.Join(p.folder(terminal, submittedFolder), id),
	}
}

// Submit implements actors.Provider. A payout of which the file was handed over is pending until the bank books it.
func (p *Provider) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	account, isOurs := accountOf(call.Terminal)
	if call.Operation != actors.PayOut || !isOurs {
		return refused(reasonOnlyPaysOut)
	}
	at := p.pathsOf(call.Terminal.ID, call.Reference)
	switch wasHandedOver, err := p.wasHandedOver(at); {
	case err != nil:
		return p.failed(call.Terminal, call.Reference, err, payment.VerdictUnknown)
	case wasHandedOver:
		return pending()
	}
	if reason := refusal(call); reason != "" {
		return refused(reason)
	}
	if err := p.prepare(call, account, at); err != nil {
		return p.failed(call.Terminal, call.Reference, err, payment.VerdictNotSent)
	}
	if ctx.Err() != nil {
		return p.failed(call.Terminal, call.Reference, ctx.Err(), payment.VerdictNotSent) // the caller asks already, so nothing may follow
	}
	err := os.Rename(at.part, at.file) // the hand-over
	if err == nil {
		err = durable.SyncDir(filepath.Dir(at.file))
	}
	if err != nil {
		return p.failed(call.Terminal, call.Reference, err, payment.VerdictUnknown)
	}
	return pending()
}

// prepare makes everything durable that precedes the hand-over.
func (p *Provider) prepare(call *actors.Call, account *Account, at paths) error {
	for _, name := range []string{outFolder, inFolder, submittedFolder} {
		if err := os.MkdirAll(p.folder(call.Terminal.ID, name), folderMode); err != nil {
			return err
		}
	}
	content, err := painFile(call, account, p.clock.Now())
	if err != nil {
		return err
	}
	defer clear(content)
	for _, dir := range []string{p.root, filepath.Join(p.root, call.Terminal.ID.String())} {
		if err := durable.SyncDir(dir); err != nil {
			return err
		}
	}
	if err := durable.Replace(at.part, fileMode, content); err != nil {
		return err // without this file, the marker would say that the payout was handed over
	}
	return durable.Replace(at.marker, fileMode, []byte(call.Amount.String()))
}

// wasHandedOver tells whether the transport has, or had, the payout's file.
func (p *Provider) wasHandedOver(at paths) (bool, error) {
	if _, err := os.Stat(filepath.Join(p.root, RootFile)); err != nil {
		return false, fmt.Errorf("the SEPA directory is not there: %w", err)
	}
	hasMarker, err := exists(at.marker)
	if err != nil || !hasMarker {
		return false, err
	}
	hasPart, err := exists(at.part)
	return !hasPart, err
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Inquire implements actors.Provider.
func (p *Provider) Inquire(_ context.Context, q *actors.Inquiry) actors.Outcome {
	if q.Operation != actors.PayOut {
		return refused(reasonOnlyPaysOut) // Submit refuses it too, so it was never carried out
	}
	account, isOurs := accountOf(q.Terminal)
	if !isOurs {
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	wasHandedOver, err := p.wasHandedOver(p.pathsOf(q.Terminal.ID, q.Reference))
	if err != nil {
		return p.failed(q.Terminal, q.Reference, err, payment.VerdictUnknown)
	}
	index := p.index(q.Terminal.ID)
	index.mu.Lock()
	defer index.mu.Unlock()
	if err := index.update(p.folder(q.Terminal.ID, inFolder), account.IBAN); err != nil {
		return p.failed(q.Terminal, q.Reference, err, payment.VerdictUnknown)
	}
	switch s := index.states[q.Reference]; {
	case s != nil && s.credit != nil && s.credit.amount == q.ChargedAmount:
		return actors.Outcome{Verdict: payment.VerdictFailed, Failure: s.credit.failure()}
	case s != nil && s.debit != nil:
		p.compareAmount(q.Terminal.ID, q.Reference, s.debit)
		return actors.Outcome{Verdict: payment.VerdictCharged}
	case wasHandedOver:
		return pending()
	}
	return actors.Outcome{Verdict: payment.VerdictNotFound}
}

// failure returns the reason of a return, with the bank's code.
func (s *bookedSide) failure() payment.Failure {
	f := payment.Failure{Code: payment.ProcessingError, Detail: reasonReturned}
	if isCode(s.reason) {
		f.Detail = reasonReturned + " (" + s.reason + ")"
	}
	return f
}

// isCode tells whether a text is a code of ISO 20022, such as AC04.
func isCode(text string) bool {
	for _, c := range []byte(text) {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return len(text) == 4
}

// index returns the index of a terminal.
func (p *Provider) index(terminal ledger.ID) *bookings {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.indexes[terminal] == nil {
		p.indexes[terminal] = newBookings(p.clock, p.log)
	}
	return p.indexes[terminal]
}

// NextReport returns when the adapter is polled.
func (p *Provider) NextReport(since time.Time) (time.Time, bool) {
	return since.Add(reportInterval), true
}

// Reports implements actors.Provider. A return of a booked payout is a reversal. A booked payout is reported as a late settlement
// too, which changes only a payout that was given up or that has not been inquired about yet. If a folder cannot be read, the error
// makes the next poll cover the same period.
func (p *Provider) Reports(ctx context.Context, since, until time.Time) ([]actors.Report, error) {
	folders, err := os.ReadDir(p.root)
	if err != nil {
		return nil, fmt.Errorf("sepa: reports: %w", err)
	}
	var reports []actors.Report
	for i, folder := range folders {
		id, err := uuid.Parse(folder.Name())
		if err != nil || i >= maxTerminals || ctx.Err() != nil {
			continue
		}
		t, known := p.terminal(id)
		if !known {
			continue // in a cluster, another shard has the terminal
		}
		account, isOurs := accountOf(t)
		if !isOurs {
			continue
		}
		found, err := p.reportsOf(t, account, since, until)
		if err != nil {
			return nil, fmt.Errorf("sepa: reports of terminal %v: %w", id, err) // the next poll covers the same period
		}
		reports = append(reports, found...)
	}
	slices.SortStableFunc(reports, func(a, b actors.Report) int { return a.At.Compare(b.At) })
	return reports, ctx.Err()
}

func (p *Provider) reportsOf(t *directory.Terminal, account *Account, since, until time.Time) (reports []actors.Report, err error) {
	index := p.index(t.ID)
	index.mu.Lock()
	defer index.mu.Unlock()
	if err := index.update(p.folder(t.ID, inFolder), account.IBAN); err != nil {
		return nil, err
	}
	isNew := func(s *bookedSide) bool { return s != nil && s.seenAt.After(since) && !s.seenAt.After(until) }
	for _, reference := range index.order {
		s := index.states[reference]
		r := actors.Report{Org: t.Org, Reference: reference, Terminal: t.ID}
		if isNew(s.credit) {
			p.log.Warn("the bank has credited money with the reference of a payout; compare it with the ledger", "reference", reference.String(),
				"terminal", t.ID.String(), "amount", s.credit.amount.String())
		}
		if isNew(s.debit) {
			p.compareAmount(t.ID, reference, s.debit)
		}
		switch {
		case s.isReturned() && isNew(s.credit):
			r.Kind, r.At, r.Failure = actors.Reversal, s.credit.seenAt, s.credit.failure()
		case !s.isReturned() && isNew(s.debit):
			r.Kind, r.At = actors.LateSettlement, s.debit.seenAt
		default:
			continue
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// isReturned tells whether the money that was paid out has come back as a whole. Another amount with the payout's reference proves
// nothing: anybody who was paid can send it.
func (s *state) isReturned() bool {
	return s.debit != nil && s.credit != nil && s.credit.amount == s.debit.amount && !s.debit.amount.IsZero()
}

// compareAmount logs that the bank has booked another amount than was handed over.
func (p *Provider) compareAmount(terminal, reference ledger.ID, debit *bookedSide) {
	asked, err := os.ReadFile(p.pathsOf(terminal, reference).marker)
	if booked := debit.amount.String(); err == nil && string(asked) != booked {
		p.log.Error("the bank has booked another amount than was asked for", "reference", reference.String(), "terminal", terminal.String(),
			"asked", string(asked), "booked", booked)
	}
}

func pending() actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictPending, InquireAfter: inquiryInterval}
}

func refused(reason string) actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.ProcessingError, Detail: reason}}
}

// failed logs a fault of the storage and returns the outcome.
func (p *Provider) failed(t *directory.Terminal, reference ledger.ID, err error, verdict payment.Verdict) actors.Outcome {
	p.log.Error("a SEPA payout cannot be written or read", "reference", reference.String(), "terminal", t.ID.String(), "error", err)
	o := actors.Outcome{Verdict: verdict, Unreachable: true}
	if verdict == payment.VerdictNotSent {
		o.Failure = payment.Failure{Code: payment.ProcessingError, Detail: reasonUnwritable}
	}
	return o
}
