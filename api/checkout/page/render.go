package page

import (
	"bytes"
	"embed"
	"html/template"
	"strings"

	"mizan/api/checkout/texts"
	"mizan/internal/assert"
)

//go:embed templates
var templates embed.FS

// style is the one inline style, and script the one inline script. They must not contain anything that html/template
// removes.
var (
	style  = strings.TrimSpace(readTemplateFile("style.css"))
	script = strings.TrimSpace(readTemplateFile("page.js"))
)

var pageTemplates = parseTemplates()

func readTemplateFile(name string) string {
	content, err := templates.ReadFile("templates/" + name)
	assert.NoError(err)
	return string(content)
}

// parseTemplates returns the template of each page, by the name of its file.
func parseTemplates() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Parse(readTemplateFile("layout.html")))
	parsedPages := make(map[string]*template.Template, len(allPages))
	for _, p := range allPages {
		pageTemplate := template.Must(layout.Clone())
		parsedPages[p.file()] = template.Must(pageTemplate.Parse(readTemplateFile(p.file() + ".html")))
	}
	return parsedPages
}

// Render returns the page as an HTML document in UTF-8. After it returns, what the payer typed is in memory only in p and
// in the document. lang is a language tag; the page is in English if there are no texts for that language. An error means a
// bug in a template.
func Render(lang string, p Page) ([]byte, error) {
	var out bytes.Buffer
	shop := shopOf(p)
	err := pageTemplates[p.file()].Execute(&out, view{
		T: texts.In(langOf(lang, p)), Style: template.CSS(style), Script: template.JS(script), Shop: shop, BrandStyle: template.CSS(shop.Brand.style()), Page: p,
	})
	if c, isCheckout := p.(Checkout); isCheckout && len(c.Typed) > 0 {
		return fillTyped(out.Bytes(), c.Typed), err
	}
	return out.Bytes(), err
}

// langOf returns the language of a page: English for a Challenge, whose texts are for developers only.
func langOf(lang string, p Page) string {
	if _, isChallenge := p.(Challenge); isChallenge {
		return "en"
	}
	return lang
}

// shopOf returns how a page presents the merchant; the zero value for a page without one.
func shopOf(p Page) Shop {
	if presenting, ok := p.(interface{ Presented() Shop }); ok {
		return presenting.Presented()
	}
	return Shop{}
}
