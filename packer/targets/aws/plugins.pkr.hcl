packer {
  required_version = "= {{ packer.version }}"

  required_plugins {
    amazon = {
      source  = "{{ plugin.address }}"
      version = "= {{ plugin.version }}"
    }
  }
}
