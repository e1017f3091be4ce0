packer {
  required_version = "= {{ packer.version }}"

  required_plugins {
    hyperv = {
      source  = "{{ plugin.address }}"
      version = "= {{ plugin.version }}"
    }
  }
}
