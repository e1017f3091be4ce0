source "openstack" "node" {
  # Signing in.
  cloud                         = var.cloud
  identity_endpoint             = var.identity_endpoint
  username                      = var.username
  password                      = var.password
  domain_name                   = var.domain_name
  tenant_name                   = var.tenant_name
  tenant_id                     = var.tenant_id
  token                         = var.token
  application_credential_id     = var.application_credential_id
  application_credential_secret = var.application_credential_secret
  region                        = var.region
  endpoint_type                 = var.endpoint_type
  cacert                        = var.cacert

  # The build machine.
  flavor              = var.flavor
  availability_zone   = var.availability_zone
  networks            = var.networks
  security_groups     = var.security_groups
  floating_ip_network = var.floating_ip_network
  config_drive        = var.config_drive
  instance_metadata   = var.image_tags
  #{% if uses.disk_volume %}
  use_blockstorage_volume = true
  #{% endif %}
  volume_size = var.volume_size
  volume_type = var.volume_type

  # cloudbase-init of the source image opens the listener with a certificate that the machine makes, so no authority
  # can sign it, and posts the password, encrypted with a key pair of this build. NTLM keeps it off the wire.
  user_data      = "#ps1_sysnative\n${file("${path.root}/token-filter.ps1")}"
  communicator   = "winrm"
  winrm_use_ssl  = true
  winrm_insecure = true
  winrm_use_ntlm = true
  winrm_username = "{{ target.build_user }}"
  winrm_timeout  = "45m"

  # The base image.
  source_image      = var.source_image
  source_image_name = var.source_image_name

  # The node image.
  image_name        = var.image_name
  image_visibility  = var.image_visibility
  image_members     = var.image_members
  image_disk_format = var.image_disk_format
  image_min_disk    = var.image_min_disk
  metadata = merge(
    { os_type = "windows", os_distro = "windows", os_version = var.os_version }, var.image_properties, var.image_tags
  )
}
