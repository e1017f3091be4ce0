packer {
  required_version = "= {{ packer.version }}"

  required_plugins {
    proxmox = {
      source  = "{{ plugin.address }}"
      version = "= {{ plugin.version }}"
    }
  }
}
