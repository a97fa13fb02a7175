package api_test

import (
	"slices"
	"strings"
	"testing"
)

// withParameter returns a route's path with the value in place of its parameters.
func withParameter(path, value string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		switch {
		case part == ":product_type" && strings.Contains(path, ":id"): // here the product type must be that of the contract
			if parts[i] = "mudaraba"; parts[i-1] == "pfp" {
				parts[i] = "leases"
			}
		case strings.HasPrefix(part, ":"):
			parts[i] = value
		}
	}
	return strings.Join(parts, "/")
}

func TestUnsupportedMethodIs405(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	methodsOf := map[string][]string{}
	for _, r := range f.server.Routes() {
		methodsOf[r.Path] = nil
	}
	for path := range methodsOf { // a path may also match the pattern of another route: "aggregate" may be an id
		for _, r := range f.server.Routes() {
			if r.Path == path || matchesPattern(path, r.Path) {
				methodsOf[path] = append(methodsOf[path], r.Method)
			}
		}
	}
	for path, methods := range methodsOf {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			if slices.Contains(methods, method) {
				continue
			}
			a := f.anyone().do(method, withParameter(path, "x"), "")
			if a.status != 405 {
				t.Errorf("%s %s: %d", method, path, a.status)
			}
			for _, allowed := range methods {
				if !strings.Contains(a.header.Get("allow"), allowed) {
					t.Errorf("%s %s: allow %q", method, path, a.header.Get("allow"))
				}
			}
		}
	}
}

// matchesPattern tells whether a path matches a route's pattern. A parameter of the pattern, such as :id,
// matches any segment.
func matchesPattern(path, pattern string) bool {
	segments, patternSegments := strings.Split(path, "/"), strings.Split(pattern, "/")
	if len(segments) != len(patternSegments) {
		return false
	}
	for i := range segments {
		if segments[i] != patternSegments[i] && !strings.HasPrefix(patternSegments[i], ":") {
			return false
		}
	}
	return true
}

// otherPartner returns a caller for another partner of the first organization.
func (f *fixture) otherPartner() caller {
	p := f.admin().post("/api/v1/partners", `{"name":"N","login":"neighbour","pass":"nine-Lions-paint"}`).want(201, "")
	k := f.admin().post("/api/v1/api_keys", `{"name":"n","partner_id":`+p.at("id")+`}`).want(201, "")
	return f.partner().with("x-api-key", k.at("key"))
}

// chargedPayment creates a charged payment of the first partner and returns its id.
func (f *fixture) chargedPayment() string {
	return f.partner().post(transactions, paymentBody(`"amount":"1"`)).at("id")
}
