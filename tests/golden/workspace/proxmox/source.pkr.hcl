# What the answer file needs on this platform.
locals {
  firmware = "uefi"
  driver_paths = [
    "vioscsi\\${var.driver_folder}\\amd64",
    "vioserial\\${var.driver_folder}\\amd64",
    "NetKVM\\${var.driver_folder}\\amd64",
  ]
  commands = [{
    description = "The guest agent reports the address of the machine, for which Packer waits"
    line        = "cmd.exe /c \"for %d in (D E F G H) do if exist %d:\\guest-agent\\qemu-ga-x86_64.msi msiexec.exe /i %d:\\guest-agent\\qemu-ga-x86_64.msi /qn /norestart\""
  }]
}

source "proxmox-iso" "node" {
  proxmox_url  = var.proxmox_url
  username     = var.username
  token        = var.token
  task_timeout = var.task_timeout

  # The machine.
  node            = var.node
  vm_name         = var.image_name
  os              = var.os
  cpu_type        = var.cpu_type
  cores           = var.cores
  memory          = var.memory
  machine         = "q35"
  scsi_controller = "virtio-scsi-single"
  qemu_agent      = true

  network_adapters {
    model  = "virtio"
    bridge = var.bridge
  }
  bios = "ovmf"

  efi_config {
    efi_storage_pool  = var.storage_pool
    efi_type          = "4m"
    pre_enrolled_keys = true
  }

  disks {
    type              = "scsi"
    storage_pool      = var.storage_pool
    storage_pool_type = var.storage_pool_type
    disk_size         = var.disk_size
    io_thread         = true
  }

  # Installation media, answer file, and the drivers of disk, network and guest agent as a third disc.
  iso_url          = var.windows_iso
  iso_checksum     = "sha256:${var.windows_iso_sha256}"
  iso_storage_pool = var.iso_storage_pool
  unmount_iso      = true
  boot             = "order=scsi0;ide2"
  boot_wait        = var.boot_wait
  boot_command     = ["<spacebar><wait1s><spacebar><wait1s><spacebar><wait1s><spacebar>"]

  additional_iso_files {
    device           = "sata0"
    iso_url          = var.drivers_iso
    iso_checksum     = "sha256:${var.drivers_iso_sha256}"
    iso_storage_pool = var.iso_storage_pool
    unmount          = true
  }

  additional_iso_files {
    device           = "sata1"
    iso_storage_pool = var.iso_storage_pool
    unmount          = true
    cd_label         = "ANSWERS"
    cd_content = {
      "Autounattend.xml" = local.answer_file
    }
  }

  # NTLM keeps the password off the wire. The plugin shuts the machine down.
  communicator   = "winrm"
  winrm_username = "Administrator"
  winrm_password = local.build_password
  winrm_use_ntlm = true
  winrm_timeout  = "3h"

  # The node image.
  template_name           = var.image_name
  template_description    = jsonencode(var.image_tags)
  cloud_init              = true
  cloud_init_storage_pool = var.cloud_init_storage_pool
}
