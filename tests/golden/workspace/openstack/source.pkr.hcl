source "openstack" "node" {
  # Signing in.
  cloud = var.cloud

  # The build machine.
  flavor            = var.flavor
  networks          = var.networks
  security_groups   = var.security_groups
  config_drive      = var.config_drive
  instance_metadata = var.image_tags

  # cloudbase-init of the source image opens the listener with a certificate that the machine makes, so no authority
  # can sign it, and posts the password, encrypted with a key pair of this build. NTLM keeps it off the wire.
  user_data      = "#ps1_sysnative\n${file("${path.root}/token-filter.ps1")}"
  communicator   = "winrm"
  winrm_use_ssl  = true
  winrm_insecure = true
  winrm_use_ntlm = true
  winrm_username = "Admin"
  winrm_timeout  = "45m"

  # The base image.
  source_image_name = var.source_image_name

  # The node image.
  image_name       = var.image_name
  image_visibility = var.image_visibility
  metadata = merge(
    { os_type = "windows", os_distro = "windows", os_version = var.os_version }, var.image_properties, var.image_tags
  )
}
