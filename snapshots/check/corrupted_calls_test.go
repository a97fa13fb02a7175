package check_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/snapshots/fixture"
)

// callFaults are faults in the simulator's log of calls, which rule 7 compares with the intents in the journals.
var callFaults = []fault{
	{"a call without an intent", func(t *testing.T, w *fixture.Store) {
		w.RewriteSimulatorLog(t, func(lines []string) []string {
			return append(lines, strings.Replace(lines[0], w.ChargedPayment.ID.String(), uuid.NewString(), 1))
		})
	}, []int{7}, ""},
	{"a call made twice", func(t *testing.T, w *fixture.Store) {
		w.RewriteSimulatorLog(t, func(lines []string) []string { return append(lines, lines[0]) })
	}, []int{7}, ""},
	{"a charge at the provider that the record does not have", func(t *testing.T, w *fixture.Store) {
		w.RewriteSimulatorLog(t, func(lines []string) []string {
			for i, line := range lines {
				if strings.Contains(line, w.DeclinedPayment.ID.String()) {
					lines[i] = strings.Replace(line, `"outcome":"refused"`, `"outcome":"charged"`, 1)
				}
			}
			return lines
		})
	}, []int{7}, ""},
	{"a missing log", func(t *testing.T, w *fixture.Store) {
		if err := os.Remove(filepath.Join(w.Dir, "simulator.log")); err != nil {
			t.Fatal(err)
		}
	}, []int{7}, ""},
	{"no log, because the simulator is a process of its own", func(t *testing.T, w *fixture.Store) {
		if err := os.Rename(filepath.Join(w.Dir, "simulator.log"), filepath.Join(w.Dir, "simulator.url")); err != nil {
			t.Fatal(err)
		}
	}, nil, ""},
	{"a call made twice in the log of a simulator that was a process of its own", func(t *testing.T, w *fixture.Store) {
		if err := os.WriteFile(filepath.Join(w.Dir, "simulator.url"), []byte("http://127.0.0.1:8444\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.RewriteSimulatorLog(t, func(lines []string) []string { return append(lines, lines[0]) })
	}, []int{7}, ""},
	{"a line that was never finished", func(t *testing.T, w *fixture.Store) {
		w.RewriteSimulatorLog(t, func(lines []string) []string {
			return append(lines[:len(lines)-1], lines[len(lines)-1], `{"reference":"`)
		})
	}, nil, ""},
	{"zero bytes behind the lines", func(t *testing.T, w *fixture.Store) {
		w.RewriteSimulatorLog(t, func(lines []string) []string { return append(lines, strings.Repeat("\x00", 1000)) })
	}, nil, ""},
	{"a block of the last calls that a power cut left zero", func(t *testing.T, w *fixture.Store) {
		w.RewriteSimulatorLog(t, func(lines []string) []string { return append(lines, strings.Repeat("\x00", 1000)+`"}`, lines[0]) })
	}, nil, ""},
	{"a block of a durable call that is zero", func(t *testing.T, w *fixture.Store) {
		w.RewriteSimulatorLog(t, func(lines []string) []string {
			lines[0] = strings.Repeat("\x00", 200) + lines[0][200:]
			return lines
		})
	}, []int{7}, ""},
}
