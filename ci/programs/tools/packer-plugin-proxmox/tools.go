//go:build tools

// Package tools pins packer-plugin-proxmox, which the end-to-end tests build and run.
package tools

import _ "github.com/hashicorp/packer-plugin-proxmox"
