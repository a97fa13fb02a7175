package stripestub

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// clause is one condition of a search query, such as metadata['reference']:'r1' or amount>1000.
type clause struct{ field, key, operator, value string }

var clauseForm = regexp.MustCompile(`^\s*(-?)([a-z_]+)(?:\[["']([^"']*)["']\])?\s*(:|>=|<=|>|<|~)\s*("(?:[^"]*)"|'(?:[^']*)'|[^\s"']+)\s*`)

// parseQuery parses a query of Stripe's search language: conditions joined by AND or by OR. Both in one query are an error.
func parseQuery(query string) (clauses []clause, isAny bool, f *failure) {
	refuse := func() *failure {
		return invalid("", "query", "We were unable to parse your search query. Try using the format `metadata[\"key\"]:\"value\"` to query for metadata or key:\"value\" to query for other fields.")
	}
	joint := ""
	for rest := query; ; {
		m := clauseForm.FindStringSubmatch(rest)
		if m == nil || m[4] == "~" {
			return nil, false, refuse()
		}
		clauses = append(clauses, clause{m[2], m[3], m[1] + m[4], strings.Trim(m[5], `"'`)})
		if rest = rest[len(m[0]):]; rest == "" {
			return clauses, joint == "OR", nil
		}
		next := "AND"
		if word, after, ok := strings.Cut(rest, " "); ok && (strings.EqualFold(word, "AND") || strings.EqualFold(word, "OR")) {
			next, rest = strings.ToUpper(word), after
		}
		if joint != "" && joint != next {
			return nil, false, invalid("", "query", "We were unable to parse your search query: AND and OR cannot be combined.")
		}
		joint = next
	}
}

// holds tells whether a condition holds for an intent as the search shows it.
func (q clause) holds(in object) (bool, *failure) {
	var value string
	switch q.field {
	case "metadata":
		value = in["metadata"].(map[string]string)[q.key]
	case "amount", "created", "currency", "customer", "status":
		if in[q.field] != nil {
			value = fmt.Sprint(in[q.field])
		}
	default:
		return false, invalid("", "query", "Field `%s` is an unsupported search field for resource `payment_intents`.", q.field)
	}
	switch q.operator {
	case ":":
		return value == q.value, nil
	case "-:":
		return value != q.value, nil
	}
	have, _ := strconv.ParseInt(value, 10, 64)
	limit, err := strconv.ParseInt(q.value, 10, 64)
	if err != nil {
		return false, invalid("", "query", "Value `%s` is no number.", q.value)
	}
	return map[string]bool{">": have > limit, "<": have < limit, ">=": have >= limit, "<=": have <= limit}[q.operator], nil
}

// searchIntents searches the versions of intents that are older than Options.SearchDelay. A newer change is not found yet, as
// Stripe warns; so an empty result never means that an intent does not exist.
func (s *Stub) searchIntents(c *call) (object, *failure) {
	clauses, isAny, f := parseQuery(c.text("query"))
	if f != nil {
		return nil, f
	}
	limit, f := c.limit()
	if f != nil {
		return nil, f
	}
	var rows []object
	for _, in := range slices.Backward(s.intents) {
		shown := in.indexed(s)
		if shown == nil {
			continue
		}
		matched := 0
		for _, q := range clauses {
			isMatch, f := q.holds(shown)
			if f != nil {
				return nil, f
			}
			if isMatch {
				matched++
			}
		}
		if matched == len(clauses) || isAny && matched > 0 {
			rows = append(rows, clone(shown))
		}
	}
	start, _ := strconv.Atoi(c.text("page"))
	start = min(max(start, 0), len(rows))
	end := min(len(rows), start+limit)
	result := object{"object": "search_result", "data": anyOf(rows[start:end]), "has_more": end < len(rows), "next_page": nil, "url": c.Path}
	if end < len(rows) {
		result["next_page"] = strconv.Itoa(end)
	}
	return result, nil
}

// indexed returns the version of an intent that the search has, or nil.
func (in *intent) indexed(s *Stub) object {
	var shown object
	for _, v := range in.versions {
		if !v.at.Add(s.options.SearchDelay).After(s.now()) {
			shown = v.shown
		}
	}
	return shown
}
