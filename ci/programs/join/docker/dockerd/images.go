package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/docker/distribution/reference"
	"github.com/docker/docker/api/server/httputils"
	"github.com/docker/docker/api/types"
	containertypes "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/errdefs"
	"github.com/docker/docker/pkg/jsonmessage"
	"github.com/opencontainers/go-digest"
	"github.com/pkg/errors"
)

// image has the name that it was pulled by, and a digest of its own.
type image struct {
	id      string
	tags    []string
	digests []string
	created time.Time
}

// findImage takes an ID, the start of one, or a reference; without a tag it is the latest.
func (e *engine) findImage(name string) (*image, error) {
	if i := e.images[name]; i != nil {
		return i, nil
	}
	ref, err := reference.ParseAnyReference(name)
	if err != nil {
		return nil, errdefs.InvalidParameter(err)
	}
	familiar := name
	if named, ok := ref.(reference.Named); ok {
		familiar = reference.FamiliarString(reference.TagNameOnly(named))
	}
	for _, i := range e.images {
		if slices.Contains(i.tags, familiar) || slices.Contains(i.digests, familiar) ||
			strings.HasPrefix(strings.TrimPrefix(i.id, "sha256:"), strings.TrimPrefix(name, "sha256:")) {
			return i, nil
		}
	}
	return nil, errdefs.NotFound(errors.New("No such image: " + familiar))
}

// pullImage finds every image that has a name: there is no registry.
func (e *engine) pullImage(_ context.Context, w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	if err := httputils.ParseForm(r); err != nil {
		return err
	}
	named, err := reference.ParseNormalizedNamed(r.Form.Get("fromImage"))
	if err != nil {
		return errdefs.InvalidParameter(err)
	}
	if tag := r.Form.Get("tag"); tag != "" {
		if sum, bad := digest.Parse(tag); bad == nil {
			named, err = reference.WithDigest(reference.TrimNamed(named), sum)
		} else {
			named, err = reference.WithTag(named, tag)
		}
		if err != nil {
			return errdefs.InvalidParameter(err)
		}
	}
	named = reference.TagNameOnly(named)
	name := reference.FamiliarString(named)
	sum := digest.FromString(named.String())
	i := &image{id: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(sum))), created: time.Now().UTC()}
	if _, ok := named.(reference.Canonical); ok {
		i.digests = []string{name}
	} else {
		i.tags, i.digests = []string{name}, []string{reference.FamiliarName(named) + "@" + sum.String()}
	}
	e.images[i.id] = i
	log.Printf("pulled %s", name)
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(jsonmessage.JSONMessage{Status: "Status: Downloaded newer image for " + name})
}

func (e *engine) inspectImage(_ context.Context, w http.ResponseWriter, _ *http.Request, vars map[string]string) error {
	i, err := e.findImage(vars["name"])
	if err != nil {
		return err
	}
	return httputils.WriteJSON(w, http.StatusOK, &types.ImageInspect{ID: i.id, RepoTags: i.tags, RepoDigests: i.digests,
		Created: i.created.Format(time.RFC3339Nano), Config: &containertypes.Config{}, Os: "windows", Architecture: "amd64", Size: 1 << 20,
		VirtualSize: 1 << 20})
}

func (e *engine) listImages(_ context.Context, w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	if err := httputils.ParseForm(r); err != nil {
		return err
	}
	asked, err := filters.FromJSON(r.Form.Get("filters"))
	if err != nil {
		return err
	}
	if err := asked.Validate(map[string]bool{"reference": true}); err != nil {
		return errdefs.InvalidParameter(err)
	}
	listed := []*types.ImageSummary{}
	for _, i := range e.images {
		if asked.Contains("reference") && !slices.ContainsFunc(i.tags, func(tag string) bool { return asked.ExactMatch("reference", tag) }) {
			continue
		}
		listed = append(listed, &types.ImageSummary{ID: i.id, RepoTags: i.tags, RepoDigests: i.digests, Created: i.created.Unix(),
			Size: 1 << 20, VirtualSize: 1 << 20})
	}
	return httputils.WriteJSON(w, http.StatusOK, listed)
}

func (e *engine) removeImage(_ context.Context, w http.ResponseWriter, r *http.Request, vars map[string]string) error {
	if err := httputils.ParseForm(r); err != nil {
		return err
	}
	i, err := e.findImage(vars["name"])
	if err != nil {
		return err
	}
	for _, c := range e.containers {
		if c.image == i && (c.running || !httputils.BoolValue(r, "force")) {
			return errdefs.Conflict(errors.Errorf("conflict: unable to remove repository reference %q (must force) - "+
				"container %s is using its referenced image %s", vars["name"], c.id[:12], i.id[7:19]))
		}
	}
	delete(e.images, i.id)
	return httputils.WriteJSON(w, http.StatusOK, []types.ImageDeleteResponseItem{{Deleted: i.id}})
}
