// cri stands in for containerd.exe where nothing may run: it takes containerd's own command line,
// listens on the pipe that containerd's configuration names, answers the CRI (v1, and v1alpha2 under
// the same messages), and keeps pods, containers and images in memory, so that a real kubelet.exe is content.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// containerd's own flags, as the service's command line gives them.
var (
	config     = flag.String("config", "", "configuration of containerd")
	logFile    = flag.String("log-file", "", "file for the log")
	runService = flag.Bool("run-service", false, "run as a Windows service")
)

const (
	name    = "containerd"
	version = "1.7.0"
	podIP   = "10.244.1."
)

var (
	address = regexp.MustCompile(`(?m)^\s*address\s*=\s*['"](.*)['"]\s*$`)
	root    = regexp.MustCompile(`(?m)^root\s*=\s*['"](.*)['"]\s*$`)
	imageFS string
)

// configured reads the one line of the configuration that pattern names: it must be there.
func configured(pattern *regexp.Regexp) (string, error) {
	text, err := os.ReadFile(*config)
	if err != nil {
		return "", err
	}
	found := pattern.FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s: nothing like %s", *config, pattern)
	}
	return string(found[1]), nil
}

type runtime struct {
	cri.UnimplementedRuntimeServiceServer
	cri.UnimplementedImageServiceServer
	sync.Mutex
	next   int
	pods   map[string]*cri.PodSandboxStatus
	ctrs   map[string]*cri.ContainerStatus
	owner  map[string]string // container id -> pod id
	images map[string]*cri.Image
}

func now() int64 { return time.Now().UnixNano() }

func (r *runtime) id() string { r.next++; return fmt.Sprintf("%064x", r.next) }

func match(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

func (r *runtime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	api := "v1"
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: name, RuntimeVersion: version, RuntimeApiVersion: api}, nil
}

func (r *runtime) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
		{Type: cri.RuntimeReady, Status: true}, {Type: cri.NetworkReady, Status: true}}},
		RuntimeHandlers: []*cri.RuntimeHandler{{Name: ""}, {Name: "runhcs-wcow-process"}}}, nil
}

func (r *runtime) RuntimeConfig(context.Context, *cri.RuntimeConfigRequest) (*cri.RuntimeConfigResponse, error) {
	return &cri.RuntimeConfigResponse{}, nil
}

func (r *runtime) UpdateRuntimeConfig(context.Context, *cri.UpdateRuntimeConfigRequest) (*cri.UpdateRuntimeConfigResponse, error) {
	return &cri.UpdateRuntimeConfigResponse{}, nil
}

func (r *runtime) RunPodSandbox(_ context.Context, q *cri.RunPodSandboxRequest) (*cri.RunPodSandboxResponse, error) {
	r.Lock()
	defer r.Unlock()
	id := r.id()
	r.pods[id] = &cri.PodSandboxStatus{Id: id, Metadata: q.Config.Metadata, State: cri.PodSandboxState_SANDBOX_READY,
		CreatedAt: now(), Labels: q.Config.Labels, Annotations: q.Config.Annotations, RuntimeHandler: q.RuntimeHandler,
		Network: &cri.PodSandboxNetworkStatus{Ip: fmt.Sprintf("%s%d", podIP, r.next%250+2)}}
	return &cri.RunPodSandboxResponse{PodSandboxId: id}, nil
}

func (r *runtime) StopPodSandbox(_ context.Context, q *cri.StopPodSandboxRequest) (*cri.StopPodSandboxResponse, error) {
	r.Lock()
	defer r.Unlock()
	if p := r.pods[q.PodSandboxId]; p != nil {
		p.State = cri.PodSandboxState_SANDBOX_NOTREADY
	}
	for id, pod := range r.owner {
		if pod == q.PodSandboxId {
			r.exit(id)
		}
	}
	return &cri.StopPodSandboxResponse{}, nil
}

func (r *runtime) RemovePodSandbox(_ context.Context, q *cri.RemovePodSandboxRequest) (*cri.RemovePodSandboxResponse, error) {
	r.Lock()
	defer r.Unlock()
	delete(r.pods, q.PodSandboxId)
	for id, pod := range r.owner {
		if pod == q.PodSandboxId {
			delete(r.ctrs, id)
			delete(r.owner, id)
		}
	}
	return &cri.RemovePodSandboxResponse{}, nil
}

