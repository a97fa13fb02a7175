package backup_test

import (
	"os"
	"testing"

	"mizan/snapshots/fixture"
)

func TestMain(m *testing.M) {
	code := m.Run()
	fixture.RemoveTemplates()
	os.Exit(code)
}
