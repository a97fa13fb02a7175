package admin

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"mizan/actors/notifier"
	searchactor "mizan/actors/search"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
	ledgersearch "mizan/ledger/search"
	"mizan/posting"
)

// Bounds of a search. Records of the directory are in memory, and transactions are found through an index (package
// actors/search).
const (
	minNamePart = 3  // characters; a shorter text must equal the whole name
	maxHits     = 50 // rows of the response
)

// Finder finds transactions by the values of their fields; *search.Index of package actors/search implements it.
type Finder interface {
	// Find calls fn with each transaction that contains the text in one of its fields, until fn returns false. If there may be
	// more such transactions, complete is false.
	Find(org ledger.ID, text string, fn func(searchactor.Match) (more bool)) (complete bool, err error)
}

// hit is a row of GET /search.
type hit struct {
	Kind    string  `json:"kind"`
	ID      string  `json:"id"`
	Name    *string `json:"name"`
	Partner *int64  `json:"partner_id"`
	Field   string  `json:"field"` // the field in which the text was found
}

// searchAnswer is the response to GET /search.
type searchAnswer struct {
	Hits     []hit `json:"hits"`
	Complete bool  `json:"complete"`
}

// search is the state of one search.
type search struct {
	handlers *Handlers
	view     *posting.View
	org      ledger.ID
	text     string // as it was sent, without leading and trailing blanks
	folded   string // the text in lower case

	// Other readings of the text.
	id           ledger.ID // zero if the text is not an id
	number       int64     // of a partner; 0 if the text is not a number
	isLongEnough bool      // the text is long enough to match a part of a name

	answer searchAnswer
}

// search is GET /search?q=. It finds records by their id, number, txid, rrn, reference, e-mail address, login, prefix of a key,
// or last four digits of a card, and by a part of their name.
func (h *Handlers) search(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx, "q")
	text := strings.TrimSpace(q.Text("q"))
	if text == "" || utf8.RuneCountInString(text) > ledgersearch.MaxText {
		q.Problems.Add("q", "q must have from 1 to "+strconv.Itoa(ledgersearch.MaxText)+" characters")
	}
	if err := q.Problems.Err(); err != nil {
		return err
	}
	org, err := req.Organization(h.cfg.Directory)
	if err != nil {
		return err
	}
	s := &search{handlers: h, view: h.cfg.Journal.View(), org: org, text: text, folded: ledgersearch.Fold(text), answer: searchAnswer{Hits: []hit{}, Complete: true}}
	if s.id, err = web.ParseID(text); err != nil {
		s.id = ledger.ID{}
	}
	if s.number, err = strconv.ParseInt(text, 10, 64); err != nil || strconv.FormatInt(s.number, 10) != text {
		s.number = 0
	}
	s.isLongEnough = utf8.RuneCountInString(s.folded) >= minNamePart
	defer s.view.Close()
	for _, look := range []func() error{s.byID, s.inDirectory, s.inTransactions} {
		if err := look(); err != nil {
			return err
		}
	}
	web.WriteData(req, fiber.StatusOK, s.answer)
	return nil
}

// add adds a row, unless the response already contains it. If the response is full, add returns false.
func (s *search) add(found hit) bool {
	for _, h := range s.answer.Hits {
		if h.Kind == found.Kind && h.ID == found.ID {
			return true
		}
	}
	if len(s.answer.Hits) == maxHits {
		s.answer.Complete = false
		return false
	}
	s.answer.Hits = append(s.answer.Hits, found)
	return true
}

// storedKinds are the kinds of records that a search looks up in the store. It finds them only by their id.
var storedKinds = []struct {
	kind ledger.Kind
	word string
}{
	{ledger.Limit, "limit"}, {ledger.Block, "blocklist_entry"}, {ledger.Rate, "rate"}, {ledger.Settlement, "settlement"}, {ledger.Transaction, "transaction"},
	{ledger.Subscription, "subscription"}, {ledger.Link, "link"}, {ledger.Product, "product"}, {ledger.Contract, "contract"},
}

