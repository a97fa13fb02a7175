package ledger

import "slices"

// Author says who asked for an event. The zero value is invalid: every event has an author.
type Author struct {
	Kind AuthorKind

	// Seq is the number, in the organization's journal, of the event that created the author's record; 0 for the kinds of
	// authors that have no record. So an event names its author without a copy of an id, a name or a secret, and the author
	// can be proven like any other event.
	Seq uint64
}

// AuthorKind is the kind of an author. Its value is part of canonical bytes, so it never changes.
type AuthorKind byte

// The kinds of authors.
const (
	ByAdminToken AuthorKind = iota + 1 // an operator with the administration token
	ByAPIKey                           // a partner's server; its record is the API key
	BySession                          // a person who has logged in; the person's record is the user or the partner
	ByPayer                            // the payer of a hosted page or of a link
	ByProvider                         // a provider's answer or report
	BySystem                           // the service itself: a timer, a retry, a renewal
)

// authorKinds has, for each kind of author, its name in the API and the kinds of records that Author.Seq may refer to.
var authorKinds = [...]struct {
	word    string
	records []Kind // empty: authors of this kind have no record
}{
	ByAdminToken: {word: "admin_token"},
	ByAPIKey:     {word: "api_key", records: []Kind{APIKey}},
	BySession:    {word: "session", records: []Kind{User, Partner, Session}}, // Session: one that no login began
	ByPayer:      {word: "payer"},
	ByProvider:   {word: "provider"},
	BySystem:     {word: "system"},
}

// AuthorKinds returns all kinds of authors.
func AuthorKinds() (kinds []AuthorKind) {
	for k := ByAdminToken; int(k) < len(authorKinds); k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

// AuthorKindOf returns the kind of author with this name in the API; false if there is none.
func AuthorKindOf(word string) (AuthorKind, bool) {
	for _, k := range AuthorKinds() {
		if k.String() == word {
			return k, true
		}
	}
	return 0, false
}

// IsValid tells whether the kind exists.
func (k AuthorKind) IsValid() bool { return k != 0 && int(k) < len(authorKinds) }

// String returns the kind's name in the API; empty for a kind that does not exist.
func (k AuthorKind) String() string {
	if !k.IsValid() {
		return ""
	}
	return authorKinds[k].word
}

// HasRecord tells whether authors of the kind have a record.
func (k AuthorKind) HasRecord() bool { return k.IsValid() && authorKinds[k].records != nil }

// Author returns the author of this kind, for a kind whose authors have no record.
func (k AuthorKind) Author() Author { return Author{Kind: k} }

// MayRefer tells whether an author of the kind may be a record of the given kind.
func (k AuthorKind) MayRefer(record Kind) bool {
	return k.HasRecord() && slices.Contains(authorKinds[k].records, record)
}

// IsValid tells whether the author's kind exists, and Seq is set exactly if authors of this kind have a record.
func (a Author) IsValid() bool { return a.Kind.IsValid() && (a.Seq != 0) == a.Kind.HasRecord() }
