package directory

import (
	"errors"
	"net/netip"
	"strconv"

	"mizan/ledger/schema"
)

// sources is a column of addresses and CIDR prefixes.
func sources(key uint8, name string, o ...schema.Option) schema.Cell[[]netip.Prefix] {
	return schema.NewCell[[]netip.Prefix](key, name, sourcesKind{}, o)
}

// sourcesKind is the kind of lists of address ranges: []netip.Prefix.
type sourcesKind struct{ schema.Unasked }

func (sourcesKind) String() string { return "list of addresses and CIDR prefixes" }

// ParseParts implements schema.Parted: a fault names the entry.
func (sourcesKind) ParseParts(c *schema.Column, raw []byte, f *schema.Faults) any {
	texts, ok := stringsOf(raw)
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

// CheckParts implements schema.Parted.
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

var errNoSource = errors.New("no address or prefix of one meaning")

// ParseSource parses a CIDR prefix or an address, which becomes a prefix with all bits. It
// clears the host bits of a prefix and converts IPv4 in IPv6 form to IPv4. It refuses addresses
// with a zone, which have a meaning on one machine only, and shorter prefixes of IPv4 in IPv6
// form, which would contain more than IPv4.
func ParseSource(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		if address.Zone() != "" {
			return netip.Prefix{}, errNoSource
		}
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	const mapped = 96 // bits of ::ffff:0:0/96
	if address := prefix.Addr(); address.Is4In6() {
		if prefix.Bits() < mapped {
			return netip.Prefix{}, errNoSource
		}
		prefix = netip.PrefixFrom(address.Unmap(), prefix.Bits()-mapped)
	}
	return prefix.Masked(), nil
}
