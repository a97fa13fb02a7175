package directory

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"mizan/ledger/columns"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// This file contains the kinds of columns that a terminal's parameters use. Parameters are the members of the JSON objects
// provider_params and merchant_params. Each of these two objects is stored as a whole, so the columns of parameters need no
// key for the stored form (their key is 0).

// parameterOptions returns the given options and those that the columns of all parameters have.
func parameterOptions(help string, options ...schema.Option) []schema.Option {
	return append([]schema.Option{schema.Transient, schema.Settable, schema.Help(help)}, options...)
}

// parseMembers returns the members of a JSON object of parameters. If the text is not an object, ok is false.
func parseMembers(text []byte) (m schema.Input, ok bool) {
	if text = trimJSON(text); text == nil {
		return nil, true
	}
	return m, json.Unmarshal(text, &m) == nil
}

// textMember returns the text of a member. If there is no such member, or if the member is not a text, it returns an empty
// text.
func textMember(m schema.Input, name string) (text string) {
	if json.Unmarshal(m[name], &text) != nil {
		return ""
	}
	return text
}

// readParameters reads an object of parameters into the fields that the columns declare. In faults, the name of a field
// begins with the name of the object, as in "provider_params.fee_bps".
func readParameters[P any](columns *schema.Type[P], name string, text []byte, f *schema.Faults) *P {
	m, ok := parseMembers(text)
	if !ok {
		f.Add(name, "must be an object")
	}
	return columns.ReadMembers(m, name+".", f).(*P)
}

// amountParameter returns a column whose values are amounts. If the parameters contain no such amount, the Go field stays
// nil.
func amountParameter[P any](name, help string, fieldOf func(*P) **money.Amount) *schema.Column {
	return schema.BoundField(schema.Amount(0, name, parameterOptions(help, schema.OrZero)...),
		func(p *P) (a money.Amount) {
			if amount := *fieldOf(p); amount != nil {
				a = *amount
			}
			return a
		},
		func(p *P, a money.Amount) { *fieldOf(p) = &a })
}

// listParameter returns a column whose values are lists of T. In JSON the list's entries are texts.
func listParameter[P, T any](name, help string, kind *listKind[T], fieldOf func(*P) *[]T) *schema.Column {
	return schema.Field(schema.NewTypedColumn[[]T](0, name, kind, parameterOptions(help)), fieldOf)
}

// listKind is the kind of columns whose values are of type []T. In JSON such a value is a list of at most MaxListed texts.
type listKind[T any] struct {
	schema.Kind
	parse          func(text string) (T, bool)
	refusal        string        // the error message for an entry that parse does not accept
	acceptsNumbers bool          // an entry may also be an integer
	dedupe         func([]T) []T // removes repeated entries; nil if repeated entries may stay
	words          []string      // the allowed entries, for the API's description; nil if they are not a fixed list
}

var (
	currencyList = &listKind[money.Currency]{Kind: schema.KindTexts, parse: money.AcceptedCurrency, refusal: "names an unsupported currency", words: columns.AcceptedCurrencies()}
	networkList  = &listKind[money.Network]{Kind: schema.KindTexts, parse: money.ParseNetwork, refusal: "holds what is not a network's name"}
	methodList   = &listKind[string]{Kind: schema.KindTexts, parse: parseMethod, refusal: "holds what is not a money_storage type"}
	chatList     = &listKind[string]{Kind: schema.KindTexts, parse: parseChat, refusal: "must be a list of chat ids", acceptsNumbers: true, dedupe: distinct}
	emailList    = &listKind[string]{Kind: schema.KindTexts, parse: parseEmail, refusal: "holds what is not an e-mail address", dedupe: distinct}
)

// Parse implements schema.Kind.
func (k *listKind[T]) Parse(_ *schema.Column, raw []byte, _ schema.ParseOptions) (any, string) {
	var entries []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &entries) != nil || len(entries) > MaxListed {
		return nil, "must be a list of at most " + strconv.Itoa(MaxListed) + " entries"
	}
	values := make([]T, 0, len(entries))
	for _, entry := range entries {
		text, ok := k.textOf(entry)
		if !ok {
			return nil, "must be a list of strings of at most " + strconv.Itoa(MaxText) + " characters"
		}
		value, ok := k.parse(text)
		if !ok {
			return nil, k.refusal
		}
		values = append(values, value)
	}
	if k.dedupe != nil {
		values = k.dedupe(values)
	}
	return values, ""
}

