# What the answer file needs on this platform.
locals {
  firmware = "uefi"
  # Windows has the drivers of Hyper-V.
  driver_paths = []
  commands     = []
}

source "hyperv-iso" "node" {
  # The machine.
  switch_name           = var.switch_name
  cpus                  = var.cpus
  memory                = var.memory
  enable_dynamic_memory = false
  headless              = var.headless
  guest_additions_mode  = "disable"
  generation            = 2
  enable_secure_boot    = true
  secure_boot_template  = "MicrosoftWindows"
  disk_size             = var.disk_size

  # Installation media, answer file.
  iso_url           = var.windows_iso
  iso_checksum      = "sha256:${var.windows_iso_sha256}"
  boot_wait         = var.boot_wait
  first_boot_device = "DVD"
  boot_command      = ["<spacebar><wait1s><spacebar><wait1s><spacebar><wait1s><spacebar>"]
  cd_label          = "ANSWERS"
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
  output_directory = "${path.root}/image"
}
