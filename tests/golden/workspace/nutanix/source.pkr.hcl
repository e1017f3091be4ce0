# What the answer file needs on this platform.
locals {
  firmware     = "bios"
  driver_paths = ["vioscsi\\${var.driver_folder}\\amd64", "NetKVM\\${var.driver_folder}\\amd64"]
  commands     = []
}

source "nutanix" "node" {
  nutanix_endpoint = var.nutanix_endpoint
  nutanix_username = var.nutanix_username
  nutanix_password = var.nutanix_password

  # The machine.
  cluster_name = var.cluster_name
  os_type      = "Windows"
  cpu          = var.cpu
  memory_mb    = var.memory_mb
  vm_name      = var.image_name

  vm_nics {
    subnet_name = var.subnet_name
  }

  # Installation media and drivers, which Prism Central compares with their digests; disk; answer file.
  boot_type     = "legacy"
  boot_priority = "cdrom"

  vm_disks {
    image_type                 = "ISO_IMAGE"
    source_image_uri           = var.windows_iso_url
    source_image_checksum      = var.windows_iso_sha256
    source_image_checksum_type = "sha256"
  }

  vm_disks {
    image_type                 = "ISO_IMAGE"
    source_image_uri           = var.drivers_iso_url
    source_image_checksum      = var.drivers_iso_sha256
    source_image_checksum_type = "sha256"
  }

  vm_disks {
    image_type   = "DISK"
    disk_size_gb = var.disk_size_gb
  }
  cd_label = "ANSWERS"
  cd_content = {
    "Autounattend.xml" = local.answer_file
  }

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
  image_name        = var.image_name
  image_description = jsonencode(var.image_tags)
}
