package ledger

import "slices"

// Author says who requested an event. Every event has an author, so the zero value is invalid.
type Author struct {
	Kind AuthorKind

	// Seq identifies the author's record, such as an API key. It is the number, in the organization's journal, of the event
	// that created the record. Some kinds of authors have no record; for them Seq is 0. An event with a Seq needs no copy of an
	// id, a name or a secret of its author, and an auditor can verify the author like any other event.
	Seq uint64
}

// AuthorKind is the kind of an author. The values are part of the canonical bytes of events, so they must never change.
type AuthorKind byte

// The kinds of authors.
const (
	ByAdminToken AuthorKind = iota + 1 // an operator who uses the administration token
	ByAPIKey                           // a partner's server; its record is the API key
	BySession                          // a person who has logged in; the person's record is the user or the partner
	ByPayer                            // the payer of a hosted page or of a link
	ByProvider                         // a provider's answer or report
	BySystem                           // the service itself, for example a timer, a retry or a renewal
)

// authorKinds describes each kind of author: its name in the API, and the kinds of records to which Author.Seq may refer.
var authorKinds = [...]struct {
	word    string
	records []Kind // empty if authors of this kind have no record
}{
	ByAdminToken: {word: "admin_token"},
	ByAPIKey:     {word: "api_key", records: []Kind{APIKey}},
	BySession:    {word: "session", records: []Kind{User, Partner, Session}}, // Session: for sessions without a login
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

// AuthorKindOf returns the kind of author with the given name in the API. If there is no such kind, it returns false.
func AuthorKindOf(word string) (AuthorKind, bool) {
	for _, k := range AuthorKinds() {
		if k.String() == word {
			return k, true
		}
	}
	return 0, false
}

// IsValid tells whether k is a kind of author.
func (k AuthorKind) IsValid() bool { return k != 0 && int(k) < len(authorKinds) }

// String returns the kind's name in the API, or an empty string if the kind is not valid.
func (k AuthorKind) String() string {
	if !k.IsValid() {
		return ""
	}
	return authorKinds[k].word
}

// HasRecord tells whether authors of kind k have a record.
func (k AuthorKind) HasRecord() bool { return k.IsValid() && authorKinds[k].records != nil }

// Author returns an author of kind k. It is for kinds whose authors have no record.
func (k AuthorKind) Author() Author { return Author{Kind: k} }

// MayRefer tells whether Author.Seq may refer to a record of the given kind if the author is of kind k.
func (k AuthorKind) MayRefer(record Kind) bool {
	return k.HasRecord() && slices.Contains(authorKinds[k].records, record)
}

// IsValid tells whether the author's kind is valid, and Seq is set if and only if authors of this kind have a record.
func (a Author) IsValid() bool { return a.Kind.IsValid() && (a.Seq != 0) == a.Kind.HasRecord() }
