#{% if uses.start_media %}
# What the answer file needs on this platform.
locals {
  #{% if uses.firmware_uefi %}
  firmware = "uefi"
  #{% else %}
  firmware = "bios"
  #{% endif %}
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
#{% endif %}

source "{{ target.builder }}" "node" {
  proxmox_url              = var.proxmox_url
  username                 = var.username
  token                    = var.token
  password                 = var.password
  insecure_skip_tls_verify = var.insecure_skip_tls_verify
  task_timeout             = var.task_timeout

  # The machine.
  node            = var.node
  pool            = var.pool
  vm_id           = var.vm_id
  vm_name         = var.image_name
  os              = var.os
  cpu_type        = var.cpu_type
  cores           = var.cores
  memory          = var.memory
  machine         = "q35"
  scsi_controller = "virtio-scsi-single"
  qemu_agent      = true

  network_adapters {
    model    = "virtio"
    bridge   = var.bridge
    vlan_tag = var.vlan_tag
  }
  #{% if uses.firmware_uefi %}
  bios = "ovmf"
  #{% endif %}
  #{% if uses.start_media %}
  #{% if uses.firmware_uefi %}

  efi_config {
    efi_storage_pool  = var.storage_pool
    efi_type          = "4m"
    pre_enrolled_keys = true
  }
  #{% endif %}
  #{% if uses.tpm_v2_0 %}

  tpm_config {
    tpm_storage_pool = var.storage_pool
    tpm_version      = "v2.0"
  }
  #{% endif %}

  disks {
    type              = "scsi"
    storage_pool      = var.storage_pool
    storage_pool_type = var.storage_pool_type
    format            = var.disk_format
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
  #{% if has.boot_wait %}
  boot_command = ["<spacebar><wait1s><spacebar><wait1s><spacebar><wait1s><spacebar>"]
  #{% endif %}

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
    #{% if uses.media %}
    cd_files = [var.artifact_folder]
    #{% endif %}
    cd_content = {
      "Autounattend.xml" = local.answer_file
    }
  }
  #{% else %}
  clone_vm   = var.template
  full_clone = var.full_clone
  #{% if uses.media %}

  additional_iso_files {
    device           = "sata1"
    iso_storage_pool = var.iso_storage_pool
    unmount          = true
    cd_label         = "ARTIFACTS"
    cd_files         = [var.artifact_folder]
  }
  #{% endif %}
  #{% endif %}

  # NTLM keeps the password off the wire. The plugin shuts the machine down.
  communicator   = "winrm"
  winrm_username = "{{ target.build_user }}"
  #{% if uses.start_media %}
  winrm_password = local.build_password
  #{% endif %}
  winrm_password = var.template_password
  winrm_host     = var.winrm_host
  winrm_use_ntlm = true
  winrm_timeout  = "3h"

  # The node image.
  template_name           = var.image_name
  template_description    = jsonencode(var.image_tags)
  #{% if uses.cloud_init_drive %}
  cloud_init = true
  #{% endif %}
  cloud_init_storage_pool = var.cloud_init_storage_pool
}
