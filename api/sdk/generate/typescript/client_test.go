package typescript_test

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var (
	repository   = filepath.Join("..", "..", "..", "..")
	clientFolder = filepath.Join(repository, "api", "sdk", "typescript")
)

// builtClient returns a folder with the compiled client. Without Node or the compiler it skips the test.
func builtClient(t *testing.T) string {
	t.Helper()
	testkit.NotUnderRace(t, "the client is no Go program")
	if err := exec.Command("node", "-e", "process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)").Run(); err != nil {
		t.Skipf("no Node of version 18 or later here, so the TypeScript client is not tried: %v", err)
	}
	tools, err := filepath.Abs(filepath.Join(repository, "bin", "typescript"))
	if err != nil {
		t.Fatal(err)
	}
	const lock = "package-lock.json"
	installed, _ := os.ReadFile(filepath.Join(tools, lock))
	wanted, err := os.ReadFile(filepath.Join(clientFolder, lock))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(tools, "node_modules", "typescript")); err != nil || !bytes.Equal(installed, wanted) {
		t.Skip("the compiler of the TypeScript client is not here, or is another version: `make typescript` installs it as bin/typescript")
	}
	folder := t.TempDir()
	for _, name := range []string{"src", "test", "package.json", "README.md", "tsconfig.json", "tsconfig.core.json", "tsconfig.test.json"} {
		copyTree(t, filepath.Join(clientFolder, name), filepath.Join(folder, name))
	}
	if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	compile(t, folder, "tsconfig.json")
	return folder
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, relative), 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, relative), content, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a program in a folder and returns what it has printed.
func run(t *testing.T, folder string, env []string, program ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program[0], program[1:]...)
	command.Dir, command.Env = folder, append(os.Environ(), env...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(program, " "), err, stdout, stderr.Bytes())
	}
	return string(stdout)
}

func compile(t *testing.T, folder, project string) {
	t.Helper()
	run(t, folder, nil, "node", filepath.Join("node_modules", "typescript", "bin", "tsc"), "-p", project)
}

func TestClient(t *testing.T) {
	t.Parallel()
	built := builtClient(t)
	t.Run("its core needs no types of Node", func(t *testing.T) {
		t.Parallel()
		compile(t, built, "tsconfig.core.json")
	})
	t.Run("it passes its tests", func(t *testing.T) {
		t.Parallel()
		compile(t, built, "tsconfig.test.json")
		report := run(t, built, nil, "node", "--test", "build/")
		if match := regexp.MustCompile(`(?m)^(?:#|ℹ) pass (\d+)$`).FindStringSubmatch(report); match == nil || len(match[1]) < 2 {
			t.Errorf("fewer than ten tests ran\n%s", report)
		}
	})
	t.Run("the programs of its README do what they say", func(t *testing.T) {
		t.Parallel()
		readmeProgramsRun(t, installClient(t, built))
	})
}

// readmeProgram is a program of README.md. output is what it prints according to README.md; empty: README.md does not say.
type readmeProgram struct{ name, source, output string }

var (
	programBlock = regexp.MustCompile("(?s)<!-- run: (\\S+) -->\n```ts\n(.*?)```\n")
	outputBlock  = regexp.MustCompile("(?s)^[^`#]*```text\n(.*?)```\n")
)

func readmePrograms(t *testing.T) (programs []readmeProgram) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(clientFolder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range programBlock.FindAllSubmatchIndex(page, -1) {
		program := readmeProgram{name: string(page[at[2]:at[3]]), source: string(page[at[4]:at[5]])}
		if output := outputBlock.FindSubmatch(page[at[1]:]); output != nil {
			program.output = string(output[1])
		}
		programs = append(programs, program)
	}
	return programs
}

// pattern returns a regular expression for the output. An … in the output matches any text within a line.
func (p *readmeProgram) pattern() *regexp.Regexp {
	return regexp.MustCompile(`^` + strings.ReplaceAll(regexp.QuoteMeta(p.output), "…", `[^\n]+`) + `$`)
}

