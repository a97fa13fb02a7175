package answers

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/snapshots/check/directory"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 1: each acknowledged answer is in the store and equal; a definite refusal left nothing;
// a request without an answer took effect entirely or not at all. A line of the file may name
// the partner (partner_id); without it the rule treats all partners of an organization as one.
// Answers of a kind that the rule does not compare are counted. If the file has no other
// answers, the rule is skipped.

// Check compares the answers that clients received with the store.
type Check struct {
	*scan.Scan
	directory *directory.Facts
	answers   acknowledgements
}

// New begins the comparison of answers with the store.
func New(s *scan.Scan, d *directory.Facts) *Check {
	return &Check{Scan: s, directory: d}
}

// acknowledgements are the answers that clients received, which the store must match.
type acknowledgements struct {
	hasAnswers bool
	seed       maphash.Seed
	shapes     map[string]int32 // index in names of each list of names
	names      [][]string
	states     scan.States
	creates    map[uint64]*outcome    // creates by organization and txid
	keys       map[uint64]*keyOutcome // creates of transactions, and staff members' requests

	transactions  about[shownTransaction]
	contracts     about[shownContract]
	subscriptions about[shownSubscription]
	rates         []rateAnswer
	records       scan.Slab[directoryAnswer]
	kept          map[directory.Made][]int32 // indexes of the answers about each record of the directory
}

func newAcknowledgements() acknowledgements {
	return acknowledgements{
		hasAnswers: true, seed: maphash.MakeSeed(), shapes: make(map[string]int32), creates: make(map[uint64]*outcome), keys: make(map[uint64]*keyOutcome),
		states:       scan.States{Codes: map[string]uint8{"": 0}, Names: []string{""}},
		transactions: newAbout[shownTransaction](ledger.Transaction), contracts: newAbout[shownContract](ledger.Contract),
		subscriptions: newAbout[shownSubscription](ledger.Subscription),
	}
}

// answerLine is a line of the answers file. Body and response are JSON, or a string that
// contains JSON.
type answerLine struct {
	Method         string         `json:"method"`
	Path           string         `json:"path"`
	OrganizationID string         `json:"organization_id"`
	Body           jsontext.Value `json:"body"`
	PartnerID      int64          `json:"partner_id"` // 0: the line names no partner
	IdempotencyKey string         `json:"idempotency_key"`
	Status         *int           `json:"status"` // 0: the client received no answer
	Response       jsontext.Value `json:"response"`

	org    ledger.ID
	orgErr error
	named  bool // the line is a create with a txid
}

// ReadFile reads the file. A last line that is cut short, as a killed client leaves it, is
// ignored. Any other line that is not an answer means that the program which wrote the file has
// a bug. A file without answers is an error too, because it proves nothing.
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
	*a = newAcknowledgements()
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

// parseAnswer parses a line; well is false if the line does not have the form of an answer.
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

// readAnswer reads one answer. Its path decides which function compares it. An answer that no
// function compares is counted.
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

// readOfDirectory reads an answer that may come without the name of an organization.
func (c *Check) readOfDirectory(n uint32, path string, l *answerLine) bool {
	status := *l.Status
	if path == ratesPath && l.Method == "PUT" && (status == 200 || status == 201) {
		c.readRate(n, l)
		return true
	}
	kind, id, ok := directoryAddress(path)
	read := status == 200 || status == 204
	if id == "" {
		read = l.Method == "POST" && status == 201
	}
	return ok && read && c.readDirectoryRecord(n, kind, id, l)
}

// readOfOrganization reads an answer about the records of one organization.
func (c *Check) readOfOrganization(n uint32, path string, l *answerLine) bool {
	for _, route := range []struct {
		path string
		read func(n uint32, rest string, l *answerLine) bool // rest follows the path
	}{
		{transactionsPath, c.readTransactions}, {subscriptionsPath, c.readSubscriptions},
		{screeningsPath, c.readScreening}, {entriesPath, c.readEntry},
	} {
		if rest, ok := strings.CutPrefix(path, route.path); ok && (rest == "" || rest[0] == '/') {
			return route.read(n, strings.TrimPrefix(rest, "/"), l)
		}
	}
	to, ok := contractAddress(path)
	return ok && c.readContract(n, to, l)
}

// embedded returns the JSON that a value is, or that it contains as a string.
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

// data returns the member of the response that contains what was asked for; nil if there is none.
func (l *answerLine) data() jsontext.Value { return parseObject(embedded(l.Response))["data"] }

// succeeded tells whether a read or a write has succeeded: a POST to a list makes a record (201).
func (l *answerLine) succeeded(list bool) bool {
	switch {
	case l.Method == "POST" && list:
		return *l.Status == 201
	case l.Method == "POST", l.Method == "GET":
		return *l.Status == 200
	}
	return false
}

// shown returns the records that an answer shows: those of a list, or one; false if it has no list.
func (l *answerLine) shown(list bool) (records []object, ok bool) {
	if !list {
		return []object{parseObject(l.data())}, true
	}
	ok = json.Unmarshal(l.data(), &records) == nil
	return records, ok
}

func (a *acknowledgements) hash(texts ...string) uint64 {
	var m maphash.Hash
	m.SetSeed(a.seed)
	for _, text := range texts {
		_, _ = m.WriteString(strconv.Itoa(len(text))) // it never fails
		_, _ = m.WriteString(":" + text)
	}
	return m.Sum64() | 1
}

// CheckAll reports what the answers show and the store lacks, and how many answers were not
// compared. A rule that has compared no answer is reported as skipped.
func (c *Check) CheckAll() error {
	a := &c.answers
	if !a.hasAnswers {
		return nil
	}
	rule, left := &c.Report.Rules[findings.RuleAnswers-1], c.Report.Counts.SkippedAnswers
	if left > 0 {
		rule.Note = fmt.Sprintf("%d answers compared, %d not of a kind that can be compared", rule.Count, left)
	}
	if rule.Count == 0 && rule.Outcome == findings.OK {
		c.Report.Skip(findings.RuleAnswers)
	}
	c.compareSubscriptions()
	a.transactions.end(c, ofPartner, nil)
	a.contracts.end(c, func(*subject[shownContract]) string { return actors.KeyOfStaff }, c.compareReply)
	a.subscriptions.end(c, ofPartner, nil)
	c.checkKeys()
	c.checkDirectory()
	return c.checkRates()
}

// madeInAnyOrganization looks in all organizations for the record that an answer without an
// organization names: a client may omit the header if there is only one organization.
func (c *Check) madeInAnyOrganization(m directory.Made) bool {
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
