package directory

import (
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"unicode/utf8"

	"mizan/ledger/schema"
)

// This file defines the kinds of columns that only the directory uses: roles, hashes, and address ranges. A kind
// (schema.Kind) is the code that reads, checks, stores and shows the values of a column.

// rolesColumn returns a column whose values are sets of roles.
func rolesColumn(key uint8, name string, options ...schema.Option) schema.TypedColumn[Roles] {
	return schema.NewTypedColumn[Roles](key, name, rolesKind{}, options)
}

// hashColumn returns a column whose values are SHA-256 hashes. Responses never show the column.
func hashColumn(key uint8, name string, options ...schema.Option) schema.TypedColumn[[32]byte] {
	return schema.NewTypedColumn[[32]byte](key, name, hashKind{}, append(options, schema.NotShown))
}

// hashesColumn returns a column whose values are lists of SHA-256 hashes. Responses never show the column.
func hashesColumn(key uint8, name string, options ...schema.Option) schema.TypedColumn[[][32]byte] {
	return schema.NewTypedColumn[[][32]byte](key, name, hashesKind{}, append(options, schema.NotShown))
}

// parseStrings parses a JSON list of strings.
func parseStrings(raw []byte) (texts []string, ok bool) {
	var entries []*string // pointers, to detect null
	if raw[0] != '[' || json.Unmarshal(raw, &entries) != nil || slices.Contains(entries, nil) || !utf8.Valid(raw) {
		return nil, false
	}
	for _, text := range entries {
		texts = append(texts, *text)
	}
	return texts, true
}

// appendTexts appends a list as JSON, with each element as a text.
func appendTexts[T any](dst []byte, list []T, toText func(T) string) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = schema.AppendText(dst, toText(list[i]))
	}
	return append(dst, ']')
}

// rolesKind is the kind of columns whose values are of type Roles.
type rolesKind struct{ schema.Unbounded }

func (rolesKind) String() string { return "list of roles" }

func (rolesKind) Parse(_ *schema.Column, raw []byte, _ schema.ParseOptions) (any, string) {
	names, ok := parseStrings(raw)
	if !ok {
		return nil, "must be a list of strings"
	}
	return rolesOf(names), ""
}

// Check refuses a list that contains an unknown role, or a role twice.
func (rolesKind) Check(_ *schema.Column, value any) string {
	roles := value.(Roles)
	for i, r := range roles {
		switch {
		case !r.IsValid():
			return "must hold admin, auditor, client or partner"
		case i > 0 && roles[i-1] == r:
			return "names a role twice"
		}
	}
	return ""
}

func (rolesKind) AppendStored(_ *schema.Column, dst []byte, value any) []byte {
	for _, name := range value.(Roles) {
		dst = schema.AppendBytes(dst, string(name))
	}
	return dst
}

func (rolesKind) ReadStored(_ *schema.Column, stored []byte) (any, bool) {
	var roles Roles
	for len(stored) > 0 {
		name, rest, ok := schema.CutBytes(stored)
		if !ok {
			return nil, false
		}
		roles, stored = append(roles, Role(name)), rest
	}
	return roles, roles.IsValid()
}

func (rolesKind) AppendJSON(_ *schema.Column, dst []byte, value any, _ schema.Style) []byte {
	return appendTexts(dst, value.(Roles), func(r Role) string { return string(r) })
}

// Shape implements schema.Shaped.
func (rolesKind) Shape() schema.Shape { return schema.TextList }

func (rolesKind) Empty(value any) bool { return len(value.(Roles)) == 0 }

// Form implements schema.Kind.
func (rolesKind) Form(_ *schema.Column, use schema.Use) schema.Form {
	form := schema.Form{Type: "array", Entry: &schema.Form{Type: "string", Words: AllRoles.Strings()}}
	if use.InRequest {
		form.MinLength = 1
	}
	return form
}

// hashKind is the kind of columns whose values are hashes of type [32]byte.
type hashKind struct {
	schema.NeverEmpty
	schema.Unsettable
}

func (hashKind) String() string { return "SHA-256" }

func (hashKind) AppendStored(_ *schema.Column, dst []byte, value any) []byte {
	hash := value.([32]byte)
	return append(dst, hash[:]...)
}

func (hashKind) ReadStored(_ *schema.Column, stored []byte) (any, bool) {
	if len(stored) != len([32]byte{}) {
		return nil, false
	}
	return [32]byte(stored), true
}

func (hashKind) AppendJSON(_ *schema.Column, dst []byte, _ any, _ schema.Style) []byte {
	return append(dst, "null"...)
}

// Form implements schema.Kind. Responses never show a hash.
func (hashKind) Form(*schema.Column, schema.Use) schema.Form { return schema.Form{Type: "null"} }

