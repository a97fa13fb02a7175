package bench

import (
	"context"
	"io"

	"mizan/bench/clicks"
)

// click starts the simulated users of --console. The returned function stops them and puts their figures into the report.
func (r *serverRun) click(ctx context.Context) (stop func(), err error) {
	if r.cfg.Console == 0 {
		return func() {}, nil
	}
	s := &r.sandbox
	logins := []clicks.Login{
		{Organization: s.OrganizationID, Name: s.PartnerLogin, Password: s.PartnerPass},
		{Organization: s.OrganizationID, Name: s.AdminLogin, Password: s.AdminPass},
		{Organization: s.OrganizationID, Name: s.AuditorLogin, Password: s.AuditorPass},
		{Organization: s.OrganizationID, Name: s.ClientLogin, Password: s.ClientPass},
	}
	crowd, err := clicks.Start(ctx, r.auditor.client, s.BaseURL, logins, r.cfg.Console)
	if err != nil {
		return nil, err
	}
	return func() { r.report.Console = crowd.Stop() }, nil
}

// printConsole prints the times of the console's pages, the slowest kind first.
func (r *serverRun) printConsole(out io.Writer) {
	c := r.report.Console
	if c == nil {
		return
	}
	printLine(out, "console    %d people, %d pages: p50 %.1f ms, p99 %.1f ms, slowest %.1f ms", r.cfg.Console, c.Total.Views, c.Total.P50, c.Total.P99, c.Total.Max)
	for _, p := range c.Pages {
		printLine(out, "  %-50s %6d  p50 %6.1f  p99 %6.1f  max %6.1f ms  %4d KB", p.Kind, p.Views, p.P50, p.P99, p.Max, (p.Bytes+999)/1000)
	}
	for what, count := range c.Errors {
		printLine(out, "  error: %d of %s", count, what)
	}
}
