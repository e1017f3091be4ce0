# What the answer file needs on this platform.
locals {
  #{% if uses.firmware_bios %}
  firmware = "bios"
  #{% else %}
  firmware = "uefi"
  #{% endif %}
  # Windows has the drivers of the SATA disk and of the network adapter e1000e.
  driver_paths = []
  commands     = []
}

source "{{ target.builder }}" "node" {
  # The machine.
  guest_os_type        = var.guest_os_type
  version              = var.hardware_version
  cpus                 = var.cpus
  memory               = var.memory
  network              = var.network
  network_adapter_type = "e1000e"
  disk_adapter_type    = "sata"
  cdrom_adapter_type   = "sata"
  disk_size            = var.disk_size
  disk_type_id         = var.disk_type_id
  headless             = var.headless
  fusion_app_path      = var.fusion_app_path
  vmx_data = {
    #{% if uses.firmware_bios %}
    "firmware" = "bios"
    #{% else %}
    "firmware" = "efi"
    #{% endif %}

    # The plugin puts the disc of the answer file on this controller, and does not make it.
    "sata1.present" = "TRUE"
    #{% if uses.firmware_efi_secure %}

    "uefi.secureBoot.enabled" = "TRUE"
    #{% endif %}
    #{% if has.nested_virtualization %}

    "vhv.enable" = var.nested_virtualization ? "TRUE" : "FALSE"
    #{% endif %}
  }

  # Installation media, answer file.
  iso_url      = var.windows_iso
  iso_checksum = "sha256:${var.windows_iso_sha256}"
  boot_wait    = var.boot_wait
  #{% if has.boot_wait %}
  boot_command = ["<spacebar><wait1s><spacebar><wait1s><spacebar><wait1s><spacebar>"]
  #{% endif %}
  cd_label = "ANSWERS"
  cd_content = {
    "Autounattend.xml" = local.answer_file
  }
  #{% if uses.media %}
  cd_files = [var.artifact_folder]
  #{% endif %}

  # NTLM keeps the password off the wire.
  communicator     = "winrm"
  winrm_username   = "{{ target.build_user }}"
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
