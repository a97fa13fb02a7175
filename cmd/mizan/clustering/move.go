package clustering

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"mizan/cmd/mizan/cli"
)

// moveCommand is the command `mizan cluster move`.
type moveCommand struct {
	remote
	Organization string `arg:"" help:"The id of the organization."`
	Shard        int    `arg:"" help:"The number of the shard that is to have it."`
}

// Run implements the command. It waits until the move has ended.
func (c *moveCommand) Run(s *cli.Streams) error {
	data, err := c.send(http.MethodPost, "/cluster/move", map[string]any{"organization": c.Organization, "shard": c.Shard})
	if err != nil {
		return err
	}
	var started moveStatus
	if err := json.Unmarshal(data, &started); err != nil {
		return err
	}
	for ; ; <-time.After(pollInterval) {
		data, err := c.send(http.MethodGet, "/cluster", nil)
		if err != nil {
			return err
		}
		var st status
		if err := json.Unmarshal(data, &st); err != nil {
			return err
		}
		m, isKnown := st.lastMove(started)
		switch {
		case !isKnown:
			return &cli.Fault{Code: cli.ExitStorage, Lines: []string{fmt.Sprintf("mizan: cluster: shard %d has got another leader during the move. Repeat the command: it moves the organization, or says that it is in shard %d already", started.From, c.Shard)}}
		case m.State == "failed":
			return &cli.Fault{Code: cli.ExitStorage, Lines: []string{"mizan: cluster: the organization has stayed in shard " + fmt.Sprint(m.From) + ": " + m.Error}}
		case m.State != "moved":
			continue
		}
		if c.JSON {
			_, err = fmt.Fprintf(s.Out, "{\"organization\":%q,\"from\":%d,\"to\":%d,\"rows\":%d,\"bytes\":%d,\"pause_ms\":%d}\n", m.Organization, m.From, m.To, m.Rows, m.Bytes, m.PauseMillis)
		} else {
			_, err = fmt.Fprintf(s.Out, "organization %s is in shard %d now (%d rows; it was paused for %d ms)\n", m.Organization, m.To, m.Rows, m.PauseMillis)
		}
		return err
	}
}

// lastMove returns the last move of an organization between the same shards.
func (s *status) lastMove(like moveStatus) (last moveStatus, isKnown bool) {
	for _, m := range s.Moves {
		if m.Organization == like.Organization && m.From == like.From && m.To == like.To {
			last, isKnown = m, true
		}
	}
	return last, isKnown
}
