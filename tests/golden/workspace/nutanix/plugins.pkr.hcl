packer {
  required_version = "= 1.16.0"

  required_plugins {
    nutanix = {
      source  = "github.com/nutanix-cloud-native/nutanix"
      version = "= 0.9.0"
    }
  }
}
