packer {
  required_version = "= {{ packer.version }}"

  required_plugins {
    openstack = {
      source  = "{{ plugin.address }}"
      version = "= {{ plugin.version }}"
    }
  }
}
