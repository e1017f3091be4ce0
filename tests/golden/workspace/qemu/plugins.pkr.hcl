packer {
  required_version = "= 1.16.0"

  required_plugins {
    qemu = {
      source  = "github.com/hashicorp/qemu"
      version = "= 1.1.4"
    }
  }
}