// installClient packs the client and installs the package in a new project, like a user of the package.
func installClient(t *testing.T, built string) (project string) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skipf("no npm here, so the package of the TypeScript client is not tried: %v", err)
	}
	project = t.TempDir()
	run(t, built, nil, "npm", "pack", "--ignore-scripts", "--offline", "--pack-destination", project)
	packages, err := filepath.Glob(filepath.Join(project, "*.tgz"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("packages %v, %v", packages, err)
	}
	names := strings.Fields(run(t, project, nil, "tar", "-tzf", packages[0]))
	for _, name := range []string{"package/README.md", "package/dist/index.js", "package/dist/index.d.ts", "package/dist/webcrypto_node.js", "package/src/index.ts"} {
		if !slices.Contains(names, name) {
			t.Errorf("the package lacks %s", name)
		}
	}
	if slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, "package/test") || strings.Contains(name, "node_modules") || strings.HasPrefix(name, "package/build")
	}) {
		t.Errorf("the package has too much: %s", names)
	}
	modules := filepath.Join(project, "node_modules")
	installed := filepath.Join(modules, "@mizan", "sdk")
	for _, folder := range []string{installed, filepath.Join(modules, "@types")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(t, project, nil, "tar", "-xzf", packages[0], "--strip-components=1", "-C", installed)
	for _, name := range []string{"typescript", "@types/node"} {
		if err := os.Symlink(filepath.Join(built, "node_modules", filepath.FromSlash(name)), filepath.Join(modules, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	return project
}

func writeFile(t *testing.T, folder, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readmeProgramsRun checks the programs of README.md. They are compiled against the package and run against a real server in the
// order of README.md. Each must print what README.md says. Meanwhile the receiver gets the notifications.
func readmeProgramsRun(t *testing.T, project string) {
	t.Helper()
	programs := readmePrograms(t)
	if len(programs) < 7 {
		t.Errorf("README.md has %d programs", len(programs))
	}
	writeFile(t, project, "package.json", `{"type": "module"}`)
	var picture bytes.Buffer
	if err := jpeg.Encode(&picture, image.NewGray(image.Rect(0, 0, 40, 30)), nil); err != nil {
		t.Fatal(err)
	}
	writeFile(t, project, "breakfast.jpg", picture.String())
	// Without skipLibCheck the declarations of the package are checked too. Without the library DOM they must not refer to it.
	writeFile(t, project, "tsconfig.json", `{"compilerOptions": {"target": "ES2022", "lib": ["ES2022"], "module": "NodeNext", "types": ["node"], "strict": true,
		"exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": true}, "include": ["*.ts"]}`)
	for _, program := range programs {
		writeFile(t, project, program.name, program.source)
	}
	compile(t, project, "tsconfig.json")

	server := testkit.Start(t, testkit.Options{})
	const secret = "whsec-of-the-readme"
	env := []string{
		"MIZAN_URL=" + server.BaseURL, "MIZAN_API_KEY=" + server.Sandbox.APIKey, "MIZAN_ORGANIZATION_ID=" + server.Sandbox.OrganizationID,
		"MIZAN_CA_FILE=" + server.Sandbox.CAFile, "ADMIN_TOKEN=" + server.Sandbox.AdminToken, "AUDITOR_TOKEN=" + server.Sandbox.AuditorToken,
		"WEBHOOK_SECRET=" + secret, "PORT=0", "LOGIN=" + server.Sandbox.PartnerLogin, "PASS=" + server.Sandbox.PartnerPass,
	}
	notified := startReceiver(t, project, env)
	address := notified.await(t, regexp.MustCompile(`listening on (\S+)\n`))
	answer, err := server.Admin().Do(http.MethodPatch, "/api/v1/partners/1", map[string]string{"notify_url": address + "/", "secret": secret})
	testkit.WantStatus(t, answer, err, http.StatusOK)
	for _, program := range programs {
		if program.name == "receiver.ts" {
			continue
		}
		printed := run(t, project, env, "node", strings.TrimSuffix(program.name, ".ts")+".js")
		if program.output == "" || !program.pattern().MatchString(printed) {
			t.Errorf("%s printed\n%sand README.md says\n%s", program.name, printed, program.output)
		}
	}
	notified.await(t, regexp.MustCompile(`deliver (order-\d+) 1000n\n`))
}

// receiver is the program receiver.ts.
type receiver struct {
	mu      sync.Mutex
	printed bytes.Buffer
	changed chan struct{}
}

// Write implements io.Writer. It gets the program's output.
func (r *receiver) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.printed.Write(p)
	select {
	case r.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

func startReceiver(t *testing.T, project string, env []string) *receiver {
	t.Helper()
	r := &receiver{changed: make(chan struct{}, 1)}
	command := exec.CommandContext(t.Context(), "node", "receiver.js")
	command.Dir, command.Env, command.Stdout, command.Stderr = project, append(os.Environ(), env...), r, r
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Wait() }) // the test's context has ended by then, which ends the program
	return r
}

// await waits until the program's output matches the pattern, and returns the pattern's first group.
func (r *receiver) await(t *testing.T, pattern *regexp.Regexp) string {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		r.mu.Lock()
		printed := r.printed.String()
		r.mu.Unlock()
		if match := pattern.FindStringSubmatch(printed); match != nil {
			return match[1]
		}
		select {
		case <-r.changed:
		case <-timeout:
			t.Fatalf("the receiver printed no %s\n%s", pattern, printed)
		}
	}
}
