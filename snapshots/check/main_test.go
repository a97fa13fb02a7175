package check_test

import (
	"os"
	"testing"

	"mizan/snapshots/fixture"
)

func TestMain(m *testing.M) {
	code := m.Run()
	fixture.RemoveTemplates()
	for _, built := range contractStores {
		if built.Dir != "" {
			_ = os.RemoveAll(built.Dir)
		}
	}
	if notifiedTemplate.Dir != "" {
		_ = os.RemoveAll(notifiedTemplate.Dir)
	}
	os.Exit(code)
}
