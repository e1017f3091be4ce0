packer {
  required_version = "= 1.16.0"

  required_plugins {
    vmware = {
      source  = "github.com/hashicorp/vmware"
      version = "= 1.1.0"
    }
  }
}