func (r *runtime) PodSandboxStatus(_ context.Context, q *cri.PodSandboxStatusRequest) (*cri.PodSandboxStatusResponse, error) {
	r.Lock()
	defer r.Unlock()
	p := r.pods[q.PodSandboxId]
	if p == nil {
		return nil, fmt.Errorf("no pod %s", q.PodSandboxId)
	}
	return &cri.PodSandboxStatusResponse{Status: p}, nil
}

func (r *runtime) ListPodSandbox(_ context.Context, q *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	r.Lock()
	defer r.Unlock()
	out := &cri.ListPodSandboxResponse{}
	f := q.GetFilter()
	for id, p := range r.pods {
		if (f.GetId() == "" || f.GetId() == id) && (f.GetState() == nil || f.State.State == p.State) && match(p.Labels, f.GetLabelSelector()) {
			out.Items = append(out.Items, &cri.PodSandbox{Id: id, Metadata: p.Metadata, State: p.State, CreatedAt: p.CreatedAt,
				Labels: p.Labels, Annotations: p.Annotations, RuntimeHandler: p.RuntimeHandler})
		}
	}
	return out, nil
}

func (r *runtime) CreateContainer(_ context.Context, q *cri.CreateContainerRequest) (*cri.CreateContainerResponse, error) {
	r.Lock()
	defer r.Unlock()
	id := r.id()
	r.owner[id] = q.PodSandboxId
	r.ctrs[id] = &cri.ContainerStatus{Id: id, Metadata: q.Config.Metadata, State: cri.ContainerState_CONTAINER_CREATED, CreatedAt: now(),
		Image: q.Config.Image, ImageRef: q.Config.GetImage().GetImage(), Labels: q.Config.Labels, Annotations: q.Config.Annotations,
		Mounts: q.Config.Mounts, LogPath: filepath.Join(q.SandboxConfig.GetLogDirectory(), q.Config.LogPath)}
	log.Printf("container %s: image=%s command=%q args=%q mounts=%v windows=%v", id[56:], q.Config.GetImage().GetImage(),
		q.Config.Command, q.Config.Args, q.Config.Mounts, q.Config.Windows)
	return &cri.CreateContainerResponse{ContainerId: id}, nil
}

func (r *runtime) StartContainer(_ context.Context, q *cri.StartContainerRequest) (*cri.StartContainerResponse, error) {
	r.Lock()
	defer r.Unlock()
	c := r.ctrs[q.ContainerId]
	if c == nil {
		return nil, fmt.Errorf("no container %s", q.ContainerId)
	}
	c.State, c.StartedAt = cri.ContainerState_CONTAINER_RUNNING, now()
	line := time.Now().UTC().Format(time.RFC3339Nano) + " stdout F started by the small CRI\n"
	if err := os.WriteFile(c.LogPath, []byte(line), 0o644); err != nil {
		return nil, err
	}
	return &cri.StartContainerResponse{}, nil
}

func (r *runtime) exit(id string) {
	if c := r.ctrs[id]; c != nil && c.State != cri.ContainerState_CONTAINER_EXITED {
		c.State, c.FinishedAt, c.Reason = cri.ContainerState_CONTAINER_EXITED, now(), "Completed"
	}
}

func (r *runtime) StopContainer(_ context.Context, q *cri.StopContainerRequest) (*cri.StopContainerResponse, error) {
	r.Lock()
	defer r.Unlock()
	r.exit(q.ContainerId)
	return &cri.StopContainerResponse{}, nil
}

func (r *runtime) RemoveContainer(_ context.Context, q *cri.RemoveContainerRequest) (*cri.RemoveContainerResponse, error) {
	r.Lock()
	defer r.Unlock()
	delete(r.ctrs, q.ContainerId)
	delete(r.owner, q.ContainerId)
	return &cri.RemoveContainerResponse{}, nil
}

func (r *runtime) ContainerStatus(_ context.Context, q *cri.ContainerStatusRequest) (*cri.ContainerStatusResponse, error) {
	r.Lock()
	defer r.Unlock()
	c := r.ctrs[q.ContainerId]
	if c == nil {
		return nil, fmt.Errorf("no container %s", q.ContainerId)
	}
	return &cri.ContainerStatusResponse{Status: c}, nil
}

