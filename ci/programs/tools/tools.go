//go:build tools

// Package tools pins the programs that tests build and run: Packer and its plugins, and actionlint, which checks
// workflows of GitHub. The folders here have programs of their own: three plugins and govc with what workspaces use,
// and govmomi's simulated vCenter Server.
package tools

import (
	_ "github.com/hashicorp/packer"
	_ "github.com/hashicorp/packer-plugin-googlecompute"
	_ "github.com/hashicorp/packer-plugin-hyperv"
	_ "github.com/hashicorp/packer-plugin-openstack"
	_ "github.com/hashicorp/packer-plugin-oracle"
	_ "github.com/hashicorp/packer-plugin-proxmox"
	_ "github.com/hashicorp/packer-plugin-qemu"
	_ "github.com/rhysd/actionlint/cmd/actionlint"
)
