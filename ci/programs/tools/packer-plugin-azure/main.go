// Packer's plugin for Azure with what workspaces use. Azure DevTest Labs, and disks without a machine, have clients of
// their own.
package main

import (
	"log"

	"github.com/hashicorp/packer-plugin-azure/builder/azure/arm"
	"github.com/hashicorp/packer-plugin-azure/version"
	"github.com/hashicorp/packer-plugin-sdk/plugin"
)

func main() {
	set := plugin.NewSet()
	set.RegisterBuilder("arm", new(arm.Builder))
	set.SetVersion(version.AzurePluginVersion)
	if err := set.Run(); err != nil {
		log.Fatal(err)
	}
}
