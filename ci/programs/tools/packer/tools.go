//go:build tools

// Package tools pins packer, which the end-to-end tests build and run.
package tools

import _ "github.com/hashicorp/packer"
