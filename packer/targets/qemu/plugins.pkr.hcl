packer {
  required_version = "= {{ packer.version }}"

  required_plugins {
    qemu = {
      source  = "{{ plugin.address }}"
      version = "= {{ plugin.version }}"
    }
  }
}
