// Packer's plugin for vSphere with what workspaces use. The builder for its Kubernetes brings Kubernetes' own client,
// which is a seventh of what all these programs take to compile.
package main

import (
	"log"

	"github.com/hashicorp/packer-plugin-sdk/plugin"
	"github.com/hashicorp/packer-plugin-vsphere/builder/vsphere/clone"
	"github.com/hashicorp/packer-plugin-vsphere/builder/vsphere/iso"
	"github.com/hashicorp/packer-plugin-vsphere/version"
)

func main() {
	set := plugin.NewSet()
	set.RegisterBuilder("iso", new(iso.Builder))
	set.RegisterBuilder("clone", new(clone.Builder))
	set.SetVersion(version.PluginVersion)
	if err := set.Run(); err != nil {
		log.Fatal(err)
	}
}
