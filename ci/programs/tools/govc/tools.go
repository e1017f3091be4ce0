//go:build tools

// Package tools pins govc, which `imagegen promote` and `imagegen retire` call for vSphere.
package tools

import _ "github.com/vmware/govmomi/govc"
