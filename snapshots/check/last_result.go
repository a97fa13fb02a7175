package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mizan/internal/assert"
	"mizan/internal/durable"
	"mizan/snapshots/check/findings"
)

// LastFile is the name of the file in the data directory that has the result of the store's last check.
const LastFile = "checked.json"

const lastMode = 0o600

// LastResult is the result of a check, without the details of the faults that it found.
type LastResult struct {
	At    time.Time  `json:"at"`
	Rules []LastRule `json:"rules"`
}

// LastRule is the result of one rule.
type LastRule struct {
	Number  int    `json:"rule"`
	Outcome string `json:"outcome"` // the text that findings.Outcome.String returns
	Name    string `json:"name"`
}

// SaveLast stores the result of a check in the data directory of the checked store. The check was made at the given time.
// The result replaces that of the previous check.
func SaveLast(data string, report *findings.Report, at time.Time) error {
	last := LastResult{At: at.UTC().Truncate(time.Microsecond)}
	for i := range report.Rules {
		rule := &report.Rules[i]
		last.Rules = append(last.Rules, LastRule{rule.Number, rule.Outcome.String(), rule.Name()})
	}
	content, err := json.Marshal(last)
	assert.NoError(err) // last has only texts and numbers, which can always be encoded
	return durable.Replace(filepath.Join(data, LastFile), lastMode, append(content, '\n'))
}

// ReadLast returns the result of the last check of the store in a data directory. It returns nil if the store was
// never checked.
func ReadLast(data string) (*LastResult, error) {
	path := filepath.Join(data, LastFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	last := new(LastResult)
	if err == nil {
		err = json.Unmarshal(content, last)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return last, nil
}
