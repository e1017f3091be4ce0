package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/docker/docker/api"
	"github.com/docker/docker/api/server/httputils"
	"github.com/docker/docker/api/server/router"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/errdefs"
	"github.com/docker/docker/pkg/sysinfo"
	"github.com/docker/docker/runconfig"
)

// engine is the state behind the calls.
type engine struct {
	sync.Mutex
	root       string
	containers map[string]*container
	images     map[string]*image // by ID
	decoder    httputils.ContainerDecoder
}

func newEngine(root string) *engine {
	known := func() *sysinfo.SysInfo { return &sysinfo.SysInfo{} }
	return &engine{root: root, containers: map[string]*container{}, images: map[string]*image{},
		decoder: runconfig.ContainerDecoder{GetSysInfo: known}}
}

// Routes are the calls of dockershim and of kubeadm's docker.exe.
func (e *engine) Routes() []router.Route {
	return []router.Route{
		router.NewGetRoute("/_ping", e.ping),
		router.NewHeadRoute("/_ping", e.ping),
		router.NewGetRoute("/info", e.told("info", e.info)),
		router.NewGetRoute("/version", e.told("version", e.version)),
		router.NewGetRoute("/containers/json", e.told("list", e.listContainers)),
		router.NewPostRoute("/containers/create", e.told("create", e.createContainer)),
		router.NewGetRoute("/containers/{name:.*}/json", e.told("inspect", e.inspectContainer)),
		router.NewPostRoute("/containers/{name:.*}/start", e.told("start", e.startContainer)),
		router.NewPostRoute("/containers/{name:.*}/stop", e.told("stop", e.stopContainer)),
		router.NewDeleteRoute("/containers/{name:.*}", e.told("remove", e.removeContainer)),
		router.NewGetRoute("/images/json", e.told("list images", e.listImages)),
		router.NewPostRoute("/images/create", e.told("pull", e.pullImage)),
		router.NewGetRoute("/images/{name:.*}/json", e.told("inspect image", e.inspectImage)),
		router.NewDeleteRoute("/images/{name:.*}", e.told("remove image", e.removeImage)),
	}
}

// told does one call after the other, and writes down what fails.
func (e *engine) told(name string, call httputils.APIFunc) httputils.APIFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, vars map[string]string) error {
		e.Lock()
		defer e.Unlock()
		err := call(ctx, w, r, vars)
		if err != nil && !errdefs.IsNotModified(err) {
			log.Printf("%s %s: %v", name, vars["name"], err)
		}
		return err
	}
}

func (e *engine) ping(_ context.Context, w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	if r.Method == http.MethodHead {
		return nil
	}
	_, err := fmt.Fprint(w, "OK")
	return err
}

// info has no CgroupDriver: `getCgroupDriver` of moby's daemon/daemon_windows.go answers an empty one.
func (e *engine) info(_ context.Context, w http.ResponseWriter, _ *http.Request, _ map[string]string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	running := 0
	for _, c := range e.containers {
		if c.running {
			running++
		}
	}
	return httputils.WriteJSON(w, http.StatusOK, &types.Info{
		Name: name, ServerVersion: version(), Images: len(e.images), Containers: len(e.containers), ContainersRunning: running,
		ContainersStopped: len(e.containers) - running, Driver: "windowsfilter", DriverStatus: [][2]string{{"Windows", ""}},
		LoggingDriver: "json-file", DockerRootDir: e.root, OSType: runtime.GOOS, Architecture: "x86_64", NCPU: runtime.NumCPU(),
		Isolation: "process", SystemTime: time.Now().Format(time.RFC3339Nano),
		KernelVersion: "10.0 20348 (20348.859.amd64fre.fe_release_svc_prod2.220707-1832)",
	})
}

func (e *engine) version(_ context.Context, w http.ResponseWriter, _ *http.Request, _ map[string]string) error {
	return httputils.WriteJSON(w, http.StatusOK, types.Version{Version: version(), APIVersion: api.DefaultVersion,
		MinAPIVersion: api.MinVersion, GoVersion: runtime.Version(), Os: runtime.GOOS, Arch: runtime.GOARCH})
}
