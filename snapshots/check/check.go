package check

import (
	"context"
	"encoding/hex"
	"hash/maphash"
	"log/slog"
	"slices"
	"strings"

	"mizan/actors"
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/posting"
	"mizan/snapshots/check/answers"
	"mizan/snapshots/check/books"
	"mizan/snapshots/check/calls"
	"mizan/snapshots/check/canaries"
	"mizan/snapshots/check/contracts"
	"mizan/snapshots/check/deliveries"
	"mizan/snapshots/check/directory"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/reconciliation"
	"mizan/snapshots/check/scan"
	"mizan/snapshots/check/search"
	"mizan/snapshots/check/transactions"
)

// Inputs are the data with which a check compares the store. All fields may be empty.
type Inputs struct {
	Data     string        // the data directory: it has the simulator's log, and is searched for canaries
	Answers  string        // file with requests and responses, one JSON object in each line
	Canaries string        // file with strings that no file of the data directory may contain, one in each line
	Keyring  actors.Sealer // opens cached replies; nil: they are compared with the journal only
	Log      *slog.Logger
}

// Check checks an open journal. Nothing may be written to the journal during the check, because the check compares
// the store with files that would change too. An error means that the check could not be completed. Faults of the
// store are in the report.
func Check(ctx context.Context, j *posting.Journal, inputs Inputs) (*findings.Report, error) {
	return CheckRestored(ctx, j, inputs, func(*calls.LogFilter) error { return nil })
}

// CheckRestored is Check for a restored store. It calls cutLog after it has read the journals and
// before it compares the simulator's log with the journals. cutLog may remove calls from the log.
func CheckRestored(ctx context.Context, j *posting.Journal, inputs Inputs, cutLog func(*calls.LogFilter) error) (*findings.Report, error) {
	if inputs.Log == nil {
		inputs.Log = slog.Default()
	}
	v := j.StoredView()
	defer v.Close()
	assert.That(v.ReadsStoreOnly(), "the checker reads the writer's memory")
	lastGroup, groupHash := j.LastGroup()
	checker := newChecker(scan.New(ctx, v, inputs.Keyring, lastGroup))
	checker.beginProgress()
	checker.Report.Skip(findings.RuleSameAfterReopening)
	if err := checker.answers.ReadFile(inputs.Answers); err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		checker.readPlacements,
		func() error { return checker.checkGroups(lastGroup, groupHash) },
		checker.checkOrganizations,
		checker.checkPlatformClaims,
		checker.directory.CheckLimits,
		checker.directory.CheckUsers,
		checker.checkKeys,
		checker.checkClaimsStored,
		checker.checkTimers,
		func() error { return cutLog(calls.NewLogFilter(checker.Scan)) },
		func() error { return calls.Check(checker.Scan, inputs.Data) },
		checker.answers.CheckAll,
		func() error { return canaries.Check(checker.Scan, inputs.Data, inputs.Canaries, inputs.Answers) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	checker.Report.Digest = checker.Digest.Sum()
	counts := &checker.Report.Counts
	inputs.Log.Info("the store was checked", "broken", checker.Report.Broken(), "organizations", counts.Organizations, "events", counts.Events,
		"records", counts.Records, "lines", counts.Lines, "claims", counts.Claims, "skipped_answers", counts.SkippedAnswers,
		"digest", hex.EncodeToString(checker.Report.Digest[:]))
	return checker.Report, nil
}

// checker is the state of one check of a whole store. Its methods check what needs the data of all organizations. The
// checks of single organizations collect this data in its fields.
type checker struct {
	*scan.Scan
	placements   map[ledger.ID]posting.Placement // of organizations that have moved or were to move
	directory    *directory.Check
	answers      *answers.Check
	timers       *timers
	crossOrgKeys []crossOrgKey
	replies      *scan.Replies
	adminReplies []scan.RecordKey // cached replies to administration requests

	claimsOfEvents scan.Multiset // claims (rows that make keys unique) that the events require
	claimsStored   scan.Multiset // claims that are stored
	seed           maphash.Seed
	hashInput      []byte // buffer for the hashed form of a claim
}

func newChecker(s *scan.Scan) *checker {
	d := directory.New(s)
	return &checker{
		Scan: s, directory: d, answers: answers.New(s, d.Facts), timers: newTimers(), replies: scan.NewReplies(), seed: maphash.MakeSeed(),
	}
}

// orgCheck is the state of the check of one organization. Its methods check what needs only the rows and events of
// that organization.
type orgCheck struct {
	*checker
	organization *scan.Organization
	books        *books.Check
	transactions *transactions.Check
	contracts    *contracts.Check
	deliveries   *deliveries.Check
	search       *search.Check
	reconciled   *reconciliation.Check
	authors      authors
	events       uint64 // number of events in the organization's journal; set when the journal has been read
}

func (c *checker) newOrgCheck(o *scan.Organization) *orgCheck {
	facts := c.directory.Facts
	return &orgCheck{
		checker: c, organization: o, books: books.New(c.Scan, o, facts), transactions: transactions.New(c.Scan, o, facts),
		contracts: contracts.New(c.Scan, o, c.replies), deliveries: deliveries.New(c.Scan, o, facts),
		search: search.New(c.Scan, o), reconciled: reconciliation.New(c.Scan, o),
	}
}

// checkOrganizations checks all organizations one after the other, ordered by id. It also checks organizations that occur
// only in a stray row. While an organization is checked, memory holds only the short history of each of its records.
func (c *checker) checkOrganizations() error {
	ids, err := c.allOrganizations()
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, c.isCopy)
	c.Report.Counts.Organizations = uint64(len(ids))
	for _, id := range ids {
		c.Digest.Begin(id)
		if err := c.newOrgCheck(c.OrganizationOf(id)).run(); err != nil {
			return err
		}
	}
	return nil
}

