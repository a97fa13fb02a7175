package operators

import (
	"crypto/x509"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/internal/secret"
)

func telegramOptions(url string) Options {
	return Options{TelegramURL: url, TelegramToken: secret.Text(token)}
}

func TestChatGetsSubjectAndText(t *testing.T) {
	api := newTelegramAPI(t, false, nil)
	a := deliver(t, openChannels(t, telegramOptions(api.URL+"/")), chats("-100123"))
	a.want(t, 0, "", Contacts{})
	want := sentMessage{"/bot" + token + "/sendMessage", "-100123", message.Subject + "\n\n" + message.Text, `{"is_disabled":true}`}
	if len(api.messages) != 1 || api.messages[0] != want {
		t.Errorf("sent was %+v, want %+v", api.messages, want)
	}
}

func TestEachChatGetsItsOwnRequest(t *testing.T) {
	api := newTelegramAPI(t, false, func(chat string) (int, string) {
		if chat == "@gone" || chat == "7" {
			return refusal(403, "Forbidden: bot was blocked by the user", "")
		}
		return 200, `{"ok":true,"result":{}}`
	})
	channels := openChannels(t, telegramOptions(api.URL))
	attempt := deliver(t, channels, chats("1", "@gone", "3", "4", "5", "6", "7"))
	attempt.want(t, 403, "telegram: 2 of 7 not told: Forbidden: bot was blocked by the user", chats("@gone", "7"))
	if got := api.calledChats(); !slices.Equal(got, []string{"1", "3", "4", "5", "6", "7", "@gone"}) {
		t.Errorf("reached were %v", got)
	}
	deliver(t, channels, attempt.Unreached).want(t, 403, "telegram: 2 of 2 not told: Forbidden: bot was blocked by the user", chats("@gone", "7"))
	if got := len(api.calledChats()); got != 9 {
		t.Errorf("the second attempt made %d calls, want 2", got-7)
	}
}

func TestBotAPIRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		code   int
		want   string
		wait   time.Duration
	}{
		"unknown chat":          {400, `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`, 400, "Bad Request: chat not found", 0},
		"bot kicked":            {403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was kicked from the group chat"}`, 403, "Forbidden: bot was kicked from the group chat", 0},
		"group upgraded":        {400, `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded","parameters":{"migrate_to_chat_id":-1009}}`, 400, "Bad Request: group chat was upgraded", 0},
		"too many messages":     {429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}`, 429, "too many messages, again after 35 s", 35 * time.Second},
		"wait beyond the bound": {429, `{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":99999999}}`, 429, "too many messages, again after 3600 s", time.Hour},
		"negative wait":         {429, `{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":-5}}`, 429, "too many messages, again after 0 s", 0},
		"token revoked":         {401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, 401, "the bot's token is not accepted", 0},
		"no such token":         {404, `{"ok":false,"error_code":404,"description":"Not Found"}`, 404, "the bot's token is not accepted", 0},
		"server error":          {500, `{"ok":false,"error_code":500,"description":"Internal Server Error"}`, 500, "Internal Server Error", 0},
		"no description":        {500, `{"ok":false,"error_code":500}`, 500, "error 500", 0},
		"token in description":  {400, `{"ok":false,"error_code":400,"description":"no ` + token + ` \u0007here"}`, 400, "no   here", 0},
		"long description":      {400, `{"ok":false,"error_code":400,"description":"` + strings.Repeat("é", 300) + `"}`, 400, strings.Repeat("é", 100), 0},
		"broken JSON":           {200, `{"ok":tru`, 200, "the answer is not the Bot API's: status 200", 0},
		"not JSON":              {502, `<html>CANARY bad gateway</html>`, 502, "the answer is not the Bot API's: status 502", 0},
		"empty body":            {200, ``, 200, "the answer is not the Bot API's: status 200", 0},
		"another JSON object":   {200, `{"hello":"world"}`, 200, "the answer is not the Bot API's: status 200", 0},
		"no error code":         {400, `{"ok":false}`, 400, "the answer is not the Bot API's: status 400", 0},
		"ok with status 500":    {500, `{"ok":true}`, 500, "the answer is not the Bot API's: status 500", 0},
		"ok with status 202":    {202, `{"ok":true,"result":{}}`, 202, "the answer is not the Bot API's: status 202", 0},
		"more than 64 KiB":      {200, `{"ok":true,"x":"` + strings.Repeat("x", 70<<10) + `"}`, 200, "the answer is not the Bot API's: status 200", 0},
	} {
		t.Run(name, func(t *testing.T) {
			api := newTelegramAPI(t, false, func(string) (int, string) { return c.status, c.body })
			a := deliver(t, openChannels(t, telegramOptions(api.URL)), chats("1"))
			a.want(t, c.code, "telegram: "+c.want, chats("1"))
			if a.MinWait != c.wait {
				t.Errorf("waits %v, want %v", a.MinWait, c.wait)
			}
		})
	}
}

func TestAnyOKResponseCountsAsDelivered(t *testing.T) {
	for _, body := range []string{`{"ok":true}`, `{"ok":true,"result":{}}`, `{"ok":true,"result":{"message_id":"of another release"}}`, `{"ok":true,"result":true}`} {
		api := newTelegramAPI(t, false, func(string) (int, string) { return 200, body })
		deliver(t, openChannels(t, telegramOptions(api.URL)), chats("1")).want(t, 0, "", Contacts{})
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	other := newTelegramAPI(t, false, nil)
	api := newTelegramAPI(t, false, nil)
	api.Config.Handler = http.RedirectHandler(other.URL, http.StatusTemporaryRedirect)
	deliver(t, openChannels(t, telegramOptions(api.URL)), chats("1")).want(t, 307, "telegram: the answer is not the Bot API's: status 307", chats("1"))
	if len(other.calledChats()) != 0 {
		t.Error("the token was taken elsewhere")
	}
}

func TestHangingBotAPITimesOut(t *testing.T) {
	api := newTelegramAPI(t, false, func(string) (int, string) { return 0, "" })
	c := openChannels(t, telegramOptions(api.URL), bounds{connect: patience, attempt: shortBound})
	deliver(t, c, chats("1", "2")).wantTimedOut(t, "telegram: 2 of 2 not told: ", chats("1", "2"))
}

func TestUnreachableBotAPIFails(t *testing.T) {
	deliver(t, openChannels(t, telegramOptions(urlOf(unusedAddress(t)))), chats("1")).want(t, 0, "telegram: not connected", chats("1"))
	deliver(t, openChannels(t, telegramOptions("http://nobody.invalid")), chats("1")).want(t, 0, "telegram: no such host", chats("1"))
}

func TestBotAPICertificateIsChecked(t *testing.T) {
	api := newTelegramAPI(t, true, nil)
	deliver(t, openChannels(t, telegramOptions(api.URL)), chats("1")).want(t, 0, "telegram: TLS: certificate not accepted", chats("1"))
	trusting := telegramOptions(api.URL)
	trusting.Roots = x509.NewCertPool()
	trusting.Roots.AddCert(api.Certificate())
	deliver(t, openChannels(t, trusting), chats("1")).want(t, 0, "", Contacts{})
	plain := newTelegramAPI(t, false, nil)
	deliver(t, openChannels(t, telegramOptions("https"+strings.TrimPrefix(plain.URL, "http"))), chats("1")).want(t, 0, "telegram: TLS: handshake failed", chats("1"))
}

func TestHangingHandshakeTimesOut(t *testing.T) {
	host, port := startSilentServer(t)
	c := openChannels(t, telegramOptions("https"+strings.TrimPrefix(urlOf(host, port), "http")), bounds{connect: shortBound, attempt: patience})
	deliver(t, c, chats("1")).want(t, 0, "telegram: no connection in time", chats("1"))
}
