package developer

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mizan/cmd/mizan/client"
)

// Clock holds the subcommands of `mizan clock`. Without a subcommand, `mizan clock` shows the clock's time.
type Clock struct {
	client.AdminFlags
	JSON bool `name:"json" help:"Print the server's JSON."`

	Show    showClock    `cmd:"" default:"1" help:"Show the clock of a sandbox that runs with --clock manual."`
	Advance advanceClock `cmd:"" help:"Move the clock forward, and do everything that becomes due on the way."`
	Set     setClock     `cmd:"" help:"Move the clock to a time."`
}

// Help returns the text that is shown above the list of subcommands.
func (Clock) Help() string {
	return "`mizan clock` is short for `mizan clock show`. Only a sandbox with --clock manual has a clock that can be moved. It never moves back."
}

// clockCommand is one run of a clock command. kong passes it to the method Run.
type clockCommand struct{ *client.Command }

// ProvideCommand creates the clockCommand that kong, the command-line parser, passes to a command's Run method.
func (c *Clock) ProvideCommand(k *kong.Context, s *client.Streams) (clockCommand, error) {
	name := "clock"
	if selected := k.Selected(); selected.Name != "show" {
		name += " " + selected.Name
	}
	command := clockCommand{&client.Command{Name: name, Streams: s, JSON: c.JSON}}
	var err error
	if command.Client, err = c.Open(); err != nil {
		return command, command.Misused("%v", err)
	}
	return command, nil
}

// clockMoveTimeout is how long a request to move the clock may take. Before the server responds, it carries out all work that
// becomes due.
const clockMoveTimeout = 10 * time.Minute

// moveTo moves the clock and prints the new time. The request can be sent twice without harm, because it contains the new time
// and not the distance.
func (c clockCommand) moveTo(to time.Time) error {
	body, err := json.Marshal(map[string]string{"now": to.UTC().Format(time.RFC3339Nano)})
	if err != nil {
		return err
	}
	reply, err := c.Send(client.Request{Method: http.MethodPut, Path: clockPath, Body: body, Timeout: clockMoveTimeout})
	if err != nil {
		return c.explain(err)
	}
	return c.ShowReply(reply)
}

// now asks the server for the clock's time.
func (c clockCommand) now() (time.Time, error) {
	o, err := c.Read(clockPath, nil)
	if err != nil {
		return time.Time{}, c.explain(err)
	}
	return clockTime(c.Command, o)
}

// clockTime returns the time in a response about the clock.
func clockTime(c *client.Command, o client.Object) (time.Time, error) {
	value, _ := o.Value("now")
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return time.Time{}, c.Failed("the answer is not the server's")
	}
	now, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return time.Time{}, c.Failed("the answer is not the server's")
	}
	return now, nil
}

// explain replaces the error 404 with an error that says that the server has no manual clock. Such a server does not have the
// URL path of the clock.
func (c clockCommand) explain(err error) error {
	var fault *client.Fault
	if errors.As(err, &fault) && fault.Status == http.StatusNotFound {
		return c.Misused("%s has no clock that can be moved: start the sandbox with `mizan serve --sandbox --clock manual`", c.Client.BaseURL)
	}
	return err
}

type showClock struct{}

// Run shows the clock's time.
func (showClock) Run(c clockCommand) error { return c.explain(c.Show(clockPath)) }

type advanceClock struct {
	By distance `arg:"" help:"How far to move, such as 30d, 12h, 90m or 1d12h; the units are w, d, h, m and s."`
}

// Run moves the clock forward by a distance.
func (a *advanceClock) Run(c clockCommand) error {
	now, err := c.now()
	if err != nil {
		return err
	}
	return c.moveTo(now.Add(time.Duration(a.By)))
}

type setClock struct {
	To instant `arg:"" help:"The time (RFC 3339), or a day."`
}

// Run moves the clock to a given time.
func (a *setClock) Run(c clockCommand) error { return c.moveTo(time.Time(a.To)) }

// distance is a command-line argument that is a length of time, such as 1d12h.
type distance time.Duration

// units maps the letter of a unit to the unit's length. A day has 24 hours everywhere in the service.
var units = map[string]time.Duration{"w": 7 * 24 * time.Hour, "d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second}

var (
	distancePattern     = regexp.MustCompile(`^([0-9]{1,9}[wdhms])+$`)
	distancePartPattern = regexp.MustCompile(`([0-9]+)([wdhms])`)
)

// maxDistance is the longest move that the server accepts.
const maxDistance = 100 * 365 * 24 * time.Hour

// Decode implements kong.MapperValue.
func (d *distance) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("distance", &text); err != nil {
		return err
	}
	if !distancePattern.MatchString(text) {
		return fmt.Errorf("%q is not a length of time such as 30d, 12h or 1d12h", text)
	}
	total := time.Duration(0)
	for _, part := range distancePartPattern.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseInt(part[1], 10, 64)
		if err != nil || n > int64(maxDistance/units[part[2]]) {
			return fmt.Errorf("%q is longer than 100 years", text)
		}
		if total += time.Duration(n) * units[part[2]]; total > maxDistance {
			return fmt.Errorf("%q is longer than 100 years", text)
		}
	}
	*d = distance(total)
	return nil
}

// instant is a command-line argument that is a point in time.
type instant time.Time

// Decode implements kong.MapperValue.
func (i *instant) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			*i = instant(at)
			return nil
		}
	}
	return fmt.Errorf("%q is not a time such as 2027-01-31T12:00:00Z, or a day such as 2027-01-31", text)
}