// hashesKind is the kind of columns whose values are lists of hashes of type [][32]byte.
type hashesKind struct{ hashKind }

func (hashesKind) AppendStored(_ *schema.Column, dst []byte, value any) []byte {
	for _, hash := range value.([][32]byte) {
		dst = append(dst, hash[:]...)
	}
	return dst
}

func (hashesKind) ReadStored(_ *schema.Column, stored []byte) (any, bool) {
	const size = len([32]byte{})
	if len(stored)%size != 0 {
		return nil, false
	}
	var list [][32]byte
	for ; len(stored) > 0; stored = stored[size:] {
		list = append(list, [32]byte(stored))
	}
	return list, true
}

// sourcesColumn returns a column whose values are lists of IP addresses and CIDR prefixes.
func sourcesColumn(key uint8, name string, options ...schema.Option) schema.TypedColumn[[]netip.Prefix] {
	return schema.NewTypedColumn[[]netip.Prefix](key, name, sourcesKind{}, options)
}

// sourcesKind is the kind of columns whose values are address ranges of type []netip.Prefix.
type sourcesKind struct{ schema.Unsettable }

func (sourcesKind) String() string { return "list of addresses and CIDR prefixes" }

// ParseParts implements schema.MultiPart. Each fault names the wrong entry by its index in the list.
func (sourcesKind) ParseParts(c *schema.Column, raw []byte, f *schema.Faults) any {
	texts, ok := parseStrings(raw)
	switch {
	case !ok:
		f.Add(c.Name, "%s must be a list of strings", c.Name)
		return []netip.Prefix(nil)
	case len(texts) > MaxSources:
		f.Add(c.Name, "has more than %d entries", MaxSources)
		return []netip.Prefix(nil)
	}
	var sources []netip.Prefix
	for i, text := range texts {
		source, err := ParseSource(text)
		if err != nil {
			f.Add(c.Name+"."+strconv.Itoa(i), "must be an IP address or a CIDR prefix (no zone; IPv4 in IPv6 form has a prefix of 96 bits or more)")
		}
		sources = append(sources, source)
	}
	return sources
}

// CheckParts implements schema.MultiPart.
func (sourcesKind) CheckParts(c *schema.Column, value any, f *schema.Faults) {
	if len(value.([]netip.Prefix)) > MaxSources {
		f.Add(c.Name, "has more than %d entries", MaxSources)
	}
}

func (sourcesKind) AppendStored(_ *schema.Column, dst []byte, value any) []byte {
	for _, source := range value.([]netip.Prefix) {
		dst = schema.AppendBytes(dst, source.String())
	}
	return dst
}

func (sourcesKind) ReadStored(_ *schema.Column, stored []byte) (any, bool) {
	var sources []netip.Prefix
	for len(stored) > 0 {
		text, rest, ok := schema.CutBytes(stored)
		source, err := netip.ParsePrefix(string(text))
		if !ok || err != nil {
			return nil, false
		}
		sources, stored = append(sources, source), rest
	}
	return sources, true
}

func (sourcesKind) AppendJSON(_ *schema.Column, dst []byte, value any, _ schema.Style) []byte {
	return appendTexts(dst, value.([]netip.Prefix), netip.Prefix.String)
}

// Shape implements schema.Shaped.
func (sourcesKind) Shape() schema.Shape { return schema.TextList }

func (sourcesKind) Empty(value any) bool { return len(value.([]netip.Prefix)) == 0 }

// Form implements schema.Kind.
func (sourcesKind) Form(_ *schema.Column, use schema.Use) schema.Form {
	form := schema.Form{Type: "array", Entry: &schema.Form{Type: "string"}}
	if use.InRequest {
		form.MaxLength = MaxSources
	}
	return form
}

var errInvalidSource = errors.New("not an unambiguous address or prefix")

// ParseSource parses a CIDR prefix or an IP address. An address becomes a prefix of full length. ParseSource clears the
// host bits of a prefix, and converts an IPv4 address in IPv6 form to IPv4. It refuses addresses with a zone, because a
// zone means different networks on different machines. It also refuses an IPv4-mapped prefix of less than 96 bits, because
// such a prefix contains addresses that are not IPv4.
func ParseSource(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		if address.Zone() != "" {
			return netip.Prefix{}, errInvalidSource
		}
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	const mappedBits = 96 // the prefix length of ::ffff:0:0/96
	if address := prefix.Addr(); address.Is4In6() {
		if prefix.Bits() < mappedBits {
			return netip.Prefix{}, errInvalidSource
		}
		prefix = netip.PrefixFrom(address.Unmap(), prefix.Bits()-mappedBits)
	}
	return prefix.Masked(), nil
}
