package answers

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/snapshots/check/directory"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 1: every acknowledged answer is in the store and equal; a definite refusal left
// nothing; a request without an answer took effect wholly or not at all. A line of the file
// may name the partner (partner_id): without it the partners of an organization are taken
// for one. Answers of a kind that is not compared are counted; where there are no others
// the rule is skipped.

// Check compares what clients were answered with what is stored.
type Check struct {
	*scan.Scan
	directory *directory.Facts
	answers   given
}

func New(s *scan.Scan, d *directory.Facts) *Check {
	return &Check{Scan: s, directory: d}
}

// given are what a client was told, and has to be found in the store.
type given struct {
	given  bool
	seed   maphash.Seed
	index  map[scan.Place]int32 // acknowledged transactions
	slab   scan.Slab[acknowledged]
	states scan.States
	asked  map[uint64]*asked // by organization and txid
	keyed  []keyedAnswer
	keys   map[uint64]*askedKey // by organization, partner and idempotency key

	contracts     contractAnswers
	subscriptions []subscriptionAnswer
	rates         []rateAnswer
	records       scan.Slab[directoryAnswer]
	kept          map[directory.Made][]int32 // places in records
}

// answerLine is a line of the answers file. Body and response are JSON, or a
// string that holds it.
type answerLine struct {
	Method         string         `json:"method"`
	Path           string         `json:"path"`
	OrganizationID string         `json:"organization_id"`
	Body           jsontext.Value `json:"body"`
	PartnerID      int64          `json:"partner_id"` // 0: not said
	IdempotencyKey string         `json:"idempotency_key"`
	Status         *int           `json:"status"` // 0: no answer came
	Response       jsontext.Value `json:"response"`

	org    ledger.ID
	orgErr error
	named  bool // it is a create with a txid
}

// isShort tells whether the answer is the short one to a hosted create, or to its
// repetition, which has none of the other fields (specification, "create", rule 8).
func (l *answerLine) isShort(s shown) bool {
	path, _, _ := strings.Cut(l.Path, "?")
	return l.Method == "POST" && path == transactionsPath &&
		!slices.ContainsFunc(movingFields[:], func(name string) bool { return len(s[name]) != 0 })
}

const (
	transactionsPath = "/api/v1/transactions"
	ratesPath        = "/api/v1/rates"
	entriesPath      = "/api/v1/ledger/entries/"
)

// creations are the directory's creates whose answers name a record.
var creations = map[string]ledger.Kind{
	"/api/v1/organizations": ledger.Organization,
	"/api/v1/partners":      ledger.Partner,
	"/api/v1/terminal":      ledger.Terminal,
	"/api/v1/api_keys":      ledger.APIKey,
	"/api/v1/users":         ledger.User,
	"/api/v1/limits":        ledger.Limit,
	"/api/v1/blocklist":     ledger.Block,
}

// creationAt is the kind of what a POST to the path creates in the directory.
func creationAt(path string) (kind ledger.Kind, creates bool) {
	of, settles := strings.CutSuffix(path, "/settlements")
	if settles && (strings.HasPrefix(of, "/api/v1/partners/") || strings.HasPrefix(of, "/api/v1/terminal/")) {
		return ledger.Settlement, true
	}
	kind, creates = creations[path]
	return kind, creates
}

// ReadFile reads the file. A last line that is cut short, as a killed client
// leaves one, is no answer; any other line that is none is a mistake of whoever
// wrote the file, and a file without an answer proves nothing.
func (c *Check) ReadFile(path string) error {
	if path == "" {
		c.Report.Skip(findings.RuleAnswers)
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: answers: %w", findings.ErrInput, err)
	}
	defer f.Close()
	a := &c.answers
	*a = given{given: true, seed: maphash.MakeSeed(), index: make(map[scan.Place]int32), asked: make(map[uint64]*asked), keys: make(map[uint64]*askedKey)}
	a.contracts = newContractAnswers()
	a.states = scan.States{Codes: map[string]uint8{"": 0}, Names: []string{""}}
	r := bufio.NewReaderSize(f, 1<<20)
	read := false
	for n := uint32(1); ; n++ {
		line, err := r.ReadBytes('\n')
		torn := errors.Is(err, io.EOF)
		if err != nil && !torn {
			return fmt.Errorf("%w: answers: %w", findings.ErrInput, err)
		}
		if l, well := parseAnswer(line); well {
			read = true
			c.readAnswer(n, l)
		} else if !torn {
			return fmt.Errorf("%w: answers: line %d is not a JSON object with method, path and status", findings.ErrInput, n)
		}
		if torn && !read {
			return fmt.Errorf("%w: answers: line %d: the file ends without an answer", findings.ErrInput, n)
		}
		if torn {
			return nil
		}
		if err := c.Interrupted(); err != nil {
			return err
		}
	}
}

