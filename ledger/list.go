package ledger

import (
	"encoding/binary"
	"fmt"

	"mizan/internal/assert"
	"mizan/ledger/money"
)

// List is the key of a list of records. Its first byte is the kind of the records that it shows, its second byte
// the list's number among the lists of that kind. The rest is the list's owner, whose form only the package that
// declares the list knows. The zero value is no list.
type List [2 + ListOwner]byte

// ListOwner is the length of a list's owner, such as a partner and an environment.
const ListOwner = 9

// NewList returns the list of an owner with the given number. The owner is at most ListOwner bytes long, and the
// owners of all lists with one number have the same length.
func NewList(kind Kind, number byte, owner ...byte) (l List) {
	assert.That(len(owner) <= ListOwner, "a list's owner of %d bytes", len(owner))
	l[0], l[1] = byte(kind), number
	copy(l[2:], owner)
	return l
}

// Kind returns the kind of the records that the list shows.
func (l List) Kind() Kind { return Kind(l[0]) }

// Number returns the list's number among those of its kind.
func (l List) Number() byte { return l[1] }

// String returns the list's kind, number and owner.
func (l List) String() string { return fmt.Sprintf("%c%d of %x", l[0], l[1], l[2:]) }

// PartnerLists are the lists of one kind of record that each partner has in each environment.
type PartnerLists[R any] struct {
	kind  Kind
	owner func(*R) (partner int64, env money.Env)
	rows  []partnerRow[R]
}

type partnerRow[R any] struct {
	list  PartnerList
	shows func(*R) bool
}

// MaxPartnerLists is the largest number of lists that a kind can have.
const MaxPartnerLists = 8

// NewPartnerLists returns the lists of a kind of record, of which none is declared yet. The owner function returns
// the partner and the environment of a record.
func NewPartnerLists[R any](kind Kind, owner func(*R) (partner int64, env money.Env)) *PartnerLists[R] {
	return &PartnerLists[R]{kind: kind, owner: owner}
}

// Declare adds a list of the records for which shows returns true. The number is part of stored keys. The result of
// shows for a record must never change.
func (p *PartnerLists[R]) Declare(number byte, shows func(*R) bool) PartnerList {
	l := PartnerList{p.kind, number}
	for i := range p.rows {
		assert.That(p.rows[i].list != l, "two lists of kind %c have number %d", p.kind, number)
	}
	assert.That(len(p.rows) < MaxPartnerLists, "more than %d lists of kind %c", MaxPartnerLists, p.kind)
	p.rows = append(p.rows, partnerRow[R]{l, shows})
	return l
}

// Of returns the lists that show a record: the first, and the others. The first is zero if there
// are none.
func (p *PartnerLists[R]) Of(r *R) (first List, others []List) {
	for i := range p.rows {
		if !p.rows[i].shows(r) {
			continue
		}
		if l := p.rows[i].list.Of(p.owner(r)); first == (List{}) {
			first = l
		} else {
			others = append(others, l)
		}
	}
	return first, others
}

// PartnerList is a list that each partner has in each environment.
type PartnerList struct {
	kind   Kind
	number byte
}

// Of returns a partner's list in an environment.
func (p PartnerList) Of(partner int64, env money.Env) (l List) {
	l[0], l[1], l[2] = byte(p.kind), p.number, byte(env)
	binary.BigEndian.PutUint64(l[3:], uint64(partner))
	return l
}
