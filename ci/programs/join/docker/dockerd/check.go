package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/docker/docker/api/types"
	containertypes "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/opts"
	volumemounts "github.com/docker/docker/volume/mounts"
	"github.com/docker/go-connections/nat"
)

// Windows' own bounds of processor shares: moby's daemon/daemon_windows.go.
const maxShares, maxPercent = 10000, 100

// checkSettings refuses what the engine refuses on Windows, in its words: `verifyContainerSettings` of moby's
// daemon/container.go, and `verifyPlatformContainerResources` of its daemon/daemon_windows.go.
func checkSettings(config *containertypes.Config, host *containertypes.HostConfig) ([]string, error) {
	if config.WorkingDir != "" && !filepath.IsAbs(filepath.FromSlash(config.WorkingDir)) {
		return nil, fmt.Errorf("the working directory '%s' is invalid, it needs to be an absolute path", config.WorkingDir)
	}
	for _, variable := range config.Env {
		if _, err := opts.ValidateEnv(variable); err != nil {
			return nil, err
		}
	}
	for port, bindings := range host.PortBindings {
		for _, binding := range bindings {
			if _, err := nat.NewPort(nat.SplitProtoPort(binding.HostPort)); err != nil {
				return nil, fmt.Errorf("invalid port specification: %q (%s)", binding.HostPort, port)
			}
		}
	}
	switch policy := host.RestartPolicy; policy.Name {
	case "", "no", "always", "unless-stopped", "on-failure":
	default:
		return nil, fmt.Errorf("invalid restart policy '%s'", policy.Name)
	}
	return checkResources(&host.Resources)
}

func checkResources(r *containertypes.Resources) ([]string, error) {
	warnings := []string{}
	if r.CPUCount > 0 && r.CPUShares > 0 {
		warnings = append(warnings, "Conflicting options: CPU count takes priority over CPU shares on Windows Server Containers. CPU shares discarded")
		r.CPUShares = 0
	}
	if r.CPUShares < 0 || r.CPUShares > maxShares {
		return nil, fmt.Errorf("range of CPUShares is from 1 to %d", maxShares)
	}
	if r.CPUPercent < 0 || r.CPUPercent > maxPercent {
		return nil, fmt.Errorf("range of CPUPercent is from 1 to %d", maxPercent)
	}
	if r.CPUCount < 0 {
		return nil, fmt.Errorf("invalid CPUCount: CPUCount cannot be negative")
	}
	if r.NanoCPUs > 0 && (r.CPUPercent > 0 || r.CPUShares > 0) {
		return nil, fmt.Errorf("conflicting options: Nano CPUs and CPU Percent or CPU Shares cannot both be set")
	}
	if n := runtime.NumCPU(); r.NanoCPUs < 0 || r.NanoCPUs > int64(n)*1e9 {
		return nil, fmt.Errorf("range of CPUs is from 0.01 to %d.00, as there are only %d CPUs available", n, n)
	}
	for name, set := range map[string]bool{
		"BlkioWeight": r.BlkioWeight > 0, "CgroupParent": r.CgroupParent != "", "CPUPeriod": r.CPUPeriod != 0,
		"CpusetCpus": r.CpusetCpus != "", "CpusetMems": r.CpusetMems != "", "KernelMemory": r.KernelMemory != 0,
		"MemoryReservation": r.MemoryReservation != 0, "MemorySwap": r.MemorySwap != 0,
		"MemorySwappiness": r.MemorySwappiness != nil && *r.MemorySwappiness != -1,
		"OomKillDisable":   r.OomKillDisable != nil && *r.OomKillDisable,
		"PidsLimit":        r.PidsLimit != nil && *r.PidsLimit != 0, "Ulimits": len(r.Ulimits) != 0,
	} {
		if set {
			return nil, fmt.Errorf("invalid option: Windows does not support %s", name)
		}
	}
	return warnings, nil
}

// parseMounts reads binds by the engine's own parser, which looks whether their sources are there.
func parseMounts(host *containertypes.HostConfig) ([]types.MountPoint, error) {
	parser := volumemounts.NewParser("windows")
	seen := map[string]bool{}
	mounts := []types.MountPoint{}
	for _, bind := range host.Binds {
		mount, err := parser.ParseMountRaw(bind, host.VolumeDriver)
		if err != nil {
			return nil, err
		}
		if seen[strings.ToLower(mount.Destination)] {
			return nil, fmt.Errorf("Duplicate mount point: %s", mount.Destination)
		}
		seen[strings.ToLower(mount.Destination)] = true
		mounts = append(mounts, types.MountPoint{Type: mount.Type, Name: mount.Name, Source: mount.Source, Destination: mount.Destination,
			Driver: mount.Driver, Mode: mount.Mode, RW: mount.RW})
	}
	return mounts, nil
}
