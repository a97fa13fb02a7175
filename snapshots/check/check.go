package check

import (
	"context"
	"encoding/hex"
	"hash/maphash"
	"log/slog"
	"strings"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
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
	last, hash := j.LastGroup()
	c := newChecker(newScan(ctx, v, in.Keyring, last))
	c.report.skip(ruleReopened)
	if err := c.answers.readAnswers(in.Answers); err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { return c.groups(last, hash) },
		c.everyOrganization,
		c.checkNumbers,
		c.directory.checkBounds,
		c.directory.checkPeople,
		c.checkKeys,
		c.checkClaimsStored,
		c.checkTimers,
		func() error { return cut(newKnownCalls(c.scan)) },
		func() error { return checkCalls(c.scan, in.Data) },
		c.answers.checkAnswers,
		func() error { return checkCanaries(c.scan, in.Data, in.Canaries, in.Answers) },
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

// checker is one check of a whole store: the rules that look at all organizations, and
// what others gather for them.
type checker struct {
	*scan
	directory *directoryCheck
	answers   *answersCheck
	timers    *timers
	keys      []usedKey
	replies   *replies
	given     []placed // kept answers to requests of the administration

	claimsOfEvents multiset // claims, as events have them
	claimsStored   multiset // and as they are
	seed           maphash.Seed
	hashed         []byte // what a hash of a claim is made of
}

func newChecker(s *scan) *checker {
	d := newDirectoryCheck(s)
	return &checker{
		scan: s, directory: d, answers: newAnswersCheck(s, d.directory), timers: newTimers(), replies: newReplies(), seed: maphash.MakeSeed(),
	}
}

// orgCheck is the check of one organization: the rules that need its rows and events.
type orgCheck struct {
	*checker
	organization *organization
	books        *booksCheck
	transactions *transactionsCheck
	contracts    *contractsCheck
	deliveries   *deliveriesCheck
}

func (c *checker) newOrgCheck(o *organization) *orgCheck {
	facts := c.directory.directory
	return &orgCheck{
		checker: c, organization: o, books: newBooksCheck(c.scan, o, facts), transactions: newTransactionsCheck(c.scan, o, facts),
		contracts: newContractsCheck(c.scan, o, c.replies), deliveries: newDeliveriesCheck(c.scan, o, facts),
	}
}

// everyOrganization checks organizations one after the other, in the order of their ids,
// also those that only a stray row names. What one of them gathers is dropped before the
// next is read, but for its histories.
func (c *checker) everyOrganization() error {
	ids, err := c.allOrganizations()
	if err != nil {
		return err
	}
	c.report.Counts.Organizations = uint64(len(ids))
	for _, id := range ids {
		c.digest.begin(id)
		if err := c.newOrgCheck(c.organizationOf(id)).run(); err != nil {
			return err
		}
	}
	return nil
}

// run reads the organization's sections in order. A section that can't be read breaks the
// rule that it stands beside.
func (c *orgCheck) run() error {
	for _, section := range []struct {
		rule int
		read func() error
	}{
		{ruleJournal, c.journal},
		{ruleJournal, c.books.daybook},
		{ruleTotals, c.books.pages},
		{ruleTotals, c.books.shifted},
		{ruleStates, c.records},
		{ruleStates, c.sealedRows},
		{ruleTotals, c.books.balances},
		{ruleClaims, c.lists},
		{ruleTotals, c.books.unpaged},
		{ruleClaims, c.claims},
		{ruleTotals, c.counters},
		{ruleStates, func() error { return c.unchecked(posting.Parts) }},
		{ruleNotified, func() error { return c.deliveries.check(c.contracts) }},
	} {
		if err := c.reading(section.rule, section.read); err != nil {
			return err
		}
	}
	return nil
}

// counters compares the stored counters with what transactions and contracts make of them.
// Other counters, as an account's headroom, only the guards that own them can judge.
func (c *orgCheck) counters() error {
	const head = 1 + 16
	err := c.rows(c.organization, posting.Counters, func(key, row []byte) error {
		name, window, _ := strings.Cut(string(key[min(head, len(key)):]), "\x00")
		if !c.contracts.counter(name, window, row) {
			c.transactions.counter(name, window, row)
		}
		return nil
	})
	c.transactions.missingCounters()
	c.contracts.missingCounters()
	return err
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
func (c *orgCheck) unchecked(s posting.Section) error {
	return c.rows(c.organization, s, func(_, _ []byte) error { return nil })
}
