package form

import (
	"maps"
	"net/url"
	"strings"

	"mizan/api/console/apispec"
	"mizan/api/console/labels"
)

// NewFilters returns the form with a list's filters. The form shows the values of the page's query.
func NewFilters(t *labels.Texts, context, action string, fields []apispec.Field, query url.Values, problems *Problems) *Filters {
	f := Form{Fields: fields, Texts: t, Context: context}
	if query == nil {
		query = url.Values{}
	}
	shown := maps.Clone(query)
	for i := range fields {
		if standard, isWord := fields[i].Default.(string); isWord && shown.Get(fields[i].Name) == "" {
			shown.Set(fields[i].Name, standard) // standard is the value that the API uses if the parameter is absent
		}
	}
	view := f.View(shown, problems)
	filters := &Filters{Texts: t, Action: action, Inputs: view.Inputs, view: view}
	needed := make(url.Values)
	for i := range view.Inputs {
		in := &view.Inputs[i]
		if value := query.Get(in.Name); value != "" && in.Required {
			needed.Set(in.Name, value)
		} else if value != "" {
			filters.IsFiltered = true
		}
		in.IsChange, in.Required, in.Help = true, false, ""
		if len(in.Options) > 0 && in.Options[0].Value == "" {
			in.Options[0].Label = t.List.Any
		}
	}
	if filters.Clear = action; len(needed) > 0 {
		filters.Clear += "?" + needed.Encode()
	}
	return filters
}

// FilterQuery converts the filters in a page's query to the query for the API's list. Unknown parameters are kept, so that the
// API refuses them. Parameters whose names begin with _ belong to the console and are left out.
func FilterQuery(t *labels.Texts, fields []apispec.Field, query url.Values) (requestedQuery url.Values, problems *Problems) {
	p := &parser{form: &Form{Fields: fields, Texts: t}, problems: &Problems{}}
	requestedQuery = make(url.Values)
	for name, values := range query {
		text := strings.TrimSpace(values[len(values)-1])
		if strings.HasPrefix(name, "_") || text == "" {
			continue
		}
		f := apispec.Named(fields, name)
		if f == nil || f.Kind != apispec.Instant && f.Kind != apispec.Integer {
			requestedQuery.Set(name, text)
			continue
		}
		value, problem := p.parsed(f, text, scope{})
		if problem != "" {
			p.problems.add(name, problem)
			continue
		}
		requestedQuery.Set(name, text)
		if typed, ok := value.(string); ok {
			requestedQuery.Set(name, typed)
		}
	}
	return requestedQuery, p.problems
}
