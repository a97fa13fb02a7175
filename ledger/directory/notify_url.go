package directory

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mizan/ledger"
)

// This file checks the URLs to which notifications to merchants are sent.

const keyNotifyURL = "notify_url"

// Largest lengths of a host name and of a label, in bytes (RFC 1035, section 2.3.4).
const (
	maxHostLength  = 253
	maxLabelLength = 63
)

// checkNotifyURL refuses a URL to which notifications cannot or must not be sent. If allowsPrivate is false, it also
// refuses hosts that are not on the internet, such as this machine and its local networks. It does not resolve host names,
// because the code that sends a notification checks the resolved IP address each time.
func checkNotifyURL(op, field, address string, allowsPrivate bool) error {
	if address == "" {
		return nil
	}
	if len(address) > MaxURL {
		return ledger.RefuseField(op, field, "is longer than %d bytes", MaxURL)
	}
	if strings.ContainsFunc(address, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return ledger.RefuseField(op, field, "must be in ASCII without spaces: a name in its xn-- form, all else percent-encoded")
	}
	if err := checkURL(op, field, address); err != nil {
		return err
	}
	if strings.Contains(address, "#") {
		return ledger.RefuseField(op, field, "must have no fragment")
	}
	u, err := url.Parse(address)
	if err != nil {
		return ledger.RefuseField(op, field, "must be an http or https address")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return ledger.RefuseField(op, field, "has no port from 1 to 65535")
		}
	}
	return checkHost(op, field, u, allowsPrivate)
}

// checkHost checks the host of a URL. An IP address must be written in the usual form, because resolvers interpret forms
// such as 127.1, 0177.0.0.1 and 2130706433 in different ways.
func checkHost(op, field string, u *url.URL, allowsPrivate bool) error {
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil && ip.Zone() == "" {
		return check(allowsPrivate || isOnInternet(ip), op, field, "is not an address on the internet")
	}
	labels := strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	last := labels[len(labels)-1]
	isName := u.Host[0] != '[' && len(host) <= maxHostLength && !slices.ContainsFunc(labels, func(label string) bool { return !isLabel(label) }) && !isNumeric(last)
	return Join(
		check(isName, op, field, "has a host that is neither a name nor an address in its plain form"),
		check(allowsPrivate || last != "localhost", op, field, "is this machine's"),
	)
}

// isLabel tells whether the text can be a label (a part of a host name between dots).
func isLabel(label string) bool {
	return label != "" && len(label) <= maxLabelLength && consistsOf(label, func(c rune) bool { return isAlphanumeric(c) || c == '-' || c == '_' })
}

// isNumeric tells whether a label is a number, in decimal or in hexadecimal with the prefix 0x. If the last label of a host
// is a number, the host is not a name.
func isNumeric(label string) bool {
	digits, hexadecimal := strings.CutPrefix(label, "0x")
	return !strings.ContainsFunc(digits, func(c rune) bool { return (c < '0' || c > '9') && (!hexadecimal || c < 'a' || c > 'f') })
}

// The IP addresses on the internet: all of IPv4 and the allocated part of IPv6, except the entries of the special-purpose
// address registries (IANA, RFC 6890).
var (
	unicast6       = netip.MustParsePrefix("2000::/3")
	specialPurpose = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),        // this network (0.0.0.0 also reaches this machine)
		netip.MustParsePrefix("10.0.0.0/8"),       // private
		netip.MustParsePrefix("100.64.0.0/10"),    // shared by the customers of an internet provider
		netip.MustParsePrefix("127.0.0.0/8"),      // loopback
		netip.MustParsePrefix("168.63.129.16/32"), // metadata service of a large hosting provider; in no registry
		netip.MustParsePrefix("169.254.0.0/16"),   // link-local, metadata service of most hosting providers
		netip.MustParsePrefix("172.16.0.0/12"),    // private
		netip.MustParsePrefix("192.0.0.0/24"),     // protocol assignments
		netip.MustParsePrefix("192.0.2.0/24"),     // documentation
		netip.MustParsePrefix("192.31.196.0/24"),  // AS112
		netip.MustParsePrefix("192.52.193.0/24"),  // tunnels for multicast
		netip.MustParsePrefix("192.88.99.0/24"),   // 6to4 relays
		netip.MustParsePrefix("192.168.0.0/16"),   // private
		netip.MustParsePrefix("192.175.48.0/24"),  // AS112
		netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
		netip.MustParsePrefix("198.51.100.0/24"),  // documentation
		netip.MustParsePrefix("203.0.113.0/24"),   // documentation
		netip.MustParsePrefix("224.0.0.0/3"),      // multicast, reserved, broadcast

		netip.MustParsePrefix("2001::/23"),         // protocol assignments, Teredo
		netip.MustParsePrefix("2001:db8::/32"),     // documentation
		netip.MustParsePrefix("2002::/16"),         // 6to4: an IPv4 address in another form
		netip.MustParsePrefix("2620:4f:8000::/48"), // AS112
		netip.MustParsePrefix("3fff::/20"),         // documentation
	}
)

// isOnInternet tells whether an IP address is on the internet. It returns false for an IPv4 address that is embedded in an
// IPv6 address (mapped, NAT64), because merchants can use the IPv4 address itself.
func isOnInternet(ip netip.Addr) bool {
	if ip.Is6() && !unicast6.Contains(ip) {
		return false
	}
	return !slices.ContainsFunc(specialPurpose, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// checkNotifyURL checks the notify_url in a request's parameters. It always accepts the URL that is stored already, because
// an earlier release may have accepted it by another rule (doc.go, invariant 5).
func (t *Terminal) checkNotifyURL(op, stored string, allowsPrivate bool) error {
	params, _ := parseMembers(t.MerchantParams)
	address := textMember(params, keyNotifyURL)
	if address == stored {
		return nil
	}
	return checkNotifyURL(op, merchantParams+"."+keyNotifyURL, address, allowsPrivate)
}
