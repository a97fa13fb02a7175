package operations

import (
	"embed"
	"io/fs"
	"strings"

	"mizan/api/description/spec"
	"mizan/internal/assert"
)

// texts has the long texts of tags and operations, in Markdown. The heading "# TAG" begins the text of a tag, and the heading
// "## ID" begins the text of an operation.
//
//go:embed texts
var texts embed.FS

// sections returns the texts by the name in their heading.
func sections() map[string]string {
	found := make(map[string]string)
	files, err := fs.Glob(texts, "texts/*.md")
	assert.NoError(err)
	for _, file := range files {
		content, err := texts.ReadFile(file)
		assert.NoError(err)
		for section := range strings.SplitSeq("\n"+string(content), "\n#") {
			heading, text, _ := strings.Cut(strings.TrimLeft(section, "#"), "\n")
			if heading = strings.TrimSpace(heading); heading == "" {
				continue
			}
			assert.That(found[heading] == "", "operations: two texts %s", heading)
			found[heading] = strings.TrimSpace(text)
		}
	}
	return found
}

// addTexts sets the texts of tags and operations. If a text belongs to no tag and no operation, addTexts panics, because the
// text would never be shown.
func addTexts(contents *spec.Contents) {
	found := sections()
	take := func(name string, text *string) {
		if section, ok := found[name]; ok {
			*text = section
			delete(found, name)
		}
	}
	take(contents.Title, &contents.Text)
	take("Errors", &contents.ErrorText)
	for i := range contents.Tags {
		take(contents.Tags[i].Name, &contents.Tags[i].Text)
	}
	for i := range contents.Operations {
		take(contents.Operations[i].ID, &contents.Operations[i].Text)
	}
	for name := range found {
		assert.That(false, "operations: the text %s belongs to nothing", name)
	}
}
