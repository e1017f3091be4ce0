# What the answer file needs on this platform.
locals {
  firmware     = "bios"
  driver_paths = ["viostor\\${var.driver_folder}\\amd64", "NetKVM\\${var.driver_folder}\\amd64"]
  commands     = []
}

source "qemu" "node" {
  # The machine.
  accelerator    = var.accelerator
  cpu_model      = var.cpu_model
  cpus           = var.cpus
  memory         = var.memory
  disk_size      = var.disk_size
  disk_interface = "virtio"
  net_device     = "virtio-net"
  headless       = var.headless

  # Installation media, answer file, and the drivers of disk and network as a third disc.
  iso_url      = var.windows_iso
  iso_checksum = "sha256:${var.windows_iso_sha256}"
  qemuargs     = [["-cdrom", var.drivers_iso]]
  cd_label     = "ANSWERS"
  cd_content = {
    "Autounattend.xml" = local.answer_file
  }

  # The answer file opens the HTTP listener. NTLM keeps the password off the wire.
  communicator     = "winrm"
  winrm_username   = "Administrator"
  winrm_password   = local.build_password
  winrm_use_ntlm   = true
  winrm_timeout    = "3h"
  shutdown_command = "shutdown.exe /s /f /t 10"
  shutdown_timeout = "30m"

  # The node image.
  output_directory = "${path.root}/image"
  vm_name          = "${var.image_name}.${var.format}"
  format           = var.format
}
