packer {
  required_version = "= 1.16.0"

  required_plugins {
    openstack = {
      source  = "github.com/hashicorp/openstack"
      version = "= 1.1.2"
    }
  }
}