func (r *runtime) ListContainers(_ context.Context, q *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	r.Lock()
	defer r.Unlock()
	out := &cri.ListContainersResponse{}
	f := q.GetFilter()
	for id, c := range r.ctrs {
		if (f.GetId() == "" || f.GetId() == id) && (f.GetState() == nil || f.State.State == c.State) &&
			(f.GetPodSandboxId() == "" || f.GetPodSandboxId() == r.owner[id]) && match(c.Labels, f.GetLabelSelector()) {
			out.Containers = append(out.Containers, &cri.Container{Id: id, PodSandboxId: r.owner[id], Metadata: c.Metadata, Image: c.Image,
				ImageRef: c.ImageRef, State: c.State, CreatedAt: c.CreatedAt, Labels: c.Labels, Annotations: c.Annotations})
		}
	}
	return out, nil
}

func (r *runtime) ListContainerStats(context.Context, *cri.ListContainerStatsRequest) (*cri.ListContainerStatsResponse, error) {
	return &cri.ListContainerStatsResponse{}, nil
}

func (r *runtime) ListPodSandboxStats(context.Context, *cri.ListPodSandboxStatsRequest) (*cri.ListPodSandboxStatsResponse, error) {
	return &cri.ListPodSandboxStatsResponse{}, nil
}

func (r *runtime) ListImages(context.Context, *cri.ListImagesRequest) (*cri.ListImagesResponse, error) {
	r.Lock()
	defer r.Unlock()
	out := &cri.ListImagesResponse{}
	for _, i := range r.images {
		out.Images = append(out.Images, i)
	}
	return out, nil
}

func (r *runtime) ImageStatus(_ context.Context, q *cri.ImageStatusRequest) (*cri.ImageStatusResponse, error) {
	r.Lock()
	defer r.Unlock()
	return &cri.ImageStatusResponse{Image: r.images[q.Image.GetImage()]}, nil
}

func (r *runtime) PullImage(_ context.Context, q *cri.PullImageRequest) (*cri.PullImageResponse, error) {
	r.Lock()
	defer r.Unlock()
	ref := q.Image.GetImage()
	if !strings.Contains(ref, ":") {
		ref += ":latest"
	}
	r.images[q.Image.GetImage()] = &cri.Image{Id: ref, RepoTags: []string{ref}, Size: 1 << 20, Spec: q.Image}
	log.Printf("pull %s", ref)
	return &cri.PullImageResponse{ImageRef: ref}, nil
}

func (r *runtime) RemoveImage(_ context.Context, q *cri.RemoveImageRequest) (*cri.RemoveImageResponse, error) {
	r.Lock()
	defer r.Unlock()
	delete(r.images, q.Image.GetImage())
	return &cri.RemoveImageResponse{}, nil
}

func (r *runtime) ImageFsInfo(context.Context, *cri.ImageFsInfoRequest) (*cri.ImageFsInfoResponse, error) {
	fs := []*cri.FilesystemUsage{{Timestamp: now(), FsId: &cri.FilesystemIdentifier{Mountpoint: imageFS},
		UsedBytes: &cri.UInt64Value{Value: 1 << 20}, InodesUsed: &cri.UInt64Value{Value: 10}}}
	return &cri.ImageFsInfoResponse{ImageFilesystems: fs, ContainerFilesystems: fs}, nil
}

func serve(l net.Listener) error {
	r := &runtime{pods: map[string]*cri.PodSandboxStatus{}, ctrs: map[string]*cri.ContainerStatus{},
		owner: map[string]string{}, images: map[string]*cri.Image{}}
	seen := sync.Map{}
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, q any, i *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		a, err := h(ctx, q)
		if _, again := seen.LoadOrStore(i.FullMethod, true); !again || err != nil {
			log.Printf("%s err=%v", i.FullMethod, err)
		}
		return a, err
	}), grpc.UnknownServiceHandler(func(_ any, st grpc.ServerStream) error {
		m, _ := grpc.MethodFromServerStream(st)
		return fmt.Errorf("unknown method %s", m)
	}))
	for _, v := range []string{"v1", "v1alpha2"} { // the same messages under both names
		rs, is := cri.RuntimeService_ServiceDesc, cri.ImageService_ServiceDesc
		rs.ServiceName, is.ServiceName = "runtime."+v+".RuntimeService", "runtime."+v+".ImageService"
		s.RegisterService(&rs, r)
		s.RegisterService(&is, r)
	}
	return s.Serve(l)
}

func main() {
	flag.Parse()
	if *logFile != "" {
		f, err := os.Create(*logFile)
		if err != nil {
			log.Fatal(err)
		}
		log.SetOutput(f)
	}
	place, err := configured(root)
	if err != nil {
		log.Fatal(err)
	}
	imageFS = filepath.Join(place, "snapshots")
	if err := os.MkdirAll(imageFS, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
