package answers

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mizan/ledger/schema"
)

// For rule 1 of the checker (acknowledged responses), this file compares JSON objects. An object in a response is
// compared, member by member, with the object that the API would send for the stored record.

// jsonObject is a JSON object in a response.
type jsonObject map[string]jsontext.Value

// members describes the members of an object by their names and a hash of each value. It uses little memory, because all
// objects of the responses are in memory at once, and there may be very many of them. Most objects of one kind have the same
// names, so each list of names is in memory only once.
type members struct {
	names  int32    // index of the names in receivedResponses.memberLists
	hashes []uint32 // hashes of the values, in the alphabetical order of the names
}

// membersOf returns an object's members.
func (r *receivedResponses) membersOf(object jsonObject) members {
	names := slices.Sorted(maps.Keys(object))
	key := fmt.Sprintf("%q", names)
	index, known := r.memberListIndex[key]
	if !known {
		index = int32(len(r.memberLists))
		r.memberListIndex[key], r.memberLists = index, append(r.memberLists, names)
	}
	m := members{index, make([]uint32, len(names))}
	for i, name := range names {
		m.hashes[i] = r.hashOf(object[name])
	}
	return m
}

// membersWritten returns the members of the JSON object whose fields writeFields appends to an encoder.
func (r *receivedResponses) membersWritten(writeFields func(*schema.Encoder)) members {
	e := schema.Encoder{Buf: []byte{'{'}}
	writeFields(&e)
	e.Close('}')
	return r.membersOf(parseObject(e.Buf))
}

// equal tells whether two objects have the same members.
func (m members) equal(other members) bool {
	return m.names == other.names && slices.Equal(m.hashes, other.hashes)
}

// differingNames returns the names of the members that only one of two objects has, or whose values differ. It ignores the
// members in excluded.
func (r *receivedResponses) differingNames(x, y members, excluded []string) (names []string) {
	if x.equal(y) {
		return nil
	}
	allNames := slices.Concat(r.memberLists[x.names], r.memberLists[y.names])
	slices.Sort(allNames)
	for _, name := range slices.Compact(allNames) {
		xHash, inX := r.hashIn(x, name)
		yHash, inY := r.hashIn(y, name)
		if (xHash != yHash || inX != inY) && !slices.Contains(excluded, name) {
			names = append(names, name)
		}
	}
	return names
}

// hashIn returns the hash of the member with this name. found is false if m has no such member.
func (r *receivedResponses) hashIn(m members, name string) (hash uint32, found bool) {
	i, found := slices.BinarySearch(r.memberLists[m.names], name)
	if found {
		hash = m.hashes[i]
	}
	return hash, found
}

// parseObject parses a JSON object. It returns nil if the value is not an object.
func parseObject(value []byte) jsonObject {
	var object jsonObject
	if json.Unmarshal(value, &object) != nil {
		return nil
	}
	return object
}

// text returns the string in the field with this name. If there is no such field, or if it is not a string, text
// returns an empty string.
func (object jsonObject) text(name string) string {
	var text string
	if v := object[name]; v.Kind() != '"' || json.Unmarshal(v, &text) != nil {
		return ""
	}
	return text
}

// canonicalForm returns the canonical JSON form of a value, so that equal values have equal bytes. Whole numbers stay as they
// are written, because canonical JSON would round numbers beyond 2^53. For an absent value it returns an empty string. Most
// values are strings without an escape, which already have the canonical form.
func canonicalForm(v jsontext.Value) string {
	if v.Kind() == '"' && bytes.IndexByte(v, '\\') < 0 {
		return string(bytes.TrimSpace(v))
	}
	canonicalized := jsontext.Value(bytes.Clone(v))
	if len(v) == 0 || canonicalized.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return string(v)
	}
	return string(canonicalized)
}

// hashOf returns a hash of a value's canonical form.
func (r *receivedResponses) hashOf(v jsontext.Value) uint32 {
	return uint32(maphash.String(r.seed, canonicalForm(v)))
}

func joinNames(names []string) string { return strings.Join(names, ", ") }

func quoteJSON(text string) jsontext.Value {
	value, _ := jsontext.AppendQuote(nil, text) // fails only for text that is not UTF-8; all callers pass hexadecimal digits
	return value
}

// encodeJSON encodes a value that was decoded from JSON.
func encodeJSON(v any) jsontext.Value {
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return encoded
}
