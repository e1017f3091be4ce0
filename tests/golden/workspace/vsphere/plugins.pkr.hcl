packer {
  required_version = "= 1.16.0"

  required_plugins {
    vsphere = {
      source  = "github.com/hashicorp/vsphere"
      version = "= 1.4.2"
    }
  }
}
