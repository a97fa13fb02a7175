package check_test

import (
	"mizan/snapshots/fixture"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	fixture.RemoveMasters()
	for _, built := range fairs {
		if built.Dir != "" {
			_ = os.RemoveAll(built.Dir)
		}
	}
	if parishMaster.Dir != "" {
		_ = os.RemoveAll(parishMaster.Dir)
	}
	os.Exit(code)
}
