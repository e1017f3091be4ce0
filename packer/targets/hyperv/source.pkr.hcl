#{% if uses.start_media %}
# What the answer file needs on this platform.
locals {
  #{% if uses.generation_2 %}
  firmware = "uefi"
  #{% else %}
  firmware = "bios"
  #{% endif %}
  # Windows has the drivers of Hyper-V.
  driver_paths = []
  commands     = []
}
#{% endif %}

source "{{ target.builder }}" "node" {
  # The machine.
  switch_name                      = var.switch_name
  vlan_id                          = var.vlan_id
  cpus                             = var.cpus
  memory                           = var.memory
  enable_dynamic_memory            = false
  enable_virtualization_extensions = var.enable_virtualization_extensions
  #{% if has.enable_virtualization_extensions %}
  enable_mac_spoofing = true
  #{% endif %}
  temp_path            = var.temp_path
  keep_registered      = var.keep_registered
  headless             = var.headless
  differencing_disk    = var.differencing_disk
  guest_additions_mode = "disable"
  #{% if uses.generation_2 %}
  generation           = 2
  enable_secure_boot   = true
  secure_boot_template = "MicrosoftWindows"
  #{% else %}
  generation = 1
  #{% endif %}
  #{% if uses.start_media %}
  disk_size = var.disk_size
  #{% if uses.disk_fixed_vhd %}
  use_fixed_vhd_format = true
  skip_compaction      = true
  #{% endif %}

  # Installation media, answer file.
  iso_url      = var.windows_iso
  iso_checksum = "sha256:${var.windows_iso_sha256}"
  boot_wait    = var.boot_wait
  #{% if uses.generation_2 %}
  first_boot_device = "DVD"
  boot_command      = ["<spacebar><wait1s><spacebar><wait1s><spacebar><wait1s><spacebar>"]
  #{% endif %}
  cd_label = "ANSWERS"
  cd_content = {
    "Autounattend.xml" = local.answer_file
  }
  #{% else %}
  clone_from_vmcx_path = var.clone_from_vmcx_path
  #{% if uses.media %}
  cd_label = "ARTIFACTS"
  #{% endif %}
  #{% endif %}
  #{% if uses.media %}
  cd_files = [var.artifact_folder]
  #{% endif %}

  # NTLM keeps the password off the wire.
  communicator   = "winrm"
  winrm_username = "{{ target.build_user }}"
  #{% if uses.start_media %}
  winrm_password = local.build_password
  #{% endif %}
  winrm_password   = var.template_password
  winrm_use_ntlm   = true
  winrm_timeout    = "3h"
  shutdown_command = "shutdown.exe /s /f /t 10"
  shutdown_timeout = "30m"

  # The node image.
  vm_name          = var.image_name
  output_directory = "${path.root}/image"
}
