package api

import "github.com/gofiber/fiber/v2"

// Status is how the parts of the service are; "ok" when ready.
type Status struct {
	Core string // ready means: all due work is scheduled
	DB   string
}

// health answers the health check. It is 200 whatever it says: the
// specification puts readiness into core_status.
func (s *Server) health(c *call) error {
	status := s.cfg.Status()
	var e encoder
	e.open('{')
	e.text("core_status", status.Core)
	e.text("db_status", status.DB)
	e.text("appversion", s.cfg.Version)
	e.text("env", s.cfg.Env)
	e.text("domain", s.cfg.Domain)
	e.close('}')
	writeJSON(c.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}