// byID finds the records with the text as their id.
func (s *search) byID() error {
	id := s.id
	if id == (ledger.ID{}) {
		return nil
	}
	for _, k := range storedKinds {
		_, found, err := s.view.Record(s.org, ledger.Source{Kind: k.kind, ID: id})
		if err != nil {
			return err
		}
		if found {
			s.add(hit{Kind: k.word, ID: id.String(), Field: "id"})
		}
	}
	if delivery, known := notifier.DeliveryOfEvent(s.org, id); known && s.handlers.cfg.Deliveries != nil {
		if _, err := s.handlers.cfg.Deliveries.Read(s.org, delivery); err == nil {
			s.add(hit{Kind: "delivery", ID: id.String(), Field: "event_id"})
		} else if !ledger.IsRefusal(err, ledger.NotFound) {
			return err
		}
	}
	return nil
}

// field is a field of a directory record in which a search looks for the text.
type field struct{ name, text string }

// matching returns the name of the first field that equals the text. The record's name also matches if only a part of it equals
// the text.
func (s *search) matching(id ledger.ID, name string, fields ...field) (field string, ok bool) {
	if id == s.id {
		return "id", true
	}
	for _, f := range fields {
		if equalsFolded(f.text, s.folded) {
			return f.name, true
		}
	}
	if s.isLongEnough {
		return "name", containsFolded(name, s.folded)
	}
	return "name", equalsFolded(name, s.folded)
}

// inDirectory finds partners, terminals, keys and users.
func (s *search) inDirectory() error {
	d := s.handlers.cfg.Directory
	if err := d.EachPartner(s.org, func(p *directory.Partner) bool {
		name, ok := s.matching(p.ID, p.Name, field{"login", p.Login}, field{"email", p.Email})
		if p.Number == s.number {
			name, ok = "id", true
		}
		return !ok || s.add(hit{"partner", strconv.FormatInt(p.Number, 10), &p.Name, &p.Number, name})
	}); err != nil {
		return err
	}
	if err := d.EachUser(s.org, func(u *directory.User) bool {
		name, ok := s.matching(u.ID, u.Name, field{"login", u.Login}, field{"email", u.Email})
		return !ok || s.add(hit{"user", u.ID.String(), &u.Login, nil, name})
	}); err != nil {
		return err
	}
	if err := d.EachTerminal(s.org, func(t *directory.Terminal) bool {
		name, ok := s.matching(t.ID, t.Name)
		return !ok || s.add(hit{"terminal", t.ID.String(), &t.Name, &t.Partner, name})
	}); err != nil {
		return err
	}
	return d.EachAPIKey(s.org, func(k *directory.APIKey) bool {
		name, ok := s.matching(k.ID, k.Name, field{"prefix", k.Prefix})
		if !ok && k.Prefix != "" && strings.HasPrefix(s.text, k.Prefix) { // the user has pasted a whole key
			name, ok = "prefix", true
		}
		return !ok || s.add(hit{"api_key", k.ID.String(), &k.Name, &k.Partner, name})
	})
}

// inTransactions finds transactions by their fields.
func (s *search) inTransactions() error {
	if s.handlers.cfg.Finder == nil {
		return nil
	}
	complete, err := s.handlers.cfg.Finder.Find(s.org, s.text, func(m searchactor.Match) bool {
		return s.add(hit{"transaction", m.ID.String(), &m.TxID, &m.Partner, m.Field.String()})
	})
	s.answer.Complete = s.answer.Complete && complete
	return err
}

// A search compares its text with tens of thousands of names, so these functions allocate nothing for names in ASCII.

// equalsFolded tells whether text, converted to lower case, equals folded, which is in lower case and not empty.
func equalsFolded(text, folded string) bool {
	if !isASCII(text) {
		return strings.ToLower(text) == folded
	}
	return len(text) == len(folded) && beginsFolded(text, folded)
}

// containsFolded tells whether text, converted to lower case, contains folded, which is in lower case and not empty.
func containsFolded(text, folded string) bool {
	if !isASCII(text) {
		return strings.Contains(strings.ToLower(text), folded)
	}
	for ; len(text) >= len(folded); text = text[1:] {
		if beginsFolded(text, folded) {
			return true
		}
	}
	return false
}

// beginsFolded tells whether text, converted to lower case, begins with folded. The text must be ASCII, and at least as long as
// folded.
func beginsFolded(text, folded string) bool {
	for i := range len(folded) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != folded[i] {
			return false
		}
	}
	return true
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
