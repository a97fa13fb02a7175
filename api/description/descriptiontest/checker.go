package descriptiontest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"mizan/api/description"
)

// Exchange is a request and its response.
type Exchange struct {
	Method, Path   string // the path includes the query
	RequestHeader  http.Header
	RequestBody    []byte
	Status         int
	ResponseHeader http.Header
	ResponseBody   []byte
}

// Checker checks requests and their responses against an OpenAPI document. It is safe for concurrent use.
type Checker struct {
	document   *openapi3.T
	asOlder    *openapi3.T // the same document, but declared as OpenAPI 3.0 (see New)
	operations []route
	refusals   []*openapi3.Schema
}

// route is a path of the document, such as /links/{id}.
type route struct {
	path     string
	segments []string
	item     *openapi3.PathItem
}

func init() {
	openapi3.DefineStringFormatValidator("uuid", openapi3.NewRegexpFormatValidator(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`))
	openapi3.RegisterArrayUniqueItemsChecker(func([]any) bool { return true }) // kin-openapi would set it later, without a lock
}

// New returns a Checker for an OpenAPI document in JSON or YAML.
func New(content []byte) (*Checker, error) {
	document, err := openapi3.NewLoader().LoadFromData(content)
	if err != nil {
		return nil, err
	}
	// If the document is of version 3.1, kin-openapi compiles the schema again for each value, and fails at references. The
	// validator of kin-openapi for version 3.0 supports all keywords in our schemas, including lists of types.
	older := *document
	older.OpenAPI = "3.0.3"
	c := &Checker{document: document, asOlder: &older}
	for path, item := range document.Paths.Map() {
		c.operations = append(c.operations, route{path, strings.Split(path, "/"), item})
	}
	// A path with literal segments is tried before a path with parameters.
	slices.SortFunc(c.operations, func(a, b route) int {
		if n := strings.Count(a.path, "{") - strings.Count(b.path, "{"); n != 0 {
			return n
		}
		return strings.Compare(a.path, b.path)
	})
	for _, name := range description.RefusalComponents {
		c.refusals = append(c.refusals, document.Components.Schemas[name].Value)
	}
	return c, nil
}

// Validate returns an error if the document itself is invalid.
func (c *Checker) Validate() error {
	return c.document.Validate(context.Background(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaPatternValidation())
}

// Paths returns the method and path of each operation in the document, such as "GET /api/v1/links".
func (c *Checker) Paths() (names []string) {
	for _, r := range c.operations {
		for method := range r.item.Operations() {
			names = append(names, method+" "+r.path)
		}
	}
	return names
}

// Check returns an error if a response differs from the document, or if the request was carried out and differs from the
// document.
func (c *Checker) Check(x *Exchange) error {
	if x.Method == http.MethodHead {
		return nil // the response has no body
	}
	address, err := url.ParseRequestURI(x.Path)
	if err != nil {
		return c.checkUnknown(x)
	}
	found, parameters := c.find(address.EscapedPath(), x.Method)
	if found == nil {
		return c.checkUnknown(x)
	}
	operation := found.item.GetOperation(x.Method)
	if x.Status == http.StatusNotFound && bytes.Contains(x.ResponseBody, []byte("there is nothing at this path")) {
		return c.checkUnknown(x) // the server runs without the service that the operation needs, and so without the route
	}
	request, err := http.NewRequest(x.Method, "http://localhost"+x.Path, bytes.NewReader(x.RequestBody))
	if err != nil {
		return c.checkUnknown(x)
	}
	request.Header = x.RequestHeader.Clone()
	query, _ := url.ParseQuery(strings.ReplaceAll(address.RawQuery, "+", "%2B")) // the server does not decode a plus sign to a space
	input := &openapi3filter.RequestValidationInput{
		Request: request, PathParams: parameters, QueryParams: query,
		Route: &routers.Route{Spec: c.asOlder, Path: found.path, PathItem: found.item, Method: x.Method, Operation: operation},
		Options: &openapi3filter.Options{
			AuthenticationFunc: hasCredential, SkipSettingDefaults: true, IncludeResponseStatus: true,
			SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.DisableSchemaErrorDetails()},
		},
	}
	if x.Status < http.StatusBadRequest {
		if err := c.checkRequest(input, operation, x); err != nil {
			return fmt.Errorf("the request %s %s with %s is not as described: %w", x.Method, x.Path, x.RequestBody, err)
		}
	}
	response := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: x.Status, Header: x.ResponseHeader, Options: input.Options}
	response.SetBodyBytes(x.ResponseBody)
	if err := openapi3filter.ValidateResponse(context.Background(), response); err != nil {
		return fmt.Errorf("the response %d %s to %s %s is not as described: %w", x.Status, x.ResponseBody, x.Method, x.Path, err)
	}
	for name := range x.ResponseHeader {
		if !isUsualHeader[name] && !describesHeader(operation, x.Status, name) {
			return fmt.Errorf("the header %s of the response %d to %s %s is not described", name, x.Status, x.Method, x.Path)
		}
	}
	return nil
}

// isUsualHeader has the headers that need no description, because they belong to HTTP itself or are security policies for
// browsers.
var isUsualHeader = map[string]bool{
	"Allow": true, "Cache-Control": true, "Connection": true, "Content-Length": true, "Content-Type": true, "Date": true, "Etag": true, "Vary": true,
	"Content-Security-Policy": true, "Referrer-Policy": true, "Strict-Transport-Security": true, "X-Content-Type-Options": true, "X-Frame-Options": true,
}

// describesHeader tells whether the document describes a header for the operation's responses with the given status. The
// document may write the header's name in any case.
func describesHeader(operation *openapi3.Operation, status int, name string) bool {
	response := operation.Responses.Status(status)
	for described := range response.Value.Headers {
		if http.CanonicalHeaderKey(described) == name {
			return true
		}
	}
	return false
}

// checkRequest checks a request that was carried out. Unknown query parameters are an error only if the method is GET, because
// for other methods the server ignores the query.
func (c *Checker) checkRequest(input *openapi3filter.RequestValidationInput, operation *openapi3.Operation, x *Exchange) error {
	for name := range input.QueryParams {
		if x.Method == http.MethodGet && operation.Parameters.GetByInAndName("query", name) == nil {
			return fmt.Errorf("the parameter %s is not described", name)
		}
	}
	if operation.RequestBody == nil || len(x.RequestBody) == 0 {
		return openapi3filter.ValidateRequest(context.Background(), input)
	}
	media := operation.RequestBody.Value.Content["application/json"]
	if media == nil {
		input.Options.ExcludeRequestBody = true // the body is not JSON but a form, which is not checked
		return openapi3filter.ValidateRequest(context.Background(), input)
	}
	inner := simplified(x.RequestBody, media.Schema.Value)
	input.Request.Body, input.Request.GetBody = io.NopCloser(bytes.NewReader(inner)), nil
	input.Request.Header.Set("content-type", "application/json") // if the body is optional, the server accepts any content type
	return openapi3filter.ValidateRequest(context.Background(), input)
}

// simplified converts a body to the form that the schema describes. The server also accepts two variations that the schema does
// not describe: the members may be inside an object params, and an optional member may be an empty text instead of null.
func simplified(body []byte, schema *openapi3.Schema) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return body
	}
	if inner := members["params"]; schema.Properties["params"] == nil && len(inner) > 0 && inner[0] == '{' {
		return simplified(inner, schema)
	}
	for name, value := range members {
		property := schema.Properties[name]
		if property != nil && string(value) == `""` && !slices.Contains(schema.Required,
			name) && (len(property.Value.Enum) > 0 || property.Value.Format != "") {
			members[name] = json.RawMessage("null")
		}
	}
	written, err := json.Marshal(members)
	if err != nil {
		return body
	}
	return written
}

// hasCredential returns an error if the request does not have the header of the security scheme.
func hasCredential(_ context.Context, input *openapi3filter.AuthenticationInput) error {
	name := "Authorization"
	if scheme := input.SecurityScheme; scheme.Type == "apiKey" {
		name = scheme.Name
	}
	if input.RequestValidationInput.Request.Header.Get(name) == "" {
		return errors.New("there is no header " + name)
	}
	return nil
}

// find returns the document's path that matches the path of a request and has an operation for its method. It also returns the
// values of the path's parameters.
func (c *Checker) find(path, method string) (found *route, parameters map[string]string) {
	segments := strings.Split(path, "/")
	for i := range c.operations {
		r := &c.operations[i]
		if parameters, ok := r.match(segments); ok && r.item.GetOperation(method) != nil {
			return r, parameters
		}
	}
	return nil, nil
}

func (r *route) match(segments []string) (parameters map[string]string, ok bool) {
	if len(segments) != len(r.segments) {
		return nil, false
	}
	parameters = make(map[string]string)
	for i, segment := range r.segments {
		switch {
		case strings.HasPrefix(segment, "{"):
			value, err := url.PathUnescape(segments[i])
			if err != nil || value == "" {
				return nil, false
			}
			parameters[strings.Trim(segment, "{}")] = value
		case segment != segments[i]:
			return nil, false
		}
	}
	return parameters, true
}

// checkUnknown checks the response to a request for which the document describes no operation.
func (c *Checker) checkUnknown(x *Exchange) error {
	if x.Status < http.StatusBadRequest {
		return fmt.Errorf("%s %s is not described, and the response is %d", x.Method, x.Path, x.Status)
	}
	media, _, _ := mime.ParseMediaType(x.ResponseHeader.Get("content-type"))
	if media == "text/html" {
		return nil
	}
	var value any
	if err := json.Unmarshal(x.ResponseBody, &value); err != nil {
		return fmt.Errorf("the response %d %s to %s %s is no JSON", x.Status, x.ResponseBody, x.Method, x.Path)
	}
	if !slices.ContainsFunc(c.refusals, func(s *openapi3.Schema) bool { return s.VisitJSON(value) == nil }) {
		return fmt.Errorf("the response %d %s to %s %s has no described form", x.Status, x.ResponseBody, x.Method, x.Path)
	}
	return nil
}

// CheckNotification returns an error if a notification to a merchant differs from its webhook in the document. The schemas of
// notifications allow members that are not described, because receivers must ignore unknown members. But CheckNotification
// requires that every member is described.
func (c *Checker) CheckNotification(header http.Header, body []byte) error {
	var kind struct{ Type, Event string }
	if err := json.Unmarshal(body, &kind); err != nil {
		return err
	}
	hook := c.asOlder.Webhooks[cmp.Or(kind.Type, kind.Event)]
	if hook == nil {
		return fmt.Errorf("the notification %s is not described", body)
	}
	for name := range header {
		isOwn := strings.HasPrefix(name, "X-") || name == "Traceparent"
		if isOwn && hook.Post.Parameters.GetByInAndName("header", strings.ToLower(name)) == nil {
			return fmt.Errorf("the header %s of the notification %s is not described", name, body)
		}
	}
	for _, p := range hook.Post.Parameters {
		value := header.Get(p.Value.Name)
		if value == "" && !p.Value.Required {
			continue
		}
		if err := p.Value.Schema.Value.VisitJSON(value); err != nil {
			return fmt.Errorf("the header %s of the notification %s is not as described: %w", p.Value.Name, body, err)
		}
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	schema := hook.Post.RequestBody.Value.Content["application/json"].Schema.Value
	if err := schema.VisitJSON(value); err != nil {
		return fmt.Errorf("the notification %s is not as described: %w", body, err)
	}
	if name := undescribed(schema, value); name != "" {
		return fmt.Errorf("the member %s of the notification %s is not described", name, body)
	}
	return nil
}

// undescribed returns the name of a member that the schema does not describe, or an empty text if all members are described. If
// the schema describes no members of an object, the object may have any members.
func undescribed(schema *openapi3.Schema, value any) string {
	members, _ := value.(map[string]any)
	for name, member := range members {
		property := schema.Properties[name]
		switch {
		case property == nil && len(schema.Properties) > 0:
			return name
		case property != nil:
			if inner := undescribed(property.Value, member); inner != "" {
				return name + "." + inner
			}
		}
	}
	return ""
}

// Canonical converts a document in JSON or YAML to a canonical form. Two documents can be compared by their canonical forms.
func Canonical(content []byte) ([]byte, error) {
	document, err := openapi3.NewLoader().LoadFromData(content)
	if err != nil {
		return nil, err
	}
	return document.MarshalJSON()
}
