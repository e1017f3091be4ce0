packer {
  required_version = "= {{ packer.version }}"

  required_plugins {
    vsphere = {
      source  = "{{ plugin.address }}"
      version = "= {{ plugin.version }}"
    }
  }
}
