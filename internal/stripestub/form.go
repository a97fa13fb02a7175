package stripestub

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kind is the type of a parameter.
type kind int

const (
	text kind = iota
	integer
	boolean
	timestamp // seconds since 1970
	anyKey    // metadata: a map of texts
	texts     // a list of texts
)

// param is a parameter that a route accepts. In the name of a nested parameter, brackets stand around each inner name, as in
// card[number]. oneOf lists the values that are allowed; nil allows all.
type param struct {
	name       string
	kind       kind
	isRequired bool
	oneOf      []string
}

func optional(k kind, names ...string) (params []param) {
	for _, name := range names {
		params = append(params, param{name: name, kind: k})
	}
	return params
}

func required(k kind, name string) []param { return []param{{name: name, kind: k, isRequired: true}} }

func oneOf(name string, values ...string) []param { return []param{{name: name, oneOf: values}} }

// form has the parameters of a call, by their names. The numbers in the brackets of lists are left out, so that expand[0] and
// expand[] have the same name expand[].
type form map[string][]string

var listIndex = regexp.MustCompile(`\[\d*\]$`)

func newForm(values url.Values) form {
	f := make(form, len(values))
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		plain := listIndex.ReplaceAllString(name, "[]")
		f[plain] = append(f[plain], values[name]...)
	}
	return f
}

// text returns a parameter, or "" if it is missing.
func (f form) text(name string) string {
	if len(f[name]) == 0 {
		return ""
	}
	return f[name][len(f[name])-1]
}

func (f form) has(name string) bool { return len(f[name]) > 0 }

// integer returns a parameter that the route has checked, or 0 if it is missing.
func (f form) integer(name string) int64 {
	n, _ := strconv.ParseInt(f.text(name), 10, 64)
	return n
}

func (f form) isTrue(name string) bool { return f.text(name) == "true" }

// Bounds of metadata, as Stripe documents them.
const (
	maxMetadataKeys  = 50
	maxMetadataKey   = 40
	maxMetadataValue = 500
)

// metadata changes a map by the parameters metadata[…]: an empty value removes a key, and an empty parameter metadata removes all.
func (f form) metadata(current map[string]string) map[string]string {
	changed := make(map[string]string)
	if !f.has("metadata") {
		for key, value := range current {
			changed[key] = value
		}
	}
	for name := range f {
		key, isMetadata := strings.CutPrefix(name, "metadata[")
		if !isMetadata {
			continue
		}
		key = strings.TrimSuffix(key, "]")
		if changed[key] = f.text(name); changed[key] == "" {
			delete(changed, key)
		}
	}
	return changed
}

// check checks the parameters against the list of a route.
func (f form) check(params []param) *failure {
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		i := slices.IndexFunc(params, func(p param) bool { return p.matches(name) })
		if i < 0 {
			return invalid("parameter_unknown", name, "Received unknown parameter: %s", name)
		}
		if err := params[i].check(name, f[name]); err != nil {
			return err
		}
	}
	for _, p := range params {
		if p.isRequired && !f.has(p.name) {
			return invalid("parameter_missing", p.name, "Missing required param: %s.", p.name)
		}
	}
	return f.checkMetadata()
}

func (f form) checkMetadata() *failure {
	keys := 0
	for name, values := range f {
		key, isMetadata := strings.CutPrefix(name, "metadata[")
		if !isMetadata {
			continue
		}
		keys++
		if len(key)-1 > maxMetadataKey {
			return invalid("", "metadata", "Metadata keys can have up to %d characters.", maxMetadataKey)
		}
		if n := len([]rune(values[0])); n > maxMetadataValue {
			return invalid("", name, "Metadata values can have up to %d characters, but you passed in a value that is %d characters.", maxMetadataValue, n)
		}
	}
	if keys > maxMetadataKeys {
		return invalid("", "metadata", "You can only specify up to %d keys on metadata.", maxMetadataKeys)
	}
	return nil
}

func (p param) matches(name string) bool {
	switch p.kind {
	case anyKey:
		return name == p.name || strings.HasPrefix(name, p.name+"[") && strings.HasSuffix(name, "]")
	case texts:
		return name == p.name+"[]"
	default:
		return name == p.name
	}
}

func (p param) check(name string, values []string) *failure {
	value := values[len(values)-1]
	switch p.kind {
	case integer, timestamp:
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return invalid("parameter_invalid_integer", name, "Invalid integer: %s", value)
		}
	case boolean:
		if value != "true" && value != "false" {
			return invalid("", name, "Invalid boolean: %s", value)
		}
	}
	if p.oneOf != nil && !slices.Contains(p.oneOf, value) {
		last := len(p.oneOf) - 1
		return invalid("", name, "Invalid %s: must be one of %s, or %s", name, strings.Join(p.oneOf[:last], ", "), p.oneOf[last])
	}
	if p.isRequired && value == "" {
		return invalid("parameter_invalid_empty", name, "You passed an empty string for '%s'. We assume empty values are an attempt to unset a parameter; however '%s' cannot be unset. You should remove '%s' from your request or supply a non-empty value.", name, name, name)
	}
	return nil
}
