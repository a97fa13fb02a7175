package ledger

import (
	"encoding/binary"
	"fmt"

	"mizan/internal/assert"
	"mizan/ledger/money"
)

// List is the key of a list of records. Its first byte is the kind of the records in the list; its second byte is the
// list's number among the lists of that kind. The rest identifies the list's owner, in a form that only the package
// that declares the list knows. The zero value means no list.
type List [2 + ListOwnerLength]byte

// ListOwnerLength is the length of a list's owner, such as a partner and an environment.
const ListOwnerLength = 9

// NewList returns the key of the list with this owner and number. The owner is at most ListOwnerLength bytes long, and the
// owners of all lists with one number have the same length.
func NewList(kind Kind, number byte, owner ...byte) (l List) {
	assert.That(len(owner) <= ListOwnerLength, "a list's owner of %d bytes", len(owner))
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

// PartnerLists are several lists of one kind of record. Each partner has each of these lists once in each environment.
type PartnerLists[R any] struct {
	kind  Kind
	owner func(*R) (partner int64, env money.Env)
	lists []declaredList[R]
}

// declaredList is a list, and the function that tells which records the list shows.
type declaredList[R any] struct {
	list  PartnerList
	shows func(*R) bool
}

// MaxPartnerLists is the largest number of lists that a kind can have.
const MaxPartnerLists = 8

// NewPartnerLists returns PartnerLists without lists, for a kind of record. Declare adds the lists. The function owner
// returns the partner and the environment of a record.
func NewPartnerLists[R any](kind Kind, owner func(*R) (partner int64, env money.Env)) *PartnerLists[R] {
	return &PartnerLists[R]{kind: kind, owner: owner}
}

// Declare adds a list of the records for which shows returns true. The number is part of stored keys. The result of
// shows for a record must never change.
func (p *PartnerLists[R]) Declare(number byte, shows func(*R) bool) PartnerList {
	l := PartnerList{p.kind, number}
	for i := range p.lists {
		assert.That(p.lists[i].list != l, "two lists of kind %c have number %d", p.kind, number)
	}
	assert.That(len(p.lists) < MaxPartnerLists, "more than %d lists of kind %c", MaxPartnerLists, p.kind)
	p.lists = append(p.lists, declaredList[R]{l, shows})
	return l
}

// Of returns the lists that show a record: the first list, and the others. Both results are zero if no list shows the record.
// The first list is a result of its own because most records are in one list, which then costs no allocation.
func (p *PartnerLists[R]) Of(r *R) (first List, others []List) {
	for i := range p.lists {
		if !p.lists[i].shows(r) {
			continue
		}
		if l := p.lists[i].list.Of(p.owner(r)); first == (List{}) {
			first = l
		} else {
			others = append(others, l)
		}
	}
	return first, others
}

// PartnerList is a kind of list that each partner has once in each environment.
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
