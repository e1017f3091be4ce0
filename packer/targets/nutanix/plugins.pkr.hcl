packer {
  required_version = "= {{ packer.version }}"

  required_plugins {
    nutanix = {
      source  = "{{ plugin.address }}"
      version = "= {{ plugin.version }}"
    }
  }
}
