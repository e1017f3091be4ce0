# What the answer file needs on this platform.
locals {
  #{% if uses.firmware_uefi %}
  firmware = "uefi"
  #{% else %}
  firmware = "bios"
  #{% endif %}
  driver_paths = ["viostor\\${var.driver_folder}\\amd64", "NetKVM\\${var.driver_folder}\\amd64"]
  commands     = []
}

source "qemu" "node" {
  # The machine.
  qemu_binary    = var.qemu_binary
  accelerator    = var.accelerator
  cpu_model      = var.cpu_model
  cpus           = var.cpus
  memory         = var.memory
  disk_size      = var.disk_size
  disk_interface = "virtio"
  net_device     = "virtio-net"
  headless       = var.headless
  #{% if uses.firmware_uefi %}

  # Secure Boot: the firmware's variables can be written from system management mode alone.
  machine_type      = "q35,smm=on"
  efi_firmware_code = var.efi_firmware_code
  efi_firmware_vars = var.efi_firmware_vars
  boot_wait         = var.boot_wait
  boot_command      = ["<spacebar><wait1s><spacebar><wait1s><spacebar><wait1s><spacebar>"]
  #{% endif %}
  #{% if uses.tpm_v2_0 %}
  vtpm = true
  #{% endif %}

  # Installation media, answer file, and the drivers of disk and network as a third disc.
  iso_url      = var.windows_iso
  iso_checksum = "sha256:${var.windows_iso_sha256}"
  #{% if uses.firmware_uefi %}
  qemuargs = [
    ["-cdrom", var.drivers_iso],
    ["-global", "driver=cfi.pflash01,property=secure,value=on"],
  ]
  #{% else %}
  qemuargs = [["-cdrom", var.drivers_iso]]
  #{% endif %}
  cd_label     = "ANSWERS"
  #{% if uses.media %}
  cd_files = [var.artifact_folder]
  #{% endif %}
  cd_content = {
    "Autounattend.xml" = local.answer_file
  }

  # The answer file opens the HTTP listener. NTLM keeps the password off the wire.
  communicator     = "winrm"
  winrm_username   = "{{ target.build_user }}"
  winrm_password   = local.build_password
  winrm_use_ntlm   = true
  winrm_timeout    = "3h"
  shutdown_command = "shutdown.exe /s /f /t 10"
  shutdown_timeout = "30m"

  # The node image.
  output_directory = "${path.root}/image"
  vm_name          = "${var.image_name}.${var.format}"
  format           = var.format
  disk_compression = var.disk_compression
}
