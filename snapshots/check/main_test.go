package check_test

import (
	"os"
	"testing"

	"mizan/snapshots/fixture"
)

// TestMain removes, after all tests, the template stores that the tests copy.
func TestMain(m *testing.M) {
	code := m.Run()
	fixture.RemoveTemplates()
	for _, template := range contractStores {
		if template.Dir != "" {
			_ = os.RemoveAll(template.Dir)
		}
	}
	if notifiedTemplate.Dir != "" {
		_ = os.RemoveAll(notifiedTemplate.Dir)
	}
	os.Exit(code)
}
