package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/docker/api/server/httputils"
	"github.com/docker/docker/api/types"
	containertypes "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	networktypes "github.com/docker/docker/api/types/network"
	"github.com/docker/docker/daemon/names"
	"github.com/docker/docker/errdefs"
	"github.com/docker/docker/pkg/stringid"
	"github.com/docker/docker/runconfig"
	"github.com/pkg/errors"
)

type container struct {
	id, name          string
	image             *image
	config            *containertypes.Config
	host              *containertypes.HostConfig
	mounts            []types.MountPoint
	created           time.Time
	started, finished time.Time
	running           bool
}

// find takes an ID, the start of one, or a name, with or without its slash.
func (e *engine) find(name string) (*container, error) {
	if name == "" {
		return nil, errdefs.InvalidParameter(errors.New("invalid name or ID supplied: \"\""))
	}
	if c := e.containers[name]; c != nil {
		return c, nil
	}
	var found *container
	for _, c := range e.containers {
		if c.name == "/"+strings.TrimPrefix(name, "/") {
			return c, nil
		}
		if strings.HasPrefix(c.id, name) {
			found = c
		}
	}
	if found == nil {
		return nil, errdefs.NotFound(errors.New("No such container: " + name))
	}
	return found, nil
}

func (e *engine) createContainer(_ context.Context, w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	if err := httputils.ParseForm(r); err != nil {
		return err
	}
	if err := httputils.CheckForJSON(r); err != nil {
		return err
	}
	config, host, _, err := e.decoder.DecodeConfig(r.Body)
	if err != nil {
		return err
	}
	if config == nil {
		return errdefs.InvalidParameter(errors.New("Config cannot be empty in order to create a container"))
	}
	if host == nil {
		host = &containertypes.HostConfig{}
	}
	warnings, err := checkSettings(config, host)
	if err != nil {
		return errdefs.InvalidParameter(err)
	}
	of, err := e.findImage(config.Image)
	if err != nil {
		return err
	}
	id := stringid.GenerateRandomID()
	name, err := e.reserveName(id, r.Form.Get("name"))
	if err != nil {
		return err
	}
	mounts, err := parseMounts(host)
	if err != nil {
		return errdefs.InvalidParameter(err)
	}
	runconfig.SetDefaultNetModeIfBlank(host)
	if config.Hostname == "" {
		config.Hostname = id[:12]
	}
	e.containers[id] = &container{id: id, name: name, image: of, config: config, host: host, mounts: mounts, created: time.Now().UTC()}
	log.Printf("created %s image=%s network=%s", name, config.Image, host.NetworkMode)
	return httputils.WriteJSON(w, http.StatusCreated, &containertypes.ContainerCreateCreatedBody{ID: id, Warnings: warnings})
}

func (e *engine) reserveName(id, name string) (string, error) {
	if name == "" {
		return "/" + id[:12], nil
	}
	if !names.RestrictedNamePattern.MatchString(strings.TrimPrefix(name, "/")) {
		return "", errdefs.InvalidParameter(errors.Errorf("Invalid container name (%s), only %s are allowed", name, names.RestrictedNameChars))
	}
	name = "/" + strings.TrimPrefix(name, "/")
	for _, c := range e.containers {
		if c.name == name {
			return "", errdefs.Conflict(errors.Errorf("Conflict. The container name %q is already in use by container %q. "+
				"You have to remove (or rename) that container to be able to reuse that name.", name, c.id))
		}
	}
	return name, nil
}

func (e *engine) startContainer(_ context.Context, w http.ResponseWriter, r *http.Request, vars map[string]string) error {
	if r.ContentLength > 7 || r.ContentLength == -1 {
		return errdefs.InvalidParameter(errors.New("starting container with non-empty request body was deprecated since API v1.22 and removed in v1.24"))
	}
	c, err := e.find(vars["name"])
	if err != nil {
		return err
	}
	if c.running {
		return errdefs.NotModified(errors.New("Container is already started"))
	}
	if c.host.NetworkMode.IsContainer() {
		other, err := e.find(c.host.NetworkMode.ConnectedContainer())
		if err != nil {
			return err
		}
		if !other.running {
			return errdefs.Conflict(errors.Errorf("cannot join network of a non running container: %s", other.id))
		}
	}
	if err := c.writeLog(e.root); err != nil {
		return errdefs.System(err)
	}
	c.running, c.started, c.finished = true, time.Now().UTC(), time.Time{}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (c *container) logPath(root string) string {
	return filepath.Join(root, "containers", c.id, c.id+"-json.log")
}

func (c *container) writeLog(root string) error {
	path := c.logPath(root)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	line, err := json.Marshal(map[string]string{"log": "started by the small engine\n", "stream": "stdout",
		"time": time.Now().UTC().Format(time.RFC3339Nano)})
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(line, '\n'), 0o644)
}

