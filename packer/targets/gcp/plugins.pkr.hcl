packer {
  required_version = "= {{ packer.version }}"

  required_plugins {
    googlecompute = {
      source  = "{{ plugin.address }}"
      version = "= {{ plugin.version }}"
    }
  }
}
