package check

import (
	"context"
	"encoding/hex"
	"hash/maphash"
	"log/slog"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// Inputs are what a check looks at beside the store. All may be empty.
type Inputs struct {
	Data     string        // the data directory, for the provider's log and the canaries
	Answers  string        // file: a JSON object a line
	Canaries string        // file: a string a line
	Keyring  actors.Sealer // opens what requests with keys were answered with; nil: that is compared with the journal only
	Log      *slog.Logger
}

// Check checks an open journal. Nothing may be submitted meanwhile: files beside
// the store and the store are compared. An error says that the check could not
// be made; what is wrong with the store is in the report.
func Check(ctx context.Context, j *posting.Journal, in Inputs) (*Report, error) {
	return CheckRestored(ctx, j, in, func(*KnownCalls) error { return nil })
}

// CheckRestored is Check for a store that was restored. When the journals are read, and
// before the simulator's log is compared with them, it calls cut, which may remove calls
// from the log.
func CheckRestored(ctx context.Context, j *posting.Journal, in Inputs, cut func(*KnownCalls) error) (*Report, error) {
	if in.Log == nil {
		in.Log = slog.Default()
	}
	v := j.View()
	defer v.Close()
	c := &checker{
		ctx: ctx, view: v, report: newReport(), digest: newDigest(),
		organizations: make(map[ledger.ID]*organization), directory: newDirectory(), timers: newTimers(),
		replies: make(map[placed]ledger.ID), replyKeys: make(map[placed]ledger.ID),
		seed: maphash.MakeSeed(), keyring: in.Keyring,
	}
	c.report.skip(ruleReopened)
	if err := c.readAnswers(in.Answers); err != nil {
		return nil, err
	}
	n, hash := j.LastGroup()
	c.lastGroup = n
	for _, step := range []func() error{
		func() error { return c.groups(n, hash) },
		c.everyOrganization,
		c.checkNumbers,
		c.checkBounds,
		c.checkPeople,
		c.checkKeys,
		c.checkClaimsStored,
		c.checkTimers,
		func() error {
			return cut(&KnownCalls{checker: c, kept: make(map[callKind]uint8), requests: make(map[ledger.ID]bool)})
		},
		func() error { return c.checkCalls(in.Data) },
		c.checkAnswers,
		func() error { return c.checkCanaries(in) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.report.Digest = c.digest.sum()
	counts := &c.report.Counts
	in.Log.Info("the store was checked", "broken", c.report.Broken(), "organizations", counts.Organizations, "events", counts.Events,
		"records", counts.Records, "lines", counts.Lines, "claims", counts.Claims, "skipped_answers", counts.SkippedAnswers,
		"digest", hex.EncodeToString(c.report.Digest[:]))
	return c.report, nil
}

// checker is one check under way.
type checker struct {
	ctx    context.Context
	view   *posting.View
	report *Report
	digest *digest

	keyring actors.Sealer // nil: none

	organizations map[ledger.ID]*organization
	directory     *directory
	timers        *timers
	keys          []usedKey
	bounds        []bound              // limits, for what they name
	people        []naming             // users and sessions, for whom they name
	replies       map[placed]ledger.ID // what partners were answered with → the transaction that it shows; zeros: nobody knows
	replyKeys     map[placed]ledger.ID // where the reply to a partner's key lies → what the key was used for
	given         []placed             // answers that are kept for repeated requests
	answers       answers
	lastGroup     uint64 // that is durable
	seen          uint64 // rows, to look at ctx now and then

	seed           maphash.Seed
	claimsOfEvents multiset // claims, as events have them
	claimsStored   multiset // and as they are
	hashed         []byte   // what a hash of a claim is made of
}

// organization is one organization's part of a check. The histories stay until
// the end, because answers and provider calls name records; the books don't.
type organization struct {
	id        ledger.ID
	histories *histories
	volumes   map[string]*sums // limit/window/subject → what its transactions make of it
	books     *books
	contracts contracts
	gathered  map[string][]gathered // what its daybook has, by what the keys of the pages begin with
}

func (c *checker) organization(id ledger.ID) *organization {
	o := c.organizations[id]
	if o == nil {
		o = &organization{id: id, histories: newHistories(), volumes: make(map[string]*sums), contracts: newContracts()}
		c.organizations[id] = o
	}
	return o
}

// reading runs a scan that belongs to a rule. Rows that can't be read or taken
// apart break the rule; the other rules go on.
func (c *checker) reading(rule int, scan func() error) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	err := scan()
	if err != nil && c.ctx.Err() == nil {
		c.report.breach(rule, "%v", err)
	}
	return c.ctx.Err()
}

// everyNth is how many rows are read between two looks at the context.
const everyNth = 4096

func (c *checker) alive() error {
	if c.seen++; c.seen%everyNth == 0 {
		return c.ctx.Err()
	}
	return nil
}

// everyOrganization checks organizations one after the other, in the order of
// their ids: also those that only a stray row knows of.
func (c *checker) everyOrganization() error {
	ids, err := c.allOrganizations()
	if err != nil {
		return err
	}
	c.report.Counts.Organizations = uint64(len(ids))
	for _, id := range ids {
		o := c.organization(id)
		o.books = newBooks()
		o.books.own = newOwnBooks(o.histories)
		c.digest.begin(id)
		for _, scan := range []struct {
			rule int
			run  func(*organization) error
		}{
			{ruleJournal, c.journal},
			{ruleJournal, c.daybook},
			{ruleTotals, c.pages},
			{ruleTotals, c.shifted},
			{ruleStates, c.records},
			{ruleStates, c.sealedRows},
			{ruleTotals, c.balances},
			{ruleClaims, c.lists},
			{ruleTotals, c.unpaged},
			{ruleClaims, c.claims},
			{ruleTotals, c.counters},
			{ruleStates, func(o *organization) error { return c.unchecked(o, posting.Parts) }},
			{ruleNotified, c.deliveries},
		} {
			if err := c.reading(scan.rule, func() error { return scan.run(o) }); err != nil {
				return err
			}
		}
		o.books, o.volumes, o.gathered = nil, nil, nil
		o.contracts = contracts{}
	}
	return nil
}

func (c *checker) allOrganizations() ([]ledger.ID, error) {
	known := make(map[ledger.ID]bool)
	for s := posting.Blocks; s <= posting.KVs; s++ {
		err := c.reading(ruleJournal, func() error {
			return c.view.SectionOrganizations(s, func(id ledger.ID) (bool, error) {
				known[id] = true
				return true, nil
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return sortedIDs(known), nil
}

// unchecked only adds a section to the digest: parts are read with their records.
func (c *checker) unchecked(o *organization, s posting.Section) error {
	return c.rows(o, s, func(_, _ []byte) error { return nil })
}

// rows reads a section into the digest and hands it on: all but checkpoints, which
// follow from the journal, are read beside it, and are made when there is time.
func (c *checker) rows(o *organization, s posting.Section, fn func(key, row []byte) error) error {
	c.digest.section(s)
	return c.view.Rows(o.id, s, func(key, row []byte) (bool, error) {
		if err := c.alive(); err != nil {
			return false, err
		}
		if s == posting.KVs && store.IsCheckpoint(store.KVKey(key)) {
			return true, nil
		}
		c.digest.row(key, row)
		return true, fn(key, row)
	})
}