// beginProgress tells the progress meter how much work the check is. Half of the work is reading the events, and the
// other half is reading the rows that follow from the events.
func (c *checker) beginProgress() {
	events := uint64(0)
	err := c.View.OrganizationsWith(posting.Blocks, func(org ledger.ID) (bool, error) {
		size, _, err := c.View.Head(org)
		events += size
		return true, err
	})
	if err == nil { // an error is reported later, by the check of the journals
		c.BeginProgress(2 * events)
	}
}

// run runs the checks of one organization in order. If a check can't read its section (the rows of one kind), the
// rule beside the check is reported as broken.
func (c *orgCheck) run() error {
	steps := []struct {
		rule  int
		check func() error
	}{
		{findings.RuleJournal, c.checkJournal},
		{findings.RuleJournal, c.books.CheckBuffers},
		{findings.RuleTotals, c.books.CheckPages},
		{findings.RuleTotals, c.books.CheckShifted},
		{findings.RuleStates, c.checkRecords},
		{findings.RuleStates, c.checkSealedRows},
		{findings.RuleTotals, c.books.CheckBalances},
		{findings.RuleClaims, c.checkLists},
		{findings.RuleTotals, c.books.CheckLeftInBuffers},
		{findings.RuleClaims, c.checkClaims},
		{findings.RuleClaims, c.search.CheckRows},
		{findings.RuleTotals, c.checkCounters},
		{findings.RuleStates, func() error { return c.addToDigest(posting.RecordParts) }},
		{findings.RuleNotifications, func() error { return c.deliveries.CheckRows(c.contracts) }},
	}
	for i, step := range steps {
		if err := c.ReadSection(step.rule, step.check); err != nil {
			return err
		}
		if i > 0 { // the first step, which reads the journal, counts its events itself
			c.CountWork(c.events / uint64(len(steps)-1))
		}
	}
	return nil
}

// checkCounters compares the stored counters of volumes, contracts and reconciliation with the counters that their records
// require. Other counters, such as headroom (how much of an asset was settled or is under way), are not
// checked, because no event determines their values.
func (c *orgCheck) checkCounters() error {
	const headLength = 1 + 16 // a key begins with the kind of its row and the organization's id
	err := c.Rows(c.organization, posting.Counters, func(key, row []byte) error {
		name, window, _ := strings.Cut(string(key[min(headLength, len(key)):]), "\x00")
		if !c.reconciled.CheckCounter(name, window, row) && !c.contracts.CheckCounter(name, window, row) {
			c.transactions.CheckCounter(name, window, row)
		}
		return nil
	})
	c.transactions.CheckMissingCounters()
	c.contracts.CheckMissingCounters()
	c.reconciled.CheckMissingCounters()
	return err
}

// allOrganizations returns all organizations that occur in the key of a row.
func (c *checker) allOrganizations() ([]ledger.ID, error) {
	ids := make(map[ledger.ID]bool)
	for kind := posting.Blocks; kind <= posting.KVs; kind++ {
		err := c.ReadSection(findings.RuleJournal, func() error {
			return c.View.OrganizationsWith(kind, func(id ledger.ID) (bool, error) {
				ids[id] = true
				return true, nil
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return scan.SortedIDs(ids), nil
}

// addToDigest adds the rows of a kind to the digest without checking them, because they are checked along with their
// records.
func (c *orgCheck) addToDigest(kind posting.RowKind) error {
	return c.Rows(c.organization, kind, func(_, _ []byte) error { return nil })
}
