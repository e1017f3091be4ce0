// Packer's plugin for AWS with what workspaces use. The builders for disks without an instance need another SDK of AWS,
// which takes half a minute to compile.
package main

import (
	"log"

	"github.com/hashicorp/packer-plugin-amazon/builder/ebs"
	"github.com/hashicorp/packer-plugin-amazon/version"
	"github.com/hashicorp/packer-plugin-sdk/plugin"
)

func main() {
	set := plugin.NewSet()
	set.RegisterBuilder("ebs", new(ebs.Builder))
	set.SetVersion(version.PluginVersion)
	if err := set.Run(); err != nil {
		log.Fatal(err)
	}
}