// textOf returns an entry of a list as a text. If the entry has another type or is too long, ok is false.
func (k *listKind[T]) textOf(entry json.RawMessage) (text string, ok bool) {
	if entry = bytes.TrimSpace(entry); k.acceptsNumbers {
		if _, err := strconv.ParseInt(string(entry), 10, 64); err == nil {
			return string(entry), true
		}
	}
	return text, entry[0] == '"' && json.Unmarshal(entry, &text) == nil && utf8.RuneCountInString(text) <= MaxText
}

// Check implements schema.Kind.
func (*listKind[T]) Check(*schema.Column, any) string { return "" }

// Empty implements schema.Kind.
func (*listKind[T]) Empty(value any) bool { return len(value.([]T)) == 0 }

// parseMethod checks only the form of a money_storage type. actors/directory checks that the type exists.
func parseMethod(method string) (string, bool) {
	return method, method != "" && !strings.ContainsFunc(method, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' })
}

// parseChat accepts any non-empty text as a chat id, because it also reads stored chat ids. Terminal.checkChats checks the
// chat ids of a request.
func parseChat(id string) (string, bool) { return id, id != "" }

func parseEmail(address string) (string, bool) {
	return address, address != "" && checkEmail("", "", address) == nil
}

// Form implements schema.Kind.
func (k *listKind[T]) Form(*schema.Column, schema.Use) schema.Form {
	entry := schema.Form{Type: "string", Words: k.words}
	if k.acceptsNumbers {
		entry = schema.Form{AnyOf: []schema.Form{entry, {Type: "integer"}}}
	}
	return schema.Form{Type: "array", MaxLength: MaxListed, Entry: &entry}
}

// basisPointsKind is the kind of columns whose values are of type money.BasisPoints, up to money.MaxBasisPoints. In JSON
// such a value is a string.
type basisPointsKind struct{ schema.Kind }

// String implements schema.Kind.
func (basisPointsKind) String() string { return "basis points" }

// Parse implements schema.Kind.
func (basisPointsKind) Parse(_ *schema.Column, raw []byte, _ schema.ParseOptions) (any, string) {
	var value money.BasisPoints
	if value.UnmarshalJSON(raw) != nil {
		return nil, "must be a string of basis points up to " + money.MaxBasisPoints.String()
	}
	return value, ""
}

// Check implements schema.Kind.
func (basisPointsKind) Check(*schema.Column, any) string { return "" }

// Form implements schema.Kind.
func (basisPointsKind) Form(*schema.Column, schema.Use) schema.Form {
	return schema.Form{Type: "string", Pattern: `^(0|[1-9][0-9]{0,6})$`}
}

func currencyRule(value any) string {
	if _, accepted := money.AcceptedCurrency(value.(string)); !accepted {
		return "unsupported currency"
	}
	return ""
}

func networkRule(value any) string {
	if _, known := money.ParseNetwork(value.(string)); !known {
		return "is not a network's name"
	}
	return ""
}

// statusSelection says for which statuses of a transaction the merchant is notified.
type statusSelection struct {
	statuses    []string
	includesAll bool
}

// statusesKind is the kind of a column that selects statuses, by a list or by the text "all". actors/directory checks that
// the listed statuses exist, because this package does not know the statuses of transactions.
type statusesKind struct{ schema.Kind }

// Parse implements schema.Kind. An empty list selects no status.
func (statusesKind) Parse(c *schema.Column, raw []byte, options schema.ParseOptions) (any, string) {
	if string(raw) == `"`+allStatuses+`"` {
		return statusSelection{includesAll: true}, ""
	}
	value, problem := statusList.Parse(c, raw, options)
	if problem != "" {
		return nil, StatusesRule
	}
	return statusSelection{statuses: value.([]string)}, ""
}

var statusList = &listKind[string]{Kind: schema.KindTexts, parse: func(word string) (string, bool) { return word, true }}

// Form implements schema.Kind.
func (statusesKind) Form(*schema.Column, schema.Use) schema.Form {
	return schema.Form{AnyOf: []schema.Form{{Type: "array", Entry: &schema.Form{Type: "string"}}, {Type: "string", Words: []string{allStatuses}}}}
}

// Check implements schema.Kind.
func (statusesKind) Check(*schema.Column, any) string { return "" }

// Empty implements schema.Kind.
func (statusesKind) Empty(any) bool { return false }
