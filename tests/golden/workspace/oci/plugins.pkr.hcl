packer {
  required_version = "= 1.16.0"

  required_plugins {
    oracle = {
      source  = "github.com/hashicorp/oracle"
      version = "= 1.1.2"
    }
  }
}
