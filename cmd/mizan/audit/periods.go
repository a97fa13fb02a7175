package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"mizan/cmd/mizan/audit/evidence"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client"
	"mizan/ledger/period"
)

// periodCommands are `mizan audit periods …`.
type periodCommands struct {
	List   listPeriodsCommand  `cmd:"" help:"List the months that are closed, the last one first."`
	Close  closePeriodCommand  `cmd:"" help:"Close a month permanently; this needs a session with role admin."`
	Verify checkPeriodsCommand `cmd:"" help:"Recompute the hashes of closed months from their trial balances."`
}

const periodsPath = "/ledger/periods"

// closedMonth is the server's JSON of a closed month.
type closedMonth struct {
	Month    string `json:"month"`
	ClosedAt string `json:"closed_at"`
	ClosedBy struct {
		Session string `json:"session_id"`
		Login   string `json:"login"`
	} `json:"closed_by"`
	Seq  uint64 `json:"seq"`
	Rows uint64 `json:"rows"`
	Hash string `json:"hash"`
}

// listPage is the server's JSON of one page of a list.
type listPage[T any] struct {
	Rows   []T `json:"data"`
	Cursor struct {
		Value *string `json:"cursor_value"`
	} `json:"cursor"`
}

// maxListPages bounds the number of pages that are read of a list, because a faulty server's list may never end.
const maxListPages = 1 << 20

// eachRow requests all pages of a list and calls fn with each row.
func eachRow[T any](ledger *client.Ledger, path string, query url.Values, fn func(*T) error) error {
	query.Set("limit", "500")
	for range maxListPages {
		body, err := ledger.Get(path, query)
		if err != nil {
			return err
		}
		var page listPage[T]
		if err := json.Unmarshal(body, &page); err != nil {
			return ledger.Failed("%s: the answer is not the server's", path)
		}
		for i := range page.Rows {
			if err := fn(&page.Rows[i]); err != nil {
				return err
			}
		}
		if page.Cursor.Value == nil {
			return nil
		}
		query.Set("cursor", *page.Cursor.Value)
	}
	return ledger.Failed("%s: the list has no end", path)
}

// listPeriodsCommand is `mizan audit periods list`.
type listPeriodsCommand struct {
	client.LedgerFlags
	JSON bool `name:"json" help:"Print the server's JSON, one object a line, instead of a table."`
}

// Run implements the command.
func (c *listPeriodsCommand) Run(s *cli.Streams) error {
	ledger, err := c.Open("audit periods list", s)
	if err != nil {
		return err
	}
	if ledger.JSON = c.JSON; c.JSON {
		if _, err := ledger.Organization(); err != nil {
			return err
		}
		return ledger.List(client.Listing{Path: periodsPath}, client.Paging{All: true})
	}
	table := client.NewTable(s.Out, client.TerminalWidth(s.Out), []client.Column{{Name: "MONTH"}, {Name: "CLOSED_AT"}, {Name: "CLOSED_BY"}, {Name: "SEQ"}, {Name: "HASH"}})
	rows := 0
	err = eachRow(ledger, periodsPath, url.Values{}, func(m *closedMonth) error {
		closer := m.ClosedBy.Login
		if closer == "" {
			closer = "session " + m.ClosedBy.Session
		}
		table.Add(m.Month, m.ClosedAt, strconv.Quote(closer), strconv.FormatUint(m.Seq, 10), m.Hash)
		rows++
		return nil
	})
	if err != nil {
		return err
	}
	if rows == 0 {
		ledger.Note("no month is closed")
	}
	return table.Flush()
}

// closePeriodCommand is `mizan audit periods close`.
type closePeriodCommand struct {
	client.LedgerFlags
	JSON  bool   `name:"json" help:"Print the server's JSON."`
	Month string `arg:"" placeholder:"YYYY-MM" help:"The month to close: the earliest open month, which must be over."`
}

