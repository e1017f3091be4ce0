//go:build tools

// Package tools pins actionlint, which checks workflows of GitHub.
package tools

import _ "github.com/rhysd/actionlint/cmd/actionlint"
