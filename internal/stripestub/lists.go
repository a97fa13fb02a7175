package stripestub

import (
	"net/http"
	"slices"
	"strings"
)

// Bounds of the parameter limit.
const (
	defaultLimit = 10
	maxLimit     = 100
)

// retrieve returns the function of a route that reads an object by its id. what is the name of the type in Stripe's error.
func retrieve(what string) func(*Stub, *call) (object, *failure) {
	return func(s *Stub, c *call) (object, *failure) {
		found, ok := s.objects[c.id]
		_, isMethod := found.(*method)
		if what == "PaymentMethod" && !isMethod {
			m, f := s.findMethod(c.id, "payment_method", http.StatusNotFound)
			if f != nil {
				return nil, f
			}
			return m.json(), nil
		}
		if kind := strings.ReplaceAll(strings.ToLower(what), " ", "_"); !ok || !isMethod && found.json()["object"] != kind {
			return nil, missing(http.StatusNotFound, what, c.id, "id")
		}
		return found.json(), nil
	}
}

// admits tells whether a filter is missing or has the value.
func (c *call) admits(filter, value string) bool { return !c.has(filter) || c.text(filter) == value }

// admitsTime tells whether an object's date is within the range of the parameters created.
func (c *call) admitsTime(at int64) bool {
	for name, holds := range map[string]func(limit int64) bool{
		"created":      func(limit int64) bool { return at == limit },
		"created[gt]":  func(limit int64) bool { return at > limit },
		"created[gte]": func(limit int64) bool { return at >= limit },
		"created[lt]":  func(limit int64) bool { return at < limit },
		"created[lte]": func(limit int64) bool { return at <= limit },
	} {
		if c.has(name) && !holds(c.integer(name)) {
			return false
		}
	}
	return true
}

func (c *call) limit() (int, *failure) {
	if !c.has("limit") {
		return defaultLimit, nil
	}
	if n := c.integer("limit"); n >= 1 && n <= maxLimit {
		return int(n), nil
	}
	return 0, invalid("parameter_invalid_integer", "limit", "Limit must be between 1 and %d.", maxLimit)
}

// listed is a resource that lists have.
type listed interface {
	resource
	key() (id string, created int64)
}

func (e *event) key() (string, int64)   { return e.ID, e.created }
func (e *entry) key() (string, int64)   { return e.id, e.created.Unix() }
func (ch *charge) key() (string, int64) { return ch.id, ch.created }
func (r *refund) key() (string, int64)  { return r.id, r.created }
func (p *payout) key() (string, int64)  { return p.id, p.created }
func (d *dispute) key() (string, int64) { return d.id, d.created }

// listOf returns a page of a list, newest first. all is in the order of creation.
func listOf[T listed](c *call, all []T, admits func(T) bool) (object, *failure) {
	limit, f := c.limit()
	if f != nil {
		return nil, f
	}
	var found []T
	for _, item := range slices.Backward(all) {
		if _, created := item.key(); admits(item) && c.admitsTime(created) {
			found = append(found, item)
		}
	}
	indexOf := func(name string) (int, *failure) {
		i := slices.IndexFunc(found, func(item T) bool {
			id, _ := item.key()
			return id == c.text(name)
		})
		if i < 0 {
			return 0, missing(400, "object", c.text(name), name)
		}
		return i, nil
	}
	hasMore := false
	switch {
	case c.has("starting_after") && c.has("ending_before"):
		return nil, invalid("", "", "You may only specify one of these parameters: starting_after, ending_before.")
	case c.has("ending_before"):
		end, f := indexOf("ending_before")
		if f != nil {
			return nil, f
		}
		hasMore = end > limit
		found = found[max(0, end-limit):end]
	default:
		start := 0
		if c.has("starting_after") {
			last, f := indexOf("starting_after")
			if f != nil {
				return nil, f
			}
			start = last + 1
		}
		hasMore = len(found)-start > limit
		found = found[start:min(len(found), start+limit)]
	}
	rows := make([]any, len(found))
	for i, item := range found {
		rows[i] = item.json()
	}
	return object{"object": "list", "data": rows, "has_more": hasMore, "url": c.Path}, nil
}

func anyOf(rows []object) []any {
	list := make([]any, len(rows))
	for i, row := range rows {
		list[i] = row
	}
	return list
}

// expandAll replaces ids by their objects, as the parameter expand asks: names with dots between them, at most four. In a
// list, data stands for each row.
func (s *Stub) expandAll(o object, paths []string) *failure {
	for _, path := range paths {
		names := strings.Split(path, ".")
		if len(names) > 4 {
			return invalid("", "expand", "You cannot expand more than 4 levels of a property.")
		}
		if !s.expand(o, names) {
			return invalid("", "expand", "This property cannot be expanded (%s). You may want to try expanding other properties.", path)
		}
	}
	return nil
}

// expand tells whether the path leads to objects, to ids or to null.
func (s *Stub) expand(o object, names []string) bool {
	value, exists := o[names[0]]
	if !exists {
		return false
	}
	if id, isText := value.(string); isText {
		found, ok := s.objects[id]
		if !ok {
			return false
		}
		value = found.json()
		o[names[0]] = value
	}
	rest := names[1:]
	switch value := value.(type) {
	case nil:
		return true
	case object:
		return len(rest) == 0 || s.expand(value, rest)
	case []any:
		for _, row := range value {
			if inner, ok := row.(object); !ok || len(rest) > 0 && !s.expand(inner, rest) {
				return false
			}
		}
		return true
	}
	return false
}
