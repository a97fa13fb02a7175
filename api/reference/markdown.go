package reference

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"mizan/internal/assert"
)

// converter converts Markdown to HTML. It drops HTML tags in the Markdown, but the texts of the description contain
// none.
var converter = goldmark.New(goldmark.WithExtensions(extension.Table))

// markdown converts a Markdown text of the description to HTML.
func markdown(text string) template.HTML {
	var out bytes.Buffer
	assert.NoError(converter.Convert([]byte(text), &out))
	return template.HTML(strings.TrimSpace(out.String()))
}

// markdownLine converts a Markdown text to HTML. If the text is a single paragraph, the result is not enclosed in a
// <p> element.
func markdownLine(text string) template.HTML {
	html := string(markdown(text))
	if inner, ok := strings.CutPrefix(html, "<p>"); ok && strings.Count(html, "<p>") == 1 && strings.HasSuffix(inner, "</p>") {
		return template.HTML(strings.TrimSuffix(inner, "</p>"))
	}
	return template.HTML(html)
}
