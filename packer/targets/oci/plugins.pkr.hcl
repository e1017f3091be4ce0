packer {
  required_version = "= {{ packer.version }}"

  required_plugins {
    oracle = {
      source  = "{{ plugin.address }}"
      version = "= {{ plugin.version }}"
    }
  }
}
