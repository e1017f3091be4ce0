packer {
  required_version = "= 1.16.0"

  required_plugins {
    hyperv = {
      source  = "github.com/hashicorp/hyperv"
      version = "= 1.1.4"
    }
  }
}
