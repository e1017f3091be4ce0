packer {
  required_version = "= {{ packer.version }}"

  required_plugins {
    azure = {
      source  = "{{ plugin.address }}"
      version = "= {{ plugin.version }}"
    }
  }
}
