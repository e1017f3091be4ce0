source "googlecompute" "node" {
  # Signing in.
  credentials_file            = var.credentials_file
  access_token                = var.access_token
  impersonate_service_account = var.impersonate_service_account
  project_id                  = var.project_id
  zone                        = var.zone
  state_timeout               = var.state_timeout

  # The build machine.
  machine_type          = var.machine_type
  preemptible           = var.preemptible
  disk_size             = var.disk_size
  disk_type             = var.disk_type
  service_account_email = var.service_account_email
  #{% if has.service_account_email %}
  #{% else %}
  disable_default_service_account = true
  #{% endif %}
  #{% if uses.machine_shielded %}
  enable_secure_boot          = true
  enable_vtpm                 = true
  enable_integrity_monitoring = true
  #{% endif %}
  labels = merge(local.labels, var.gcp_labels)

  disk_encryption_key {
    kmsKeyName = var.disk_kms_key
  }

  network            = var.vpc_network
  subnetwork         = var.subnetwork
  network_project_id = var.network_project_id
  tags               = var.network_tags
  #{% if uses.network_internal or uses.network_iap %}
  omit_external_ip = true
  use_internal_ip  = true
  #{% endif %}
  #{% if uses.network_iap %}
  use_iap = true
  #{% endif %}

  # Google's images open WinRM over HTTPS with a certificate that the machine makes, so no authority can sign it. The
  # guest agent makes the account and its password, which Packer gets encrypted with a key of this build.
  communicator             = "winrm"
  winrm_use_ssl            = true
  winrm_insecure           = true
  winrm_use_ntlm           = true
  winrm_username           = "{{ target.build_user }}"
  winrm_timeout            = "30m"
  windows_password_timeout = "15m"

  # Google's images run this at their first start (https://cloud.google.com/compute/docs/instances/startup-scripts/windows).
  metadata = {
    "sysprep-specialize-script-ps1" = file("${path.root}/token-filter.ps1")
  }

  # The base image.
  source_image            = var.source_image
  source_image_family     = var.source_image_family
  source_image_project_id = var.source_image_projects

  # The node image.
  image_name              = var.image_name
  image_family            = var.image_family
  image_description       = var.image_description
  image_project_id        = var.image_project_id
  image_storage_locations = var.image_storage_locations
  image_labels            = merge(local.labels, var.gcp_labels)
  deprecate_at            = var.deprecate_at

  image_encryption_key {
    kmsKeyName = var.image_kms_key
  }
}

# Labels take lower-case letters, digits, `_` and `-`, and 63 characters.
locals {
  labels = { for key, value in var.image_tags : key => substr(regex_replace(lower(value), "[^a-z0-9_-]", "-"), 0, 63) }
}
