packer {
  required_version = "= 1.16.0"

  required_plugins {
    proxmox = {
      source  = "github.com/hashicorp/proxmox"
      version = "= 1.2.2"
    }
  }
}
