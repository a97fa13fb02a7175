package maintenance

import (
	"fmt"
	"strings"
	"testing"

	"mizan/internal/testkit"
	"mizan/posting/store"
)

// docs/upgrading.md and the changelog name the schema of the store that this program reads.
func TestUpgradingPageNamesTheSchema(t *testing.T) {
	for page, want := range map[string]string{
		"upgrading.md":    "**schema %d** and no other",
		"../CHANGELOG.md": "the data directory has schema %d.",
	} {
		if text := fmt.Sprintf(want, store.Schema); !strings.Contains(strings.Join(strings.Fields(testkit.ReadDoc(t, page)), " "), text) {
			t.Errorf("%s doesn't say %q", page, text)
		}
	}
}
