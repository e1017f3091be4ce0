# What the answer file needs on this platform.
locals {
  firmware = "uefi"
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

source "vsphere-iso" "node" {
  vcenter_server = var.vcenter_server
  username       = var.username
  password       = var.password

  # The machine.
  cluster       = var.cluster
  datastore     = var.datastore
  CPUs          = var.cpus
  RAM           = var.memory
  firmware      = "efi-secure"
  guest_os_type = var.guest_os_type

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
  boot_command           = ["<spacebar><wait1s><spacebar><wait1s><spacebar><wait1s><spacebar>"]
  cd_label               = "ANSWERS"
  cd_content = {
    "Autounattend.xml" = local.answer_file
  }
  remove_cdrom = true

  # NTLM keeps the password off the wire.
  communicator     = "winrm"
  winrm_username   = "Administrator"
  winrm_password   = local.build_password
  winrm_use_ntlm   = true
  winrm_timeout    = "3h"
  ip_wait_timeout  = var.ip_wait_timeout
  shutdown_command = "shutdown.exe /s /f /t 10"
  shutdown_timeout = "30m"

  # The node image.
  vm_name             = var.image_name
  notes               = jsonencode(var.image_tags)
  convert_to_template = true
}