func (c *container) end() {
	if c.running {
		c.running, c.finished = false, time.Now().UTC()
	}
}

func (e *engine) stopContainer(_ context.Context, w http.ResponseWriter, _ *http.Request, vars map[string]string) error {
	c, err := e.find(vars["name"])
	if err != nil {
		return err
	}
	if !c.running {
		return errdefs.NotModified(errors.New("Container is already stopped"))
	}
	c.end()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (e *engine) removeContainer(_ context.Context, w http.ResponseWriter, r *http.Request, vars map[string]string) error {
	if err := httputils.ParseForm(r); err != nil {
		return err
	}
	c, err := e.find(vars["name"])
	if err != nil {
		return err
	}
	if c.running && !httputils.BoolValue(r, "force") {
		return errdefs.Conflict(errors.Errorf("You cannot remove a running container %s. "+
			"Stop the container before attempting removal or force remove", c.id))
	}
	if err := os.RemoveAll(filepath.Dir(c.logPath(e.root))); err != nil {
		return errdefs.System(err)
	}
	delete(e.containers, c.id)
	log.Printf("removed %s", c.name)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (c *container) state() string {
	switch {
	case c.running:
		return "running"
	case c.started.IsZero():
		return "created"
	default:
		return "exited"
	}
}

func (e *engine) inspectContainer(_ context.Context, w http.ResponseWriter, r *http.Request, vars map[string]string) error {
	c, err := e.find(vars["name"])
	if err != nil {
		return err
	}
	base := &types.ContainerJSONBase{ID: c.id, Name: c.name, Created: c.created.Format(time.RFC3339Nano), Image: c.image.id,
		Driver: "windowsfilter", Platform: "windows", HostConfig: c.host,
		State: &types.ContainerState{Status: c.state(), Running: c.running, StartedAt: c.started.Format(time.RFC3339Nano),
			FinishedAt: c.finished.Format(time.RFC3339Nano)}}
	if !c.started.IsZero() {
		base.LogPath = c.logPath(e.root)
	}
	if httputils.BoolValue(r, "size") {
		base.SizeRw, base.SizeRootFs = new(int64), new(int64)
	}
	networks := map[string]*networktypes.EndpointSettings{}
	return httputils.WriteJSON(w, http.StatusOK, &types.ContainerJSON{ContainerJSONBase: base, Mounts: c.mounts, Config: c.config,
		NetworkSettings: &types.NetworkSettings{Networks: networks}})
}

// Filters of the engine that this one applies; it refuses others.
var listFilters = map[string]bool{"id": true, "label": true, "name": true, "status": true}

func (e *engine) listContainers(_ context.Context, w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	if err := httputils.ParseForm(r); err != nil {
		return err
	}
	asked, err := filters.FromJSON(r.Form.Get("filters"))
	if err != nil {
		return err
	}
	if err := asked.Validate(listFilters); err != nil {
		return errdefs.InvalidParameter(err)
	}
	// One who asks for a state gets stopped ones, too.
	all := httputils.BoolValue(r, "all") || asked.Contains("status")
	listed := []*types.Container{}
	for _, c := range e.containers {
		if (!all && !c.running) || !asked.ExactMatch("status", c.state()) || !asked.Match("id", c.id) ||
			!(asked.Match("name", c.name) || asked.Match("name", c.name[1:])) || !asked.MatchKVList("label", c.config.Labels) {
			continue
		}
		one := &types.Container{ID: c.id, Names: []string{c.name}, Image: c.config.Image, ImageID: c.image.id, Created: c.created.Unix(),
			Labels: c.config.Labels, State: c.state(), Status: c.status(), Mounts: c.mounts}
		one.HostConfig.NetworkMode = string(c.host.NetworkMode)
		listed = append(listed, one)
	}
	return httputils.WriteJSON(w, http.StatusOK, listed)
}

// status is the text that dockershim reads the state of.
func (c *container) status() string {
	switch c.state() {
	case "running":
		return fmt.Sprintf("Up %s", time.Since(c.started).Round(time.Second))
	case "created":
		return "Created"
	default:
		return fmt.Sprintf("Exited (0) %s ago", time.Since(c.finished).Round(time.Second))
	}
}