// parseAnswer reads a line; well is false if it has not the form of an answer.
func parseAnswer(line []byte) (l *answerLine, well bool) {
	l = new(answerLine)
	if json.Unmarshal(line, l) != nil || l.Method == "" || !strings.HasPrefix(l.Path, "/") || l.Status == nil {
		return nil, false
	}
	status := *l.Status
	if status != 0 && (status < 100 || status > 599) {
		return nil, false
	}
	l.org, l.orgErr = uuid.Parse(l.OrganizationID)
	return l, l.OrganizationID == "" || l.orgErr == nil
}

// readAnswer takes in one answer. What it is about decides who compares it; what
// nobody does is counted.
func (c *Check) readAnswer(n uint32, l *answerLine) {
	path, _, _ := strings.Cut(l.Path, "?")
	known := c.readOfDirectory(n, path, l)
	if !known && l.orgErr == nil {
		known = c.readOfOrganization(n, path, l)
	}
	if known {
		c.Report.Count(findings.RuleAnswers, 1)
	} else {
		c.Report.Counts.SkippedAnswers++
	}
}

// readOfDirectory reads what may be answered without naming an organization.
func (c *Check) readOfDirectory(n uint32, path string, l *answerLine) bool {
	kind, creates := creationAt(path)
	switch status := *l.Status; {
	case creates && l.Method == "POST":
		return status == 201 && c.readKept(n, kind, "", l)
	case path == ratesPath && l.Method == "PUT" && (status == 200 || status == 201):
		c.checkRateChange(n, l)
		return true
	case status == 200 || status == 204:
		kind, id, names := keptAt(path)
		return names && c.readKept(n, kind, id, l)
	}
	return false
}

// readOfOrganization reads what is one organization's.
func (c *Check) readOfOrganization(n uint32, path string, l *answerLine) bool {
	if rest, ok := strings.CutPrefix(path, screeningsPath); ok && l.Method == "GET" && *l.Status == 200 {
		c.readScreening(n, rest, l)
		return true
	}
	if rest, ok := strings.CutPrefix(path, subscriptionsPath); ok {
		return c.readSubscriptions(n, rest, l)
	}
	if to, ok := contractAddress(path); ok {
		return c.readContract(n, to, l)
	}
	switch {
	case l.Method == "POST" && path == transactionsPath:
		c.readCreate(n, l)
		return true
	case l.Method == "GET" && path == transactionsPath:
		return *l.Status == 200 && c.readList(n, l)
	case strings.HasPrefix(path, transactionsPath+"/"):
		return c.readTransaction(n, path[len(transactionsPath)+1:], l)
	case l.Method == "GET" && *l.Status == 200 && strings.HasPrefix(path, entriesPath):
		c.readEntry(n, path[len(entriesPath):], l)
		return true
	}
	return false
}

// embedded is the JSON that a value is, or that it holds as a string.
func embedded(v jsontext.Value) []byte {
	if v.Kind() != '"' {
		return v
	}
	var text string
	if json.Unmarshal(v, &text) != nil {
		return nil
	}
	return []byte(text)
}

func (a *given) hash(texts ...string) uint64 {
	var m maphash.Hash
	m.SetSeed(a.seed)
	for _, text := range texts {
		_, _ = m.WriteString(strconv.Itoa(len(text))) // it never fails
		_, _ = m.WriteString(":" + text)
	}
	return m.Sum64() | 1
}

// CheckAll reports what was acknowledged and is not there, and how many answers
// nothing is compared with: a rule that has compared none does not hold, it is skipped.
func (c *Check) CheckAll() error {
	a := &c.answers
	if !a.given {
		return nil
	}
	rule, left := &c.Report.Rules[findings.RuleAnswers-1], c.Report.Counts.SkippedAnswers
	if left > 0 {
		rule.Note = fmt.Sprintf("%d answers compared, %d not of a kind that can be compared", rule.Count, left)
	}
	if rule.Count == 0 && rule.Outcome == findings.OK {
		c.Report.Skip(findings.RuleAnswers)
	}
	for place, at := range a.index {
		if ack := a.slab.At(at); !ack.found {
			c.Report.Breach(findings.RuleAnswers, "line %d: transaction %v of organization %v is lost", ack.line, place.ID, place.Org)
		}
	}
	c.checkKeyed()
	c.checkKept()
	c.checkSigned()
	c.checkSubscriptionAnswers()
	return c.checkRates()
}

// madeAnywhere looks in all organizations for what an answer without one names:
// the header may be left out where there is only one.
func (c *Check) madeAnywhere(m directory.Made) bool {
	if m.Org != (ledger.ID{}) {
		return false
	}
	for org := range c.Organizations {
		if c.directory.Made[directory.Made{Kind: m.Kind, Org: org, Name: m.Name}] {
			return true
		}
	}
	return false
}
