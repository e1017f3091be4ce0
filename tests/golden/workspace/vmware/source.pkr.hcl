# What the answer file needs on this platform.
locals {
  firmware = "uefi"
  # Windows has the drivers of the SATA disk and of the network adapter e1000e.
  driver_paths = []
  commands     = []
}

source "vmware-iso" "node" {
  # The machine.
  guest_os_type        = var.guest_os_type
  cpus                 = var.cpus
  memory               = var.memory
  network              = var.network
  network_adapter_type = "e1000e"
  disk_adapter_type    = "sata"
  cdrom_adapter_type   = "sata"
  disk_size            = var.disk_size
  disk_type_id         = var.disk_type_id
  headless             = var.headless
  vmx_data = {
    "firmware" = "efi"

    # The plugin puts the disc of the answer file on this controller, and does not make it.
    "sata1.present" = "TRUE"

    "uefi.secureBoot.enabled" = "TRUE"
  }

  # Installation media, answer file.
  iso_url      = var.windows_iso
  iso_checksum = "sha256:${var.windows_iso_sha256}"
  boot_wait    = var.boot_wait
  boot_command = ["<spacebar><wait1s><spacebar><wait1s><spacebar><wait1s><spacebar>"]
  cd_label     = "ANSWERS"
  cd_content = {
    "Autounattend.xml" = local.answer_file
  }

  # NTLM keeps the password off the wire.
  communicator     = "winrm"
  winrm_username   = "Administrator"
  winrm_password   = local.build_password
  winrm_use_ntlm   = true
  winrm_timeout    = "3h"
  shutdown_command = "shutdown.exe /s /f /t 10"
  shutdown_timeout = "30m"

  # The node image.
  vm_name          = var.image_name
  vmdk_name        = var.image_name
  output_directory = "${path.root}/image"
}
