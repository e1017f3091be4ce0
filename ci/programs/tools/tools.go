//go:build tools

// Package tools pins the programs that tests build and run: Packer and its plugins, for vSphere govc and govmomi's
// simulated vCenter Server, and actionlint, which checks workflows of GitHub.
package tools

import (
	_ "github.com/hashicorp/packer"
	_ "github.com/hashicorp/packer-plugin-amazon"
	_ "github.com/hashicorp/packer-plugin-azure"
	_ "github.com/hashicorp/packer-plugin-googlecompute"
	_ "github.com/hashicorp/packer-plugin-hyperv"
	_ "github.com/hashicorp/packer-plugin-openstack"
	_ "github.com/hashicorp/packer-plugin-oracle"
	_ "github.com/hashicorp/packer-plugin-proxmox"
	_ "github.com/hashicorp/packer-plugin-qemu"
	_ "github.com/hashicorp/packer-plugin-vsphere"
	_ "github.com/rhysd/actionlint/cmd/actionlint"
	_ "github.com/vmware/govmomi/govc"
)
