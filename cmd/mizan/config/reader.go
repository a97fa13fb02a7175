package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"mizan/cmd/mizan/cli"
)

// reader converts settings to values and collects the errors that it finds.
type reader struct {
	settings       map[string]*Setting // keyed by the name of the setting
	faults         []string            // one error message for each bad key
	reported       map[string]bool     // names of the bad keys
	fileUnreadable bool                // a configuration file is named but could not be read
}

func newReader() *reader {
	return &reader{settings: make(map[string]*Setting), reported: make(map[string]bool)}
}

// addKeys adds the settings of the keys. A key that is not set gets its default.
func (r *reader) addKeys(keys []Key) {
	for _, k := range keys {
		if !k.IsSet {
			k.Raw = k.Standard
		} else if k.Raw == "" {
			r.reportBad(k.Name, "is empty")
		}
		r.settings[k.Name] = k.Setting
	}
}

// reportBad reports a bad key. Only the first error of a key is reported, so each bad key has one line.
func (r *reader) reportBad(name, format string, args ...any) {
	if r.reported[name] {
		return
	}
	r.reported[name] = true
	line := name + ": " + fmt.Sprintf(format, args...)
	if s := r.settings[name]; s != nil && s.origin != "" {
		line += " (in " + s.origin + ")"
	}
	r.faults = append(r.faults, line)
}

func (r *reader) text(name string) string { return r.settings[name].Raw }

// oneOf reads a setting that must have one of the allowed values. If the setting is absent and defaultValue is not empty, oneOf
// returns defaultValue.
func (r *reader) oneOf(name, defaultValue string, allowed ...string) string {
	raw := r.text(name)
	if !r.settings[name].IsSet && defaultValue != "" {
		return defaultValue
	}
	if raw != "" && !slices.Contains(allowed, raw) {
		r.reportBad(name, "%q is not one of %s", raw, strings.Join(allowed, ", "))
		return ""
	}
	return raw
}

// flag reads a boolean setting. If the setting is absent, flag returns defaultValue.
func (r *reader) flag(name string, defaultValue bool) bool {
	if !r.settings[name].IsSet {
		return defaultValue
	}
	isOn, err := strconv.ParseBool(r.text(name))
	if err != nil && r.text(name) != "" {
		r.reportBad(name, "%q is not true or false", r.text(name))
	}
	return isOn
}

func (r *reader) address(name string) string {
	raw := r.text(name)
	if raw == "" {
		return ""
	}
	_, port, err := net.SplitHostPort(raw)
	if err != nil {
		r.reportBad(name, "%q is not HOST:PORT", raw)
		return ""
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		r.reportBad(name, "the port of %q is no number from 0 to 65535", raw)
		return ""
	}
	return raw
}

func (r *reader) origin(name string) string {
	raw := r.text(name)
	if raw == "" {
		return ""
	}
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" {
		r.reportBad(name, "is not an https:// address") // the value is not quoted, because it may contain a password
		return ""
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil {
		r.reportBad(name, "has to be a scheme and a host only")
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func (r *reader) readableFile(name string) string {
	raw := r.text(name)
	if raw == "" {
		return ""
	}
	f, err := os.Open(raw)
	if err != nil {
		r.reportBad(name, "%v", err)
		return ""
	}
	_ = f.Close()
	return raw
}

// token reads a file that contains a token. No error message contains the token.
func (r *reader) token(name string) string {
	raw := r.text(name)
	if raw == "" {
		return ""
	}
	content, err := cli.ReadFile(raw, MaxAdminToken+2)
	if err != nil {
		r.reportBad(name, "%v", err)
		return ""
	}
	token := strings.TrimSpace(string(content))
	if len(token) < minAdminToken || len(token) > MaxAdminToken || strings.ContainsFunc(token, IsNotTokenRune) {
		r.reportBad(name, "%s has to hold one token of %d to %d visible ASCII characters", raw, minAdminToken, MaxAdminToken)
		return ""
	}
	return token
}

// IsNotTokenRune returns true for a character that a token may not contain. Tokens consist of visible ASCII characters.
func IsNotTokenRune(c rune) bool { return c <= ' ' || c > '~' }

func (r *reader) networks(name string) []netip.Prefix {
	raw := r.text(name)
	if raw == "" {
		return nil
	}
	var list []netip.Prefix
	for part := range strings.SplitSeq(raw, ",") {
		part = strings.TrimSpace(part)
		if address, err := netip.ParseAddr(part); err == nil {
			list = append(list, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			r.reportBad(name, "%q is not a CIDR network", part)
			continue
		}
		list = append(list, prefix.Masked())
	}
	return list
}

func (r *reader) bytes(name string) uint64 {
	raw := r.text(name)
	digits, unit := raw, uint64(1)
	for suffix, size := range map[string]uint64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if trimmed, found := strings.CutSuffix(raw, suffix); found {
			digits, unit = trimmed, size
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if raw != "" && (err != nil || n > (1<<62)/unit) {
		r.reportBad(name, "%q is not a number of bytes such as 536870912 or 512MiB", raw)
		return 0
	}
	return n * unit
}

func (r *reader) count(name string, limit int) int {
	raw := r.text(name)
	n, err := strconv.Atoi(raw)
	if raw != "" && (err != nil || n < 0 || n > limit) {
		r.reportBad(name, "%q is not a number from 0 to %d", raw, limit)
		return 0
	}
	return n
}

// duration reads a duration in Go's form, such as "10s", or a plain number of seconds.
func (r *reader) duration(name string) time.Duration {
	raw := r.text(name)
	if raw == "" {
		return 0
	}
	d, ok := asDuration(raw)
	if !ok || d <= 0 || d > maxDuration {
		r.reportBad(name, "%q is not a duration such as 10s, above 0s and up to %v", raw, maxDuration)
		return 0
	}
	return d
}

// durationBetween reads a duration that must be at least minimum and at most maximum.
func (r *reader) durationBetween(name, example string, minimum, maximum time.Duration) time.Duration {
	raw := r.text(name)
	if raw == "" {
		return 0
	}
	d, ok := asDuration(raw)
	if !ok || d < minimum || d > maximum {
		r.reportBad(name, "%q is not a duration such as %s, at least %v and up to %v", raw, example, minimum, maximum)
		return 0
	}
	return d
}

func asDuration(raw string) (time.Duration, bool) {
	if seconds, err := strconv.ParseUint(raw, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	d, err := time.ParseDuration(raw)
	return d, err == nil
}

// IsLoopback tells whether an address can be reached only from this machine.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
