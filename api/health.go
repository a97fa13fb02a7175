package api

import (
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"mizan/api/web"
	"mizan/ledger/schema"
)

// StatusOK is the state of a part of the service that works.
const StatusOK = "ok"

// Status contains the states of the parts of the service.
type Status struct {
	Core string // StatusOK if all due work is scheduled
	DB   string // StatusOK if the disk has enough space for commands

	IsCutOff bool // the server is a node of a cluster that can reach no leader, and leads nothing itself
}

// stateCutOff is the state of a node with Status.IsCutOff. A node that was not added to the cluster yet has it too.
const stateCutOff = "cut_off"

// The paths of the health checks that supervisors and load balancers request.
const (
	healthPath    = "/api/v1/health"
	livenessPath  = "/livez"
	readinessPath = "/readyz"
)

// isProbe tells whether the path is /livez or /readyz. Supervisors request these health checks directly, from this machine
// or its network, so they are served even if all other requests must come through a proxy. This is safe because the
// responses contain only a state.
func isProbe(path []byte) bool {
	return string(path) == livenessPath || string(path) == readinessPath
}

// isCheck tells whether the path belongs to a health check.
func isCheck(path string) bool {
	return path == healthPath || path == livenessPath || path == readinessPath
}

// health serves the health check (specification, "Health"). While the service starts or stops, the status is
// 503, so that a load balancer that looks only at the status sends no requests. While the disk is nearly full,
// the status is 200, because the service still serves reads and stores the outcomes of calls to providers.
func (s *Server) health(req *web.Request) error {
	status := s.cfg.Status()
	writeState(req, status.Core, s.cfg.healthBody(status))
	return nil
}

// liveness serves GET /livez. The status is always 200, because a process that responds is alive.
func (s *Server) liveness(req *web.Request) error {
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, stateBody(StatusOK))
	return nil
}

// readiness serves GET /readyz. The status is 503 while the service starts, stops, or refuses commands because the
// disk is nearly full, and while a node of a cluster is cut off from all leaders.
func (s *Server) readiness(req *web.Request) error {
	state := s.cfg.Status().State()
	writeState(req, state, stateBody(state))
	return nil
}

// writeState sends the response of a health check. The HTTP status is 200 if the state is StatusOK, and otherwise 503
// with a Retry-After header.
func writeState(req *web.Request, state string, body []byte) {
	if state != StatusOK {
		req.Response.Header.SetCanonical(web.HeaderRetryAfter, []byte("1"))
	}
	web.WriteJSON(req.RequestCtx, statusCode(state), body)
}

// State returns StatusOK if the service accepts commands, and otherwise the state that prevents this.
func (s Status) State() string {
	switch {
	case s.Core != StatusOK:
		return s.Core
	case s.IsCutOff:
		return stateCutOff
	}
	return s.DB
}

func statusCode(state string) int {
	if state == StatusOK {
		return fiber.StatusOK
	}
	return fiber.StatusServiceUnavailable
}

// stateResponse is the response to GET /livez and GET /readyz.
type stateResponse struct {
	Status string `json:"status"`
}

// healthResponse is the response to the health check.
type healthResponse struct {
	Core    string `json:"core_status"`
	DB      string `json:"db_status"`
	Version string `json:"appversion"`
	Env     string `json:"env"`
	Domain  string `json:"domain"`
}

func stateBody(state string) []byte { return web.Marshal(stateResponse{state}) }

func (cfg *Config) healthBody(status Status) []byte {
	return web.Marshal(healthResponse{status.Core, status.DB, cfg.Version, cfg.Env, cfg.Domain})
}

// StartingHandler returns the handler that serves requests while the service starts, before its Server exists. Health
// checks report that the service is starting. Every other request gets the status 503. The handler uses only Status,
// Version, Env, Domain, Observe and AccessLog of the Config. Each response closes its connection, so that the client's
// next request reaches the Server that replaces this handler.
func StartingHandler(cfg Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started, route, id := time.Now(), noRoute, uuid.NewString()
		status, state := cfg.Status(), cfg.Status().State()
		code, body := http.StatusServiceUnavailable, schema.AppendText([]byte(`{"error":"unavailable","message":`), "the service is starting")
		body = append(body, '}')
		if isRead := r.Method == http.MethodGet || r.Method == http.MethodHead; isRead && isCheck(r.URL.Path) {
			switch route = r.URL.Path; route {
			case healthPath:
				code, body = statusCode(status.Core), cfg.healthBody(status)
			case livenessPath:
				code, body = http.StatusOK, stateBody(StatusOK)
			case readinessPath:
				code, body = statusCode(state), stateBody(state)
			}
		}
		h := w.Header()
		h.Set("Content-Type", string(web.ValueJSON))
		h.Set(string(web.HeaderCache), string(web.ValueNoStore))
		h.Set(string(web.HeaderNoSniff), string(web.ValueNoSniff))
		h.Set(string(web.HeaderRequestID), id)
		h.Set("Connection", "close")
		if code == http.StatusServiceUnavailable {
			h.Set(string(web.HeaderRetryAfter), "1")
		}
		w.WriteHeader(code)
		_, _ = w.Write(body) // fails if the client has disconnected, and then nobody needs the response
		if r.Method == http.MethodHead {
			body = nil
		}
		cfg.reportOutside(Exchange{Route: route, Method: methodLabel(r.Method), Status: code, Took: time.Since(started)}, []byte(id), len(body))
	})
}