// Run implements the command.
func (c *closePeriodCommand) Run(s *cli.Streams) error {
	ledger, err := c.OpenWriter("audit periods close", s)
	if err != nil {
		return err
	}
	if _, ok := period.Parse(c.Month); !ok {
		return ledger.Misused("%q is not a month, YYYY-MM", c.Month)
	}
	body, err := ledger.Post(periodsPath + "/" + c.Month + "/close")
	if err != nil {
		return err
	}
	if c.JSON {
		return printData(s, ledger, body)
	}
	var answer struct {
		Data closedMonth `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Data.Month != c.Month {
		return ledger.Failed("the answer is not the server's")
	}
	_, err = fmt.Fprintf(s.Out, "%s is closed by event %d, hash %s\n", answer.Data.Month, answer.Data.Seq, answer.Data.Hash)
	return err
}

// printData prints the data of a response as one line of JSON.
func printData(s *cli.Streams, ledger *client.Ledger, body []byte) error {
	response, err := client.ParseObject(body)
	if err != nil {
		return ledger.Failed("the answer is not the server's")
	}
	data, _ := response.Value("data")
	_, err = fmt.Fprintln(s.Out, data.String())
	return err
}

// checkPeriodsCommand is `mizan audit periods verify`.
type checkPeriodsCommand struct {
	client.LedgerFlags
	Months []string `arg:"" optional:"" placeholder:"YYYY-MM" help:"Months to verify; default: all closed months."`
	Key    *string  `name:"key" placeholder:"KEY" help:"Public key that verifies the heads; default: the key that the server reports."`
	JSON   bool     `name:"json" help:"Print a JSON object for each month instead of a line."`
}

// verifiedMonth is one line of the command's output if --json is given.
type verifiedMonth struct {
	Month   string `json:"month"`
	Hash    string `json:"hash"`
	OK      bool   `json:"ok"`
	Verdict string `json:"verdict"` // "ok", or a description of the difference
}

// periodsVerifyName is the name of the command in its error messages.
const periodsVerifyName = "audit periods verify"

// Run implements the command. It computes the hash of a month's trial balance as described in docs/audit.md, without using the
// server's code. Then it checks that the month was closed with the same hash. The closing event is proven under the server's
// head (a signed statement of the journal's size and root hash).
func (c *checkPeriodsCommand) Run(s *cli.Streams) error {
	keyFlag, err := keyFromFlag(periodsVerifyName, c.Key)
	if err != nil {
		return err
	}
	server, err := openAudit(&c.LedgerFlags, periodsVerifyName, s)
	if err != nil {
		return err
	}
	months, err := c.closedMonths(server.ledger)
	if err != nil {
		return err
	}
	key, err := server.keyOrServersKey(keyFlag)
	if err != nil {
		return err
	}
	head, err := server.verifiedHead(key)
	var refusal *evidence.Refusal
	if errors.As(err, &refusal) {
		return refusedEvidence(periodsVerifyName, err)
	}
	if err != nil {
		return err
	}
	if keyFlag == "" {
		_, _ = fmt.Fprintf(s.Err, "mizan: %s: the key was taken from the server: compare it with the one that you got elsewhere: %s\n", periodsVerifyName, key)
	}
	if len(months) == 0 && c.JSON {
		return nil
	}
	if len(months) == 0 {
		_, err := fmt.Fprintln(s.Out, "no month is closed")
		return err
	}
	var wrongMonths []string
	for _, m := range slices.Backward(months) {
		verdict, err := m.verdict(server, head)
		if err != nil {
			return err
		}
		if verdict != "ok" {
			wrongMonths = append(wrongMonths, m.Month)
		}
		line := []byte(m.Month + " " + m.Hash + " " + verdict)
		if c.JSON {
			if line, err = json.Marshal(verifiedMonth{m.Month, m.Hash, verdict == "ok", verdict}); err != nil {
				return err
			}
		}
		if _, err := s.Out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	if len(wrongMonths) > 0 {
		return refusedEvidence(periodsVerifyName, fmt.Errorf("%s: the server's record differs from the recomputed month", strings.Join(wrongMonths, ", ")))
	}
	return nil
}

// closedMonths returns the months that the command line names, or all closed months if it names none. The latest month comes
// first. Months are closed without gaps, so if the server's list has a gap, the list is incomplete and is refused.
func (c *checkPeriodsCommand) closedMonths(ledger *client.Ledger) (months []*closedMonth, err error) {
	for _, text := range c.Months {
		if _, ok := period.Parse(text); !ok {
			return nil, ledger.Misused("%q is not a month, YYYY-MM", text)
		}
	}
	var previous period.Month
	err = eachRow(ledger, periodsPath, url.Values{}, func(m *closedMonth) error {
		month, ok := period.Parse(m.Month)
		if !ok {
			return ledger.Failed("the server names %q, which is no month", m.Month)
		}
		if previous != 0 && month != previous-1 {
			return refusedEvidence(periodsVerifyName, fmt.Errorf("the server's list goes from %v to %v, and months are closed without a gap", previous, month))
		}
		previous = month
		if len(c.Months) == 0 || slices.Contains(c.Months, m.Month) {
			months = append(months, m)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, text := range c.Months {
		if !slices.ContainsFunc(months, func(m *closedMonth) bool { return m.Month == text }) {
			return nil, ledger.Misused("%s is not closed", text)
		}
	}
	return months, nil
}

// verdict returns "ok" if the month's trial balance and its closing event agree with the server's record of the month.
// Otherwise it returns a description of the difference.
func (m *closedMonth) verdict(server *auditServer, head *evidence.Head) (string, error) {
	computed, rows, err := trialBalanceHash(server.ledger, m.Month)
	switch {
	case err != nil:
		return "", err
	case computed != m.Hash:
		return "differs: its trial balance is hashed as " + computed, nil
	case rows != m.Rows:
		return fmt.Sprintf("differs: its trial balance has %d rows, not %d", rows, m.Rows), nil
	case m.Seq == 0 || int64(m.Seq) > head.Tree.N:
		return fmt.Sprintf("differs: event %d is not in the journal of %d", m.Seq, head.Tree.N), nil
	}
	leaf, path, err := server.inclusionProof(m.Seq, head.Tree.N)
	if err != nil {
		return "", err
	}
	p, err := evidence.Prove(leaf, path, head)
	if err != nil {
		return "differs: " + err.Error(), nil
	}
	month, sum, ok := period.ReadEvent(&p.Event)
	if !ok || p.Event.Seq != m.Seq || month.String() != m.Month || hex.EncodeToString(sum[:]) != m.Hash {
		return fmt.Sprintf("differs: event %d does not close it with that hash", m.Seq), nil
	}
	return "ok", nil
}

// trialBalanceRow is the server's JSON of one row of the trial balance.
type trialBalanceRow struct {
	Account string `json:"account"`
	Asset   struct {
		Currency string `json:"currency"`
		Network  string `json:"network"`
	} `json:"asset"`
	DebitsPosted   string `json:"debits_posted"`
	CreditsPosted  string `json:"credits_posted"`
	DebitsPending  string `json:"debits_pending"`
	CreditsPending string `json:"credits_pending"`
}

// canonicalIDPattern matches the form in which an organization's id is hashed.
var canonicalIDPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// trialBalanceHash computes the hash of the trial balance at a month's end. It also returns the number of rows in which some
// amount is not 0.
func trialBalanceHash(ledger *client.Ledger, month string) (hashed string, rows uint64, err error) {
	parsed, ok := period.Parse(month)
	organization, err := ledger.Organization()
	if err != nil {
		return "", 0, err
	}
	organization = strings.ToLower(organization)
	if !ok || !canonicalIDPattern.MatchString(organization) {
		return "", 0, ledger.Failed("the server names %q, which is no month", month)
	}
	digest := sha256.New()
	writeText(digest, "mizan period 1\norganization "+organization+"\nmonth "+month+"\n")
	for _, env := range []string{"prod", "test"} {
		query := url.Values{"by": {"effective"}, "at": {parsed.LastDay().String()}, "env": {env}}
		err := eachRow(ledger, "/ledger/trial-balance", query, func(r *trialBalanceRow) error {
			amounts := []string{r.DebitsPosted, r.CreditsPosted, r.DebitsPending, r.CreditsPending}
			if slices.ContainsFunc(amounts, func(a string) bool { return a != "0" }) {
				rows++
				writeText(digest, strings.Join(append([]string{env, r.Account, r.Asset.Currency, r.Asset.Network}, amounts...), "\t")+"\n")
			}
			return nil
		})
		if err != nil {
			return "", 0, err
		}
	}
	return hex.EncodeToString(digest.Sum(nil)), rows, nil
}

// writeText adds a text to a hash. A write to a hash never returns an error.
func writeText(h hash.Hash, text string) { _, _ = h.Write([]byte(text)) }
