package directory

import (
	"context"
	"crypto/rand"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// idleTimeout is how long an organization's actor stays in memory without work.
const idleTimeout = 10 * time.Minute

// Bounds of commands. At most maxCommands commands run at the same time, because one actor accepts no more while it makes a
// Change durable. Further commands wait, at most maxWaiting of them.
const (
	maxCommands = actors.MaxWaiting
	maxWaiting  = 1024
)

// Service holds the directory: it answers lookups from memory and commits changes.
type Service struct {
	rt       *actors.Runtime
	sealer   Sealer
	registry *actors.Registry[ledger.ID]
	random   io.Reader

	organizations      index[directory.Organization]  // the records of the organizations themselves
	orgs               table[ledger.ID, organization] // each organization's part of the view (the records in memory)
	platform           atomic.Pointer[version[directory.Platform]]
	mustReload         sync.Map      // contains the id of each organization whose part of the view must be read again
	global             globalIndex   // finds keys, partners and terminals of all organizations
	absentOrganization *organization // the organization that lookups search when the requested one does not exist

	passwords   *passwordHasher
	lockout     *lockout
	hashing     hashingSlots
	pendingUses *pendingUses                         // times of last uses of keys and sessions that are not stored yet
	onRotation  func(retired, successor secret.Text) // nil if no callback is set
	commands    gate

	placement               Placement
	privateAddressesAllowed atomic.Bool // notifications may be sent to addresses that are not on the internet

	mu           sync.Mutex
	spareNumbers []int64 // guarded by mu: reserved partner numbers that are not in use
}

// Placement says which organizations and partner numbers belong to a store, if the platform has several stores.
type Placement struct {
	NewOrganization           func() ledger.ID // returns a new random id of an organization that belongs to the store
	FirstPartner, PartnerStep int64            // the store uses the first number, and then each PartnerStep-th number
}

// Start is like StartAt, for a platform that has one store.
func Start(rt *actors.Runtime, sealer Sealer) (*Service, error) {
	return StartAt(rt, sealer, Placement{NewOrganization: uuid.New, FirstPartner: 1})
}

// StartAt reads the directory of every organization into the view (the records in memory). The sealer encrypts the cached
// replies to writes with an idempotency key, and the secrets of terminals and partners. The error comes from the store, or
// names the record that cannot be read.
func StartAt(rt *actors.Runtime, sealer Sealer, placement Placement) (*Service, error) {
	s := &Service{
		rt: rt, placement: placement, sealer: sealer, random: rand.Reader,
		passwords: newPasswordHasher(), lockout: newLockout(), hashing: newHashingSlots(), pendingUses: newPendingUses(), commands: newGate(maxCommands, maxWaiting),
	}
	s.absentOrganization = newOrg(ledger.ID{}, &s.global)
	s.absentOrganization.ownRecord = &viewRecord[directory.Organization]{}
	s.absentOrganization.ownRecord.set(&directory.Organization{}, posting.RecordHeader{})
	s.registry = actors.NewRegistry(rt, "directory", idleTimeout, func(id ledger.ID) actors.Behaviour {
		return &organizationActor{service: s, org: id}
	})
	if err := s.load(); err != nil {
		return nil, err
	}
	return s, nil
}

// newPlatform returns the platform's record as it is before the first change.
func (s *Service) newPlatform() *directory.Platform {
	if s.placement.PartnerStep == 0 {
		return directory.NewPlatform()
	}
	return directory.NewPlatformOf(s.placement.FirstPartner, s.placement.PartnerStep)
}

// Organizations returns the number of organizations.
func (s *Service) Organizations() int { return len(s.inCreationOrder()) }

// AllowPrivateAddresses sets whether notifications may be sent to addresses that are not on the internet. By default they
// may not.
func (s *Service) AllowPrivateAddresses(allowed bool) { s.privateAddressesAllowed.Store(allowed) }

// Empty tells whether the store is new: it has neither a platform record nor an organization.
func (s *Service) Empty() bool {
	return s.platform.Load().header.Version == 0 && s.organizations.size() == 0
}

// run sends a command to an organization's actor. The actor calls decide, makes the change durable, and calls publish with
// the headers (versions and times) of the written records. If decide returns no change, nothing is written. If the change
// has no author, its author is the author in ctx. decide and publish run on the goroutine that runs the actor. When run
// returns, both have ended, unless run has timed out. After a time-out, decide and publish may still run, so the caller
// must not read variables that they set.
func (s *Service) run(ctx context.Context, org ledger.ID, op string, decide func(now ledger.Micros) (*posting.Change, error), publish func([]posting.RecordHeader)) error {
	leave, err := s.commands.enter(ctx, op)
	if err != nil {
		return err
	}
	defer leave()
	decideAsAuthor := func(now ledger.Micros) (*posting.Change, error) {
		change, err := decide(now)
		if change != nil && change.Author == (ledger.Author{}) {
			change.Author = authorOf(ctx)
		}
		return change, err
	}
	m := &command{op: op, decide: decideAsAuthor, publish: publish, reply: make(chan error, 1)}
	if err := s.registry.Command(org, m); err != nil {
		return err
	}
	select {
	case err := <-m.reply:
		return err
	case <-ctx.Done():
		return ledger.Refuse(op, ledger.Unavailable, "no answer in time; the requested change may or may not be done")
	}
}

// writable finds an organization that accepts new records and changes.
func (s *Service) writable(op string, id ledger.ID) (*organization, error) {
	o, ok := s.org(id)
	if !ok {
		return nil, ledger.Refuse(op, ledger.NotFound, "no such organization")
	}
	if o.ownRecord.record().Status == directory.Archived {
		return nil, ledger.Refuse(op, ledger.Conflict, "the organization is archived")
	}
	return o, nil
}

func notFound(op, what string) error {
	return ledger.Refuse(op, ledger.NotFound, "no such %s", what)
}

// step returns a Step, which is one record's part of a Change, with the record's events.
func step(org ledger.ID, expect uint64, record []byte, events ...ledger.Event) posting.Step {
	return posting.Step{Org: org, Source: events[0].Source, Expect: expect, Record: record, Events: events}
}

// gate admits a limited number of callers at the same time, and lets a limited number of further callers wait.
type gate struct {
	insideOrWaiting chan struct{} // one element for each caller that was admitted or waits
	inside          chan struct{}
}

func newGate(inside, waiting int) gate {
	return gate{insideOrWaiting: make(chan struct{}, inside+waiting), inside: make(chan struct{}, inside)}
}

// enter waits for a place. If too many callers already wait, the error is actors.ErrBusy. If ctx ends first, the error is
// Unavailable.
func (g gate) enter(ctx context.Context, op string) (leave func(), err error) {
	select {
	case g.insideOrWaiting <- struct{}{}:
	default:
		return nil, actors.ErrBusy
	}
	select {
	case g.inside <- struct{}{}:
		return func() { <-g.inside; <-g.insideOrWaiting }, nil
	case <-ctx.Done():
		<-g.insideOrWaiting
		return nil, ledger.Refuse(op, ledger.Unavailable, "no answer in time; nothing was done")
	}
}

type dryRunKey struct{}

// WithDryRun returns a context for a dry run. With this context, a write checks everything and changes nothing. The write
// returns the error with which it would be refused; its other results are meaningless. A dry run is made for a request that
// is already known to be wrong, so that the response can name all faults at once.
func WithDryRun(ctx context.Context) context.Context {
	return context.WithValue(ctx, dryRunKey{}, true)
}

// isDryRun tells whether the write is a dry run.
func isDryRun(ctx context.Context) bool {
	dry, _ := ctx.Value(dryRunKey{}).(bool)
	return dry
}

type authorKey struct{}

// WithAuthor returns a context that names the author of writes. If the context names no author, the author of a write is
// the service itself.
func WithAuthor(ctx context.Context, author ledger.Author) context.Context {
	return context.WithValue(ctx, authorKey{}, author)
}

func authorOf(ctx context.Context) ledger.Author {
	if author, named := ctx.Value(authorKey{}).(ledger.Author); named {
		return author
	}
	return ledger.BySystem.Author()
}
