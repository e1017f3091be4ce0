packer {
  required_version = "= {{ packer.version }}"

  required_plugins {
    vmware = {
      source  = "{{ plugin.address }}"
      version = "= {{ plugin.version }}"
    }
  }
}
