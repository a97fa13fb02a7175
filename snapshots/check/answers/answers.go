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

// Rule 1 of the checker: everything that a response acknowledged is in the store as the response shows it. A request that was
// definitely refused has left nothing in the store. A request without a response took effect entirely or not at all. The
// responses come from the answers file (--answers), with one line for each request. A line may name a partner (partner_id). If
// it does not, the rule does not distinguish the partners of the organization. Responses of a kind that the rule can't compare
// are counted. If the file has only such responses, the rule is skipped.

// Check compares the store with the responses that clients received.
type Check struct {
	*scan.Scan
	directory *directory.Facts
	answers   receivedResponses
}

// New returns a Check that has not read any responses yet.
func New(s *scan.Scan, d *directory.Facts) *Check {
	return &Check{Scan: s, directory: d}
}

// receivedResponses are the responses that clients received, which the store must match.
type receivedResponses struct {
	hasAnswers      bool // a file with responses was given
	seed            maphash.Seed
	memberListIndex map[string]int32       // indexes in memberLists; the key has the names in the list
	memberLists     [][]string             // the sorted names of the members of objects
	states          scan.States            // numbers for the statuses that occur in responses
	createOutcomes  map[uint64]*outcome    // outcomes of creates, by a hash of organization and txid
	keyOutcomes     map[uint64]*keyOutcome // outcomes of creates and of requests of staff members, by a hash of organization, scope and key

	transactions       shownRecords[shownTransaction]
	contracts          shownRecords[shownContract]
	subscriptions      shownRecords[shownSubscription]
	rates              []shownRate
	directoryRecords   scan.Slab[shownDirectoryRecord]
	directoryResponses map[directory.RecordName][]int32 // indexes in directoryRecords of the responses about each record
}

func newReceivedResponses() receivedResponses {
	return receivedResponses{
		hasAnswers: true, seed: maphash.MakeSeed(), memberListIndex: make(map[string]int32), createOutcomes: make(map[uint64]*outcome), keyOutcomes: make(map[uint64]*keyOutcome),
		states:       scan.States{Codes: map[string]uint8{"": 0}, Names: []string{""}},
		transactions: newShownRecords[shownTransaction](ledger.Transaction), contracts: newShownRecords[shownContract](ledger.Contract),
		subscriptions: newShownRecords[shownSubscription](ledger.Subscription),
	}
}

// responseLine is a line of the answers file: a request and its response. Body and Response are JSON,
// or a string that contains JSON.
type responseLine struct {
	Method         string         `json:"method"`
	Path           string         `json:"path"`
	OrganizationID string         `json:"organization_id"`
	Body           jsontext.Value `json:"body"`
	PartnerID      int64          `json:"partner_id"` // 0: the line names no partner
	IdempotencyKey string         `json:"idempotency_key"`
	Status         *int           `json:"status"` // 0: the client received no response
	Response       jsontext.Value `json:"response"`

	org     ledger.ID
	orgErr  error
	hasTxID bool // the request creates a transaction and has a txid
}

// ReadFile reads the file of responses. It ignores an incomplete last line, which a killed client may leave. Any other line
// that is not a response is an error, because the program that wrote the file has a bug. A file without responses is an error
// too, because it proves nothing.
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
	*a = newReceivedResponses()
	r := bufio.NewReaderSize(f, 1<<20)
	hasResponse := false
	for lineNumber := uint32(1); ; lineNumber++ {
		line, err := r.ReadBytes('\n')
		atEOF := errors.Is(err, io.EOF)
		if err != nil && !atEOF {
			return fmt.Errorf("%w: answers: %w", findings.ErrInput, err)
		}
		if l, valid := parseLine(line); valid {
			hasResponse = true
			c.readLine(lineNumber, l)
		} else if !atEOF {
			return fmt.Errorf("%w: answers: line %d is not a JSON object with method, path and status", findings.ErrInput, lineNumber)
		}
		if atEOF && !hasResponse {
			return fmt.Errorf("%w: answers: line %d: the file ends without a response", findings.ErrInput, lineNumber)
		}
		if atEOF {
			return nil
		}
		if err := c.Interrupted(); err != nil {
			return err
		}
	}
}

