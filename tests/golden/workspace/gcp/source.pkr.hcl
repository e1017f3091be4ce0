source "googlecompute" "node" {
  # Signing in.
  project_id    = var.project_id
  zone          = var.zone
  state_timeout = var.state_timeout

  # The build machine.
  machine_type                    = var.machine_type
  disk_size                       = var.disk_size
  disk_type                       = var.disk_type
  disable_default_service_account = true
  enable_secure_boot              = true
  enable_vtpm                     = true
  enable_integrity_monitoring     = true
  labels                          = merge(local.labels, var.gcp_labels)

  # Google's images open WinRM over HTTPS with a certificate that the machine makes, so no authority can sign it. The
  # guest agent makes the account and its password, which Packer gets encrypted with a key of this build.
  communicator             = "winrm"
  winrm_use_ssl            = true
  winrm_insecure           = true
  winrm_use_ntlm           = true
  winrm_username           = "packer"
  winrm_timeout            = "30m"
  windows_password_timeout = "15m"

  # Google's images run this at their first start (https://cloud.google.com/compute/docs/instances/startup-scripts/windows).
  metadata = {
    "sysprep-specialize-script-ps1" = file("${path.root}/token-filter.ps1")
  }

  # The base image.
  source_image_family     = var.source_image_family
  source_image_project_id = var.source_image_projects

  # The node image.
  image_name   = var.image_name
  image_labels = merge(local.labels, var.gcp_labels)
}

# Labels take lower-case letters, digits, `_` and `-`, and 63 characters.
locals {
  labels = { for key, value in var.image_tags : key => substr(regex_replace(lower(value), "[^a-z0-9_-]", "-"), 0, 63) }
}
