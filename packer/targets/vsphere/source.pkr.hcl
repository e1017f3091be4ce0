#{% if uses.start_media %}
# What the answer file needs on this platform.
locals {
  #{% if uses.firmware_bios %}
  firmware = "bios"
  #{% else %}
  firmware = "uefi"
  #{% endif %}
  driver_paths = [
    "Program Files\\VMware\\VMware Tools\\Drivers\\pvscsi\\Win8\\amd64",
    # Newer discs name this folder for Server 2022 (https://github.com/vmware/ansible-vsphere-gos-validation/pull/316).
    "Program Files\\VMware\\VMware Tools\\Drivers\\pvscsi\\win10\\amd64",
    "Program Files\\VMware\\VMware Tools\\Drivers\\vmxnet3\\Win8\\amd64",
  ]
  commands = [{
    description = "VMware Tools report the address of the machine, for which Packer waits"
    line        = "cmd.exe /c \"for %d in (D E F G H) do if exist \"%d:\\Program Files\\VMware\\VMware Tools\" (if exist %d:\\setup64.exe (start \"\" /wait %d:\\setup64.exe /S /v \"/qn REBOOT=R\") else (start \"\" /wait %d:\\setup.exe /S /v \"/qn REBOOT=R\"))\""
  }]
}
#{% endif %}

source "{{ target.builder }}" "node" {
  vcenter_server      = var.vcenter_server
  username            = var.username
  password            = var.password
  insecure_connection = var.insecure_connection
  datacenter          = var.datacenter

  # The machine.
  cluster                        = var.cluster
  host                           = var.host
  resource_pool                  = var.resource_pool
  datastore                      = var.datastore
  folder                         = var.folder
  set_host_for_datastore_uploads = var.set_host_for_datastore_uploads
  CPUs                           = var.cpus
  RAM                            = var.memory
  vTPM                           = var.vtpm
  NestedHV                       = var.nested_virtualization
  #{% if uses.firmware_bios %}
  firmware = "bios"
  #{% endif %}
  #{% if uses.firmware_efi %}
  firmware = "efi"
  #{% endif %}
  #{% if uses.firmware_efi_secure %}
  firmware = "efi-secure"
  #{% endif %}
  #{% if uses.start_media %}
  guest_os_type = var.guest_os_type
  vm_version    = var.hardware_version

  disk_controller_type = [var.disk_controller]
  storage {
    disk_size             = var.disk_size
    disk_thin_provisioned = var.disk_thin_provisioned
  }
  network_adapters {
    network      = var.network
    network_card = var.network_card
  }

  # Installation media, VMware Tools with their drivers, answer file.
  # The plugin asks a file that lies on the datastore for its name alone, so it is uploaded anew.
  iso_url                = var.windows_iso
  iso_checksum           = "sha256:${var.windows_iso_sha256}"
  iso_paths              = [var.vmware_tools_iso]
  remote_cache_path      = var.remote_cache_path
  remote_cache_overwrite = true
  remote_cache_cleanup   = true
  cdrom_type             = "sata"
  boot_order             = "disk,cdrom"
  boot_wait              = var.boot_wait
  #{% if has.boot_wait %}
  boot_command = ["<spacebar><wait1s><spacebar><wait1s><spacebar><wait1s><spacebar>"]
  #{% endif %}
  cd_label = "ANSWERS"
  cd_content = {
    "Autounattend.xml" = local.answer_file
  }
  #{% else %}
  template     = var.template
  linked_clone = var.linked_clone
  network      = var.network
  #{% if uses.media %}
  cd_label   = "ARTIFACTS"
  cdrom_type = "sata"
  #{% endif %}
  #{% endif %}
  #{% if uses.media %}
  cd_files = [var.artifact_folder]
  #{% endif %}
  remove_cdrom = true

  # NTLM keeps the password off the wire.
  communicator   = "winrm"
  winrm_username = "{{ target.build_user }}"
  #{% if uses.start_media %}
  winrm_password = local.build_password
  #{% endif %}
  winrm_password    = var.template_password
  winrm_host        = var.winrm_host
  winrm_use_ntlm    = true
  winrm_timeout     = "3h"
  ip_wait_timeout   = var.ip_wait_timeout
  ip_settle_timeout = var.ip_settle_timeout
  ip_wait_address   = var.ip_wait_address
  shutdown_command  = "shutdown.exe /s /f /t 10"
  shutdown_timeout  = "30m"

  # The node image.
  vm_name = var.image_name
  notes   = jsonencode(var.image_tags)
  #{% if uses.output_template %}
  convert_to_template = true
  #{% endif %}

  #{% if uses.output_content_library %}
  content_library_destination {
    library     = var.content_library
    name        = var.image_name
    description = jsonencode(var.image_tags)
    ovf         = true
    destroy     = true
  }
  #{% endif %}
  #{% if uses.output_ovf %}
  destroy = true

  export {
    name             = var.image_name
    output_directory = "${path.root}/image"
    manifest         = "sha256"
  }
  #{% endif %}
  #{% if uses.output_ova %}
  destroy = true

  export {
    name             = var.image_name
    output_directory = "${path.root}/image"
    manifest         = "sha256"
    output_format    = "ova"
  }
  #{% endif %}
}
