// dockerd stands in for dockerd.exe where nothing may run: it takes the engine's own command line and daemon.json,
// answers on its pipe what the dockershim of a real kubelet.exe and kubeadm's docker.exe ask, and keeps containers and
// images in memory. Its server, its decoder of containers and its parser of mounts are the engine's own packages: a
// call that is not here gets the engine's answer to a page that it has not.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/docker/docker/api"
	"github.com/docker/docker/api/server"
	"github.com/docker/docker/api/server/middleware"
	"github.com/docker/docker/daemon/listeners"
)

// The engine's own flags, as the service's command line gives them.
var (
	configFile = flag.String("config-file", `C:\ProgramData\docker\config\daemon.json`, "configuration file")
	runService = flag.Bool("run-service", false, "run as a Windows service")
)

const defaultPipe = "//./pipe/docker_engine"

// settings are those of daemon.json that this engine knows: one that it does not know ends it. It asks no registry.
type settings struct {
	Hosts    []string `json:"hosts"`
	DataRoot string   `json:"data-root"`
	Mirrors  []string `json:"registry-mirrors"`
}

func readSettings() (settings, error) {
	read := settings{DataRoot: `C:\ProgramData\docker`}
	text, err := os.ReadFile(*configFile)
	if os.IsNotExist(err) {
		return read, nil
	}
	if err != nil {
		return read, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		return read, fmt.Errorf("unable to configure the Docker daemon with file %s: %w", *configFile, err)
	}
	return read, nil
}

// pipes are the addresses of the hosts: one without a name is the default.
func (s settings) pipes() ([]string, error) {
	if len(s.Hosts) == 0 {
		return []string{defaultPipe}, nil
	}
	var pipes []string
	for _, host := range s.Hosts {
		name, ok := strings.CutPrefix(host, "npipe://")
		if !ok {
			return nil, fmt.Errorf("host %q is no named pipe", host)
		}
		if name == "" {
			name = defaultPipe
		}
		pipes = append(pipes, name)
	}
	return pipes, nil
}

// version is that of the engine's module, of which this is built.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/docker/docker" {
			return strings.TrimSuffix(strings.TrimPrefix(module.Version, "v"), "+incompatible")
		}
	}
	return "unknown"
}

// serve calls ready when the pipes are open.
func serve(ready func()) error {
	read, err := readSettings()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(read.DataRoot, "containers"), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(read.DataRoot, "engine.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	log.SetOutput(file)
	pipes, err := read.pipes()
	if err != nil {
		return err
	}
	web := server.New(&server.Config{Version: version()})
	web.UseMiddleware(middleware.NewVersionMiddleware(version(), api.DefaultVersion, api.MinVersion))
	for _, pipe := range pipes {
		opened, err := listeners.Init("npipe", pipe, "", nil)
		if err != nil {
			return err
		}
		for _, listener := range opened {
			web.Accept(pipe, listener)
		}
	}
	web.InitRouter(newEngine(read.DataRoot))
	log.Printf("Docker %s listens on %v", version(), pipes)
	ready()
	ended := make(chan error)
	go web.Wait(ended)
	return <-ended
}

func main() {
	flag.Parse()
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