// parseLine parses a line. valid is false if the line is not a request with its response.
func parseLine(line []byte) (l *responseLine, valid bool) {
	l = new(responseLine)
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

// readLine reads one line. The URL path of the request decides which function compares the response. A response that no
// function compares is counted as skipped.
func (c *Check) readLine(lineNumber uint32, l *responseLine) {
	path, _, _ := strings.Cut(l.Path, "?")
	known := c.readDirectoryLine(lineNumber, path, l)
	if !known && l.orgErr == nil {
		known = c.readOrganizationLine(lineNumber, path, l)
	}
	if known {
		c.Report.Count(findings.RuleAnswers, 1)
	} else {
		c.Report.Counts.SkippedAnswers++
	}
}

// readDirectoryLine reads a line about a record of the directory (an organization, partner, terminal …) or a rate. Such a line
// need not name an organization. readDirectoryLine returns false if the line is about something else.
func (c *Check) readDirectoryLine(lineNumber uint32, path string, l *responseLine) bool {
	status := *l.Status
	if path == ratesPath && l.Method == "PUT" && (status == 200 || status == 201) {
		c.readRate(lineNumber, l)
		return true
	}
	kind, id, ok := parseDirectoryPath(path)
	succeeded := status == 200 || status == 204
	if id == "" {
		succeeded = l.Method == "POST" && status == 201
	}
	return ok && succeeded && c.readDirectoryRecord(lineNumber, kind, id, l)
}

// readOrganizationLine reads a line about the records of one organization. It returns false if no function compares the
// response.
func (c *Check) readOrganizationLine(lineNumber uint32, path string, l *responseLine) bool {
	for _, route := range []struct {
		path string
		read func(lineNumber uint32, rest string, l *responseLine) bool // rest is the part of the URL path after path
	}{
		{transactionsPath, c.readTransactions}, {subscriptionsPath, c.readSubscriptions},
		{screeningsPath, c.readScreening}, {entriesPath, c.readEntry},
	} {
		if rest, ok := strings.CutPrefix(path, route.path); ok && (rest == "" || rest[0] == '/') {
			return route.read(lineNumber, strings.TrimPrefix(rest, "/"), l)
		}
	}
	target, ok := parseContractPath(path)
	return ok && c.readContract(lineNumber, target, l)
}

// decodeEmbedded returns v, or the JSON in v if v is a string.
func decodeEmbedded(v jsontext.Value) []byte {
	if v.Kind() != '"' {
		return v
	}
	var text string
	if json.Unmarshal(v, &text) != nil {
		return nil
	}
	return []byte(text)
}

// data returns the response's member "data", which contains the requested record or list. It returns nil if there is
// no such member.
func (l *responseLine) data() jsontext.Value { return parseObject(decodeEmbedded(l.Response))["data"] }

// succeeded tells whether the request has succeeded. isList says that the request's path names a list, not one record. A POST
// to a list creates a record, so its status is 201.
func (l *responseLine) succeeded(isList bool) bool {
	switch {
	case l.Method == "POST" && isList:
		return *l.Status == 201
	case l.Method == "POST", l.Method == "GET":
		return *l.Status == 200
	}
	return false
}

// shownObjects returns the records that a response shows. If isList is true, the response must have a list of records; if it
// has none, ok is false. If isList is false, the response shows one record.
func (l *responseLine) shownObjects(isList bool) (records []jsonObject, ok bool) {
	if !isList {
		return []jsonObject{parseObject(l.data())}, true
	}
	ok = json.Unmarshal(l.data(), &records) == nil
	return records, ok
}

// hash returns a hash of the texts. The hash is never 0.
func (r *receivedResponses) hash(texts ...string) uint64 {
	var m maphash.Hash
	m.SetSeed(r.seed)
	for _, text := range texts {
		_, _ = m.WriteString(strconv.Itoa(len(text))) // WriteString of maphash never fails
		_, _ = m.WriteString(":" + text)
	}
	return m.Sum64() | 1
}

// CheckAll reports the records that responses show but the store lacks, and the number of responses that were not
// compared. If no response was compared, the rule is reported as skipped.
func (c *Check) CheckAll() error {
	a := &c.answers
	if !a.hasAnswers {
		return nil
	}
	rule, skipped := &c.Report.Rules[findings.RuleAnswers-1], c.Report.Counts.SkippedAnswers
	if skipped > 0 {
		rule.Note = fmt.Sprintf("%d answers compared, %d not of a kind that can be compared", rule.Count, skipped)
	}
	if rule.Count == 0 && rule.Outcome == findings.OK {
		c.Report.Skip(findings.RuleAnswers)
	}
	c.compareSubscriptions()
	a.transactions.reportLost(c, partnerKeyScope, nil)
	a.contracts.reportLost(c, func(*shownRecord[shownContract]) string { return actors.UserKeyScope }, c.compareReply)
	a.subscriptions.reportLost(c, partnerKeyScope, nil)
	c.checkKeys()
	c.checkDirectory()
	return c.checkRates()
}

// existsInAnyOrganization tells whether any organization has the record of a response that names no organization. If the
// response names an organization, it returns false. A client may omit the organization's header if the server has only one
// organization.
func (c *Check) existsInAnyOrganization(recordName directory.RecordName) bool {
	if recordName.Org != (ledger.ID{}) {
		return false
	}
	for org := range c.Organizations {
		if c.directory.RecordNames[directory.RecordName{Kind: recordName.Kind, Org: org, ID: recordName.ID}] {
			return true
		}
	}
	return false
}
