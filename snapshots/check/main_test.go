package check_test

import (
	"mizan/snapshots/fixture"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	fixture.RemoveMasters()
	for _, built := range contractStores {
		if built.Dir != "" {
			_ = os.RemoveAll(built.Dir)
		}
	}
	if notifiedMaster.Dir != "" {
		_ = os.RemoveAll(notifiedMaster.Dir)
	}
	os.Exit(code)
}
